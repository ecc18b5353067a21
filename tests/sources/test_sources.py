"""What the designs that Transom grew from ask to be tested, in their words (the history manager's: tests/history).

What needs a model or the runner (summaries, overflow recovery, modes' banners) comes with these.
"""

from __future__ import annotations

import copy

import pytest
import turnsafe
from msgspec.structs import replace

from omission_policy import OMISSION
from transom import Budget, Conversation, fit
from transom.conversation.render_window import render
from transom.core.message import Failure, Text, ToolResult
from transom.policies import policy_named
from transom.strategies.keep import KeepTools, KeepUsers
from transom.strategies.shorten.forms import Clip
from transom.strategies.shorten.selectors import FreshResults
from transom.strategies.shorten.shorten import Shorten
from transom.testing import WordCounter
from transom.tokenizer import o200k


def opened(*, url="memory:", context=600, **policy) -> Conversation:
    chosen = replace(policy_named("default"), **policy)
    return Conversation.open(
        url, "x", budget=Budget(context=context), policy=chosen, counter=WordCounter(), system="You are careful."
    )


def turn(conv: Conversation, number: int, tool: str = "shell", words: int = 60) -> None:
    conv.plan_request()
    call = {"id": f"c{number}", "type": "function", "function": {"name": tool, "arguments": "{}"}}
    conv.observe({"role": "assistant", "content": f"turn {number}", "tool_calls": [call]})
    conv.tool_result(f"c{number}", f"result {number} " + "word " * words)


def messages(conv: Conversation) -> list[dict]:
    return render(conv.plan_request())["messages"]


# ---- context compact system


def test_tool_outputs_over_5000_tokens_are_truncated_with_a_marker():
    conv = opened(context=100_000, arrival=(Shorten(FreshResults(), Clip(), "clip"),))
    conv.user("go")
    turn(conv, 0, words=6_000)
    shown = messages(conv)[-1]["content"]
    assert WordCounter().count(shown) <= 5_000
    assert "tokens truncated" in shown
    assert shown.startswith("result 0 word")
    assert shown.endswith("word ")


@pytest.mark.parametrize(("unit", "shortened"), [("tokens", True), ("bytes", True), ("none", False)])
def test_truncation_is_configurable_by_policy(unit, shortened):
    conv = opened(context=100_000, arrival=(Shorten(FreshResults(), Clip(unit=unit), "clip"),))
    conv.user("go")
    turn(conv, 0, words=6_000)
    assert ("truncated" in messages(conv)[-1]["content"]) == shortened


def test_no_orphaned_tool_calls_or_results_after_removal():
    conv = opened()
    conv.user("go")
    for number in range(40):
        turn(conv, number)
        assert turnsafe.validate(messages(conv), provider="openai").violations == ()


def test_normalization_runs_before_every_call():
    conv = opened()
    conv.user("go")
    conv.append(ToolResult(call="nobody", parts=(Text("orphan"),)))
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    conv.observe({"role": "assistant", "content": None, "tool_calls": [call]})
    conv.user("and?")
    for _ in range(2):
        assert turnsafe.validate(messages(conv), provider="openai").violations == ()
        conv.observe({"role": "assistant", "content": "so"})


def test_user_messages_are_capped_recent_first():
    conv = opened(context=900, keep=(KeepUsers(tokens=120, fraction=1.0),), pressure=OMISSION.pressure)
    for number in range(30):
        conv.user(f"wish {number} " + "please " * 20)
        turn(conv, number, words=20)
    wishes = [int(m["content"].split()[1]) for m in messages(conv) if str(m["content"]).startswith("wish")]
    assert wishes == [0, *range(wishes[1], 30)]


def test_rebuilt_history_is_system_users_marker_protected_results_and_tail():
    conv = opened(keep=(KeepTools(("manage_todo_list",)), KeepUsers()), pressure=OMISSION.pressure)
    conv.user("the task")
    turn(conv, 0, "manage_todo_list", words=10)
    conv.user("use tabs")
    for number in range(1, 20):
        turn(conv, number)
    shown = [str(m["content"]) for m in messages(conv)]
    marker = next(at for at, text in enumerate(shown) if "are left out of this window" in text)
    assert shown[0] == "You are careful."
    assert shown.index("the task") < marker
    assert {text.split(" word")[0] for text in shown[marker:]} >= {"result 0", "use tabs", "result 19"}


