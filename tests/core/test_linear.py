"""Every step is linear in its input: four times as much takes about four times as long, never sixteen times."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from functools import partial

import pytest

from transom import BudgetImpossible, Conversation
from transom.core.message import Text, ToolResult
from transom.core.unit import without_excerpted
from transom.strategies.actions.outcome import outcome_of
from transom.strategies.record.agent_plans import items_text
from transom.tokenizer import MIN_ENDLESS_RUN, O200k, _encoding
from transom.wire.media_tokens import pages

SLACK = 0.15
"""Seconds by which a measurement may be off on a busy machine."""


def seconds(run: Callable[[], object], limit: float = 0.0) -> float:
    """CPU time of a run, the better of two; of the first alone if it is within a limit."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
        if times[0] <= limit:
            break
    return min(times)


def assert_linear(make: Callable[[int], object], run: Callable[[object], object], n: int) -> None:
    """`run` of what `make` gives for n, 2n and 4n."""
    once = seconds(partial(run, make(n)))
    for times, most in ((2, 3 * once + SLACK), (4, 6 * once + SLACK)):
        taken = seconds(partial(run, make(times * n)), most)
        assert taken <= most, (once, taken, times)


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    O200k().count("the encoder loads at first use")


@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\u3000", " \t"])
def test_runs_of_blanks_below_the_limit(blank):
    """Runs of n blanks in a text of one length: what they cost must not depend on how long each is."""

    def text(n: int) -> str:
        run = "x" + (blank * n)[:n]
        return run * (2 * MIN_ENDLESS_RUN // len(run))

    once, four_times = (
        seconds(lambda n=n: O200k().count(text(n))) for n in (MIN_ENDLESS_RUN // 5, MIN_ENDLESS_RUN * 4 // 5)
    )
    assert four_times <= 2 * once + SLACK, (once, four_times)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "0", "汉", "-", "word ", "ab1_", '{"a": "b"}, '])
