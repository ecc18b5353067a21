"""Reasoning that is bound to its prefix, as a user meets it: lists, folds, the turn at work, refusals."""

from __future__ import annotations

from typing import Any

import pytest

import transom
from transom import BudgetImpossible, Conversation, ProviderError
from transom.core.entry import Entry
from transom.core.message import REASONING_REFUSED, Failure
from transom.core.unit import FoldedSlot, Unit
from transom.evaluation.explanations import HIDDEN_REASONING, REFUSED_REASONING, explain
from transom.providers.scripted import Fault, Reply, Scripted, ScriptedCall
from transom.wire.anthropic import AnthropicDialect

STALE = '{"type": "error", "error": {"message": "messages.1.content.0: Invalid `signature` in `thinking` block"}}'
REFUSAL = Fault(kind="bad_request", status=400, body=STALE)
THOUGHTS = {"thinking", "redacted_thinking", "reasoning"}


def thought(n: int) -> dict[str, Any]:
    if n % 3 == 2:
        return {"type": "redacted_thinking", "data": f"sig{n}"}
    return {"type": "thinking", "thinking": f"I think {n}", "signature": f"sig{n}"}


def message(n: int, *blocks: dict[str, Any]) -> dict[str, Any]:
    use = {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}}
    return {"role": "assistant", "content": [thought(n), *(blocks or (use,))]}


def thoughts_in(body: Any) -> int:
    items = [item for key in ("messages", "input") for item in body.get(key, ())]
    blocks = [block for item in items for block in (item["content"] if isinstance(item.get("content"), list) else ())]
    return sum(block.get("type") in THOUGHTS for block in (*items, *blocks))


# ---- lists that were made elsewhere


def whole_list(turns: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "start"}]
    for n in range(turns):
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"line {n} value {n * 7919} " * 60}
        messages += [message(n), {"role": "user", "content": [result]}]
    return messages


@pytest.mark.parametrize("turns", [3, 12, 13, 14, 19])
def test_a_list_keeps_its_reasoning_until_something_is_left_out(turns: int) -> None:
    messages = whole_list(turns)
    window = transom.fit(messages, budget=5_000, dialect="anthropic")
    assert thoughts_in({"messages": window}) == (turns if window == messages else 0)
    system = transom.fit(messages, budget=200_000, dialect="anthropic", system="Be brief.", tools=[])
    assert system == messages, "a system prompt beside the list is the one that it was made under"


def test_a_dialect_of_an_old_model_keeps_it() -> None:
    window = transom.fit(whole_list(19), budget=5_000, dialect=AnthropicDialect(bound=False))
    assert thoughts_in({"messages": window}) > 0


def test_what_is_appended_after_a_compaction_was_made_on_the_whole_list() -> None:
    messages = whole_list(40)
    with Conversation.open("memory:", "x", budget=5_000, dialect="anthropic") as conv:
        conv.extend(messages[:40])
        conv.request()
        assert any(isinstance(slot, FoldedSlot) for slot in conv.view.slots)
        conv.extend(messages[40:])
        assert thoughts_in(conv.request()) == 0


# ---- where folds end


def test_whole_turns_begin_with_a_message_of_the_user() -> None:
    behind: list[str] = []
    with Conversation.open("memory:", "x", budget=8_000, dialect="anthropic", system="Be brief.") as conv:
        conv.user("start")
        newest = -1
        for n in range(50):
            if n and n % 5 == 0:
                conv.user(f"The next task is number {n}. " * 4)
            conv.request()
            folds = [at for at, slot in enumerate(conv.view.slots) if isinstance(slot, FoldedSlot)]
            if folds and conv.view.slots[folds[-1]].seq != newest:
                newest = conv.view.slots[folds[-1]].seq
                after = conv.view.slots[folds[-1] + 1]
                assert isinstance(after, Unit)
                behind.append(type(after.first_fact).__name__)
            if n % 5 == 4:
                conv.observe(message(n, {"type": "text", "text": "fine"}))
            else:
                conv.observe(message(n))
                conv.tool_result(f"t{n}", f"line {n} value {n * 7919} " * 40)
    assert behind == ["User", "User"]


# ---- the turn at work