def test_previous_summaries_are_excluded_on_re_compact():
    conv = opened(pressure=OMISSION.pressure, target=OMISSION.target)
    conv.user("go")
    for number in range(60):
        turn(conv, number)
    shown = [str(m["content"]) for m in messages(conv)]
    assert sum("are left out of this window" in text for text in shown) == 1


# ---- unified conversation context


def test_context_builder_keeps_latest_user_message():
    conv = opened()
    conv.user("first")
    for number in range(20):
        turn(conv, number)
    conv.user("latest")
    assert messages(conv)[-1]["content"] == "latest"


def test_context_builder_trims_older_messages_correctly():
    conv = opened()
    conv.user("go")
    for number in range(20):
        turn(conv, number)
    shown = [str(m["content"]) for m in messages(conv)]
    kept = [int(text.split()[1]) for text in shown if text.startswith("result")]
    assert kept == list(range(kept[0], 20))
    assert 0 < len(kept) < 20


def test_context_builder_preserves_tool_call_groups():
    conv = opened()
    conv.user("go")
    for number in range(20):
        conv.plan_request()
        calls = [
            {"id": f"c{number}.{i}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in range(3)
        ]
        conv.observe({"role": "assistant", "content": None, "tool_calls": calls})
        for call in reversed(calls):
            conv.tool_result(call["id"], "word " * 20)
    shown = messages(conv)
    for at, message in enumerate(shown):
        if message.get("tool_calls"):
            answers = {m["tool_call_id"] for m in shown[at + 1 : at + 4]}
            assert answers == {call["id"] for call in message["tool_calls"]}


def test_tool_results_are_stored_as_role_tool_with_their_call_id_and_survive_reopening(tmp_path):
    url = f"sqlite:///{tmp_path}/talk.db"
    with opened(url=url) as conv:
        conv.user("go")
        turn(conv, 0)
    with opened(url=url) as again:
        tool = messages(again)[-1]
        assert (tool["role"], tool["tool_call_id"]) == ("tool", "c0")


def test_llm_failures_are_stored_with_their_partial_output_and_included_in_the_next_request():
    conv = opened()
    conv.user("go")
    sent = conv.plan_request().view.length
    conv.append(Failure(failure="timeout", text="I was about", shown="LLM_ERROR timeout: I was about", answers=sent))
    conv.user("continue")
    shown = messages(conv)
    assert [m["role"] for m in shown] == ["system", "user", "assistant", "user"]
    assert shown[2]["content"] == "LLM_ERROR timeout: I was about"


def test_a_mode_switch_keeps_the_history():
    conv = opened(context=4_000)
    conv.user("go")
    before = render(conv.plan_request(state={"mode": "chat"}))["messages"]
    conv.observe({"role": "assistant", "content": "ok"})
    after = render(conv.plan_request(state={"mode": "agent"}))["messages"]
    assert after[: len(before)] == before
    assert after[-1]["content"] == "[mode] agent"


# ---- long-running conversational agents


def test_mixed_message_types():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    mixed = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "a"}]},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "d"},
    ]
    assert fit(mixed, budget=4_000) == mixed


def test_tool_call_only_messages():
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    only = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "d"},
    ]
    assert fit(only, budget=4_000) == only


def test_single_message_history():
    assert fit([{"role": "user", "content": "hi"}], budget=4_000) == [{"role": "user", "content": "hi"}]


def test_copy_preservation():
    given = [{"role": "user", "content": [{"type": "text", "text": "a " * 9_000}]}]
    before = copy.deepcopy(given)
    shown = fit(given, budget=300)
    shown[0]["content"][0]["text"] = "changed"
    assert given == before


def test_token_counting():
    conv = Conversation.open("memory:", "x", budget=1_000, system="Be brief.")
    conv.user("How far is Lisbon?")
    count = o200k().count
    assert conv.plan_request().tokens == 3 + 4 + count("Be brief.") + 4 + count("How far is Lisbon?")