def test_one_long_line(unit):
    assert_linear(lambda n: unit * (n // len(unit)), O200k().count, 100_000)


@pytest.mark.parametrize("unit", ["a", "=", "汉字", "xqzjkvbwpygfmlrdhsnuticoe", "!@#$%^&*()", "é\u0301"])
def test_an_endless_run_is_not_counted_too_low(unit):
    text = f"before {unit * (3 * MIN_ENDLESS_RUN // len(unit))} after, and 12 more words"
    exact = len(_encoding().encode_ordinary(text))
    assert exact <= O200k().count(text) <= exact * 1.01


def test_an_endless_run_takes_no_longer_than_a_text_of_its_size():
    run = "xqzjkvbwpygfmlrdhsnuticoe" * 60_000
    in_pieces, whole = (seconds(partial(count, run)) for count in (O200k().count, _encoding().encode_ordinary))
    assert in_pieces < whole / 2, (in_pieces, whole)


TEXT = " the file says that there are many lines" * 3


def of_parts(n: int) -> list[dict]:
    """A call, and its result of n texts."""
    call = {"id": "c", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
    return [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": f"{i}{TEXT}"} for i in range(n)]},
    ]


def of_calls(n: int) -> list[dict]:
    """A turn of n calls, and their results."""
    function = {"name": "sh", "arguments": '{"command": "cat file"}'}
    calls = [{"id": f"c{i}", "type": "function", "function": function} for i in range(n)]
    results = [{"role": "tool", "tool_call_id": f"c{i}", "content": f"{i}{TEXT}"} for i in range(n)]
    return [{"role": "user", "content": "go"}, {"role": "assistant", "content": None, "tool_calls": calls}, *results]


def of_results(n: int) -> list[dict]:
    """n calls, one in each turn, with long results."""
    function = {"name": "sh", "arguments": '{"command": "cat file"}'}
    turns = [{"role": "user", "content": "go"}]
    for i in range(n):
        turns.append({"role": "assistant", "tool_calls": [{"id": f"c{i}", "type": "function", "function": function}]})
        turns.append({"role": "tool", "tool_call_id": f"c{i}", "content": f"{i}{40 * TEXT}"})
    return turns


def tool(i: int) -> dict:
    return {"type": "function", "function": {"name": f"tool_{i}", "description": TEXT, "parameters": {}}}


@pytest.mark.parametrize("messages", [of_parts, of_calls])
def test_a_compaction_of_one_large_unit(messages):
    """About a third of it fits, so each part is trimmed."""

    def run(given) -> None:
        n, conversation = given
        window = Conversation.from_messages(conversation, budget=1_000 + 10 * n).window()
        assert window.tokens <= 1_000 + 10 * n

    assert_linear(lambda n: (n, messages(n)), run, 200)


def reversed_results(conversation: list[dict]) -> list[dict]:
    return [*conversation[:2], *reversed(conversation[2:])]


def under_one_id(conversation: list[dict]) -> list[dict]:
    """Every call has the id of every other."""
    user, turn, *results = conversation
    calls = [{**call, "id": "c"} for call in turn["tool_calls"]]
    return [user, {**turn, "tool_calls": calls}, *({**result, "tool_call_id": "c"} for result in results)]


@pytest.mark.parametrize("changed", [list, reversed_results, under_one_id])
def test_results_of_one_turn(changed):
    """A result finds its call without a look at the other calls, in whatever order the results come."""

    def run(messages) -> None:
        view = Conversation.from_messages(messages, budget=1_000_000).view
        assert len(view.slots) == 2
        assert not view.open_units

    assert_linear(lambda n: changed(of_calls(n)), run, 1_000)


def test_reminders_behind_a_result():
    assert_linear(
        lambda n: ToolResult(call="c", parts=(Text("x\n" + "<system-reminder></system-reminder>\n" * n),)),
        outcome_of,
        10_000,
    )


def test_calls_that_were_given_up_and_answered_late():
    def run(messages) -> None:
        conversation = Conversation.from_messages(messages[:2], budget=10_000_000)
        conversation.plan_request()
        conversation.extend(messages[2:])
        assert len(conversation.view.late_results) == len(messages) - 2

    assert_linear(of_calls, run, 1_000)


def test_calls_that_are_refused_for_their_head():
    """No call of this conversation leaves a `Sent`, so that each plan has the whole log before it."""
    system = {"role": "system", "content": "rule " * 5_000}

    def run(messages) -> None:
        conversation = Conversation.from_messages([system], budget=4_000)
        for message in messages:
            conversation.extend([message])
            with pytest.raises(BudgetImpossible, match="system prompt"):
                conversation.plan_request()

    assert_linear(of_results, run, 50)


def test_pins_that_a_fold_carries():
    """Many pinned units whose excerpts are all in the text of one fold."""

    def run(units) -> None:
        assert without_excerpted(units[1:], tuple(unit.key for unit in units)) == ()

    view = Conversation.from_messages([{"role": "user", "content": "hi"}] * 16_000, budget=1_000_000).view
    units = tuple(view.visible_units())
    assert_linear(lambda n: units[:n], run, 4_000)


def test_an_explanation_of_a_message_of_many_parts():
    def given(n: int) -> Conversation:
        parts = [{"type": "text", "text": f"part {i} of file_{i}.py says {i * 7}"} for i in range(n)]
        talk = [{"role": "user", "content": content} for content in ("go", parts, "next", "more " * 6 * n)]
        talk.insert(1, {"role": "assistant", "content": "I go."})
        conversation = Conversation.from_messages(talk, budget=14 * n)
        conversation.plan_request()
        return conversation

    assert_linear(given, lambda conversation: conversation.explain(), 500)


def test_a_plan_of_many_items():
    def items(n: int) -> list[tuple[str, str]]:
        return [("pending", f"Mend src/f{i}.py") for i in range(n)]

    assert_linear(items, lambda given: items_text(given, 4_000), 2_000)


def test_many_tools():
    conversation = [{"role": "user", "content": "go"}]

    def run(tools) -> None:
        Conversation.from_messages(conversation, budget=1_000_000).request(tools=tools)

    assert_linear(lambda n: [tool(i) for i in range(n)], run, 500)


def test_a_pdf_of_many_compressed_streams():
    page = zlib.compress(b"<< /Type /Page >>")
    stream = b"1 0 obj << /Type /ObjStm >>\nstream\n" + page + b"\nendstream" + bytes(2_000)
    assert_linear(lambda n: b"%PDF-1.5\n" + n * stream, pages, 1_000)
