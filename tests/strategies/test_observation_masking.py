"""Observation masking: old results as one line, in batches."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from proposals import proposals, seen, target_of

from transom import Budget, Conversation, Policy
from transom.conversation.render_window import render
from transom.core.edit import Pin, Trim, Undo
from transom.core.tokens import Size
from transom.policies.last_resort import LAST_RESORT
from transom.strategies import (
    Duplicates,
    Enough,
    LargeOldResults,
    OldReasoning,
    OldResults,
    Shorten,
    Stub,
    Together,
    gone,
    line,
    marker,
)
from transom.testing import WordCounter, call, result, says, talk

ROWS = "a row of output\n" * 40


def lines(**settings):
    return Shorten(OldResults(**settings), line, "mask", Together(0.0))


def work(count, tool="sh", text=ROWS):
    """A task and so many calls with their results: the result of call n is entry 2n + 2."""
    return talk("go", *(item for _ in range(count) for item in (call(tool), result(text))))


@pytest.mark.parametrize(
    ("count", "masked"), [(3, []), (9, []), (10, [4, 6, 8, 10]), (14, [4, 6, 8, 10]), (15, [*range(4, 22, 2)])]
)
def test_the_border_moves_a_batch_at_a_time_and_the_first_stays(count, masked):
    strategy = lines(last=5, polling=5)
    assert list(proposals(strategy, work(count))) == masked


def test_a_result_becomes_one_line_with_its_reference():
    shown = proposals(lines(last=1, polling=1), work(3, text="Exit code 1\n" + ROWS))
    assert shown == {4: "[old sh output left out: exit code 1, 42 lines; whole in entry 4]"}
    assert list(proposals(lines(last=1, polling=1, first=0), work(3))) == [2, 4]


def test_named_tools_stay_and_the_newest_unit_in_any_case():
    assert proposals(lines(last=0, polling=1, tools=frozenset(("sh",))), work(4)) == {}
    assert list(proposals(lines(last=0, polling=1, first=0), work(4))) == [2, 4, 6]
    parallel = talk("go", call("sh"), call("sh"), call("sh"), result(ROWS), result(ROWS), result(ROWS))
    assert proposals(lines(last=0, polling=1, first=0), parallel) == {}


def test_pinned_restored_read_back_open_and_short_results_stay():
    log, strategy = work(4), lines(last=1, polling=1, first=0)
    assert list(proposals(strategy, log, Pin(entry=2))) == [4, 6]
    back = (Trim(entry=4, part=("text", 0), note="[entry 4]"), Undo(edit=len(log)))
    assert list(proposals(strategy, log, *back)) == [2, 6]
    assert proposals(strategy, log, Trim(entry=4, part=("text", 0), note="[x]"), context=9).keys() == {2, 6}
    assert proposals(strategy, work(4, tool="transom_grep")) == {}
    assert proposals(strategy, work(4, text="ok " * 40)) == {}
    still = talk("go", call("sh"), call("sh"), result(ROWS), says("meanwhile"), "on")
    assert proposals(lines(last=0, polling=1, first=0), still) == {}


def test_between_batches_the_window_only_grows():
    policy = Policy(
        name="masks", pressure=(lines(last=5, polling=10),), last_resort=LAST_RESORT, trigger=0.0, target=0.0
    )
    conv = Conversation.open("memory:", "m", budget=Budget(context=100_000), policy=policy, counter=WordCounter())
    conv.user("go")
    breaks = []
    for number in range(41):
        window = conv.plan_request()
        if window.breaks is not None:
            breaks.append((number, window.breaks.why))
        made = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
        conv.observe({"role": "assistant", "content": "next", "tool_calls": [made]})
        conv.tool_result(f"c{number}", ROWS)
    assert breaks == [(10, "mask"), (20, "mask"), (30, "mask"), (40, "mask")]
    assert sum("left out" in message["content"] for message in render(window)["messages"]) == 34


FOR_TEXTS = [
    lines(last=1, polling=1),
    Shorten(Duplicates(tokens=20), marker, "duplicate", Together(0.0)),
    Shorten(LargeOldResults(keep=0, preview=1), Stub(1), "stale", Enough(tokens=0)),
    Shorten(OldReasoning(), gone, "old reasoning", Together(0.0)),
]


@pytest.mark.parametrize("strategy", FOR_TEXTS)
def test_where_only_messages_are_too_many_no_text_is_shortened(strategy):
    """The cached prefix would break, and the window would have as many messages as before."""
    turns = (item for _ in range(5) for item in (call("sh"), result("a row of output " * 200)))
    log = talk("go", says("ok", thought="I think so " * 20), "go on", *turns, "on")
    view = seen(log)
    free = Size(1 << 60, 1 << 60, 1 << 60, 1 << 60)
    assert list(strategy(view, replace(target_of(view), goal=replace(free, tokens=view.total.tokens - 1)))) != []
    assert list(strategy(view, replace(target_of(view), goal=replace(free, messages=3)))) == []