def at_work(budget: int, calls: int, *, note: str = "") -> Conversation:
    """A conversation whose newest turn has reasoning, a text and calls whose results hardly fit."""
    conv = Conversation.open("memory:", "x", budget=budget, dialect="anthropic", system="Be brief.")
    conv.user("Look it up.")
    conv.request()
    uses = [
        {"type": "tool_use", "id": f"toolu_{n}", "name": "look", "input": {"q": "word " * (40 // calls)}}
        for n in range(calls)
    ]
    said = {"type": "thinking", "thinking": "hm " * 150, "signature": "S" * 300}
    conv.observe({"role": "assistant", "content": [said, {"type": "text", "text": "I look."}, *uses]})
    for n in range(calls):
        conv.tool_result(f"toolu_{n}", "value " * (800 // calls))
    if note:
        conv.user(note)
    return conv


@pytest.mark.parametrize("budget", [2_000, 1_000, 600, 400, 300, 250, 200, 170, 120])
@pytest.mark.parametrize(("calls", "note"), [(1, ""), (4, ""), (1, "And be quick.")])
def test_no_call_is_sent_without_its_reasoning(budget: int, calls: int, note: str) -> None:
    with at_work(budget, calls, note=note) as conv:
        try:
            body = conv.request()
        except BudgetImpossible as impossible:
            assert impossible.bill["need"] > budget - 100
            return
        thinking = {"type": "enabled", "budget_tokens": 1_024}
        assert AnthropicDialect().violations({**body, "thinking": thinking, "max_tokens": 2_048}) == []


def test_a_strategy_may_not_take_it_either() -> None:
    with at_work(100_000, 1) as conv:
        turn = next(seq for seq in range(len(conv.log)) if getattr(conv.log[seq].body, "reasoning", ()))
        with pytest.raises(transom.InvalidEdit, match="its reasoning stays with its calls"):
            conv.edit(transom.Trim(entry=turn, part=("reasoning", 0)))


# ---- refusals


def thinking_conversation() -> Conversation:
    conv = Conversation.open("memory:", "x", budget=32_000, dialect="anthropic")
    for n in range(2):
        conv.user(f"Question {n}?")
        conv.request()
        conv.observe(message(n, {"type": "text", "text": "fine"}))
    return conv


def failures(conv: Conversation) -> list[str]:
    entries: list[Entry] = [conv.log[seq] for seq in range(len(conv.log))]
    return [entry.body.failure for entry in entries if isinstance(entry.body, Failure)]


def test_a_refusal_is_recovered_from_once_and_seen() -> None:
    with thinking_conversation() as conv:
        sent: list[int] = []

        def answer(request: Any) -> Reply | Fault:
            sent.append(thoughts_in(request))
            return REFUSAL if len(sent) == 1 else Reply(text="Hi.")

        provider = Scripted(answer, answer, dialect="anthropic")
        assert conv.run("Hello?", provider=provider).text == "Hi."
        assert sent == [2, 0]
        assert failures(conv) == [REASONING_REFUSED]
        said = [row.why for row in explain(conv.view) if row.role == "assistant"]
        assert said[:2] == [REFUSED_REASONING, REFUSED_REASONING]
        assert HIDDEN_REASONING not in said


def test_the_second_refusal_ends_the_run() -> None:
    with thinking_conversation() as conv:
        with pytest.raises(ProviderError, match="Invalid `signature`"):
            conv.run("Hello?", provider=Scripted(REFUSAL, REFUSAL, dialect="anthropic"))
        assert failures(conv) == [REASONING_REFUSED, "bad_request"]


def test_where_a_fold_hides_all_reasoning_before_the_task_the_second_refusal_hides_that_of_the_task() -> None:
    with thinking_conversation() as conv:
        conv.user("Look it up. " * 9)
        conv.edit(transom.Fold(first=0, last=conv.view.slots[-2].last, text="[folded]"))
        conv.request()
        conv.observe(message(3))
        conv.tool_result("t3", "found")
        sent: list[int] = []

        def answer(request: Any) -> Reply | Fault:
            sent.append(thoughts_in(request))
            return REFUSAL if sent[-1] else Reply(text="Hi.")

        assert conv.run(provider=Scripted(answer, answer, answer, dialect="anthropic")).text == "Hi."
        assert sent == [1, 1, 0]
        assert failures(conv) == [REASONING_REFUSED, REASONING_REFUSED]


def test_a_request_without_reasoning_is_not_sent_again() -> None:
    with Conversation.open("memory:", "x", budget=32_000, dialect="anthropic") as conv:
        with pytest.raises(ProviderError):
            conv.run("Hello?", provider=Scripted(REFUSAL, "Hi.", dialect="anthropic"))
        assert failures(conv) == ["bad_request"]


@pytest.mark.parametrize("model", ["claude-opus-4-1", "claude-opus-5-5"])  # whose reasoning is not bound; is bound
def test_a_model_that_refuses_all_reasoning_is_learned_from_its_second_refusal(model: str) -> None:
    sent: list[int] = []

    def answer(request: Any) -> Reply | Fault:
        sent.append(thoughts_in(request))
        calls = (ScriptedCall("f", "{}"),) if len(sent) < 12 else ()
        return REFUSAL if sent[-1] else Reply(text="Hi.", reasoning=f"step {len(sent)}", calls=calls)

    def f() -> str:
        return "ok"

    provider = Scripted(*[answer] * 20, dialect="anthropic", model=model)
    with Conversation.open("memory:", "x", budget=32_000, dialect="anthropic") as conv:
        assert conv.run("Hello?", provider=provider, tools=[f]).text == "Hi."
        assert sent == [0, 1, 0, 1, *[0] * (len(sent) - 4)]
        assert failures(conv) == [REASONING_REFUSED] * 2
        conv.run("More?", provider=Scripted(answer, dialect="anthropic", model=model))
        assert sent[-1] == 0


def test_a_model_that_takes_reasoning_again_is_not_one_that_refuses_it() -> None:
    with thinking_conversation() as conv:
        sent: list[int] = []

        def answer(request: Any) -> Reply | Fault:
            sent.append(thoughts_in(request))
            refused = len(sent) in {1, 4}
            return REFUSAL if refused else Reply(text="Hi.", reasoning="so")

        for words in ("one", "two", "three", "four"):
            conv.run(words, provider=Scripted(*[answer] * 3, dialect="anthropic", model="claude-opus-4-1"))
        assert sent == [2, 0, 1, 2, 0, 1]


def test_a_loop_of_ones_own_logs_the_refusal() -> None:
    with thinking_conversation() as conv:
        conv.user("Hello?")
        assert thoughts_in(conv.request()) == 2
        conv.append(Failure(failure=REASONING_REFUSED))
        assert thoughts_in(conv.request()) == 0


def test_explain_says_what_the_provider_changed() -> None:
    with Conversation.open("memory:", "x", budget=32_000, dialect="responses") as conv:
        conv.user("Hello?")
        conv.request()
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "well"}]}
        conv.observe({"output": [said], "input_transformations": [{"id": "rs_1", "reason": "prefix_mismatch"}] * 2})
        assert explain(conv.view)[-1].why == "the provider says that it changed the request: prefix_mismatch (2)"
