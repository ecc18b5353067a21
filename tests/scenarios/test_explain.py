"""`explain`: what became of a fact, in every way there is, and that its cost follows the log."""

from __future__ import annotations

from functools import partial

from interpreter_steps import function_calls
from transom import Conversation
from transom.core.edit import Fold, Pin
from transom.core.message import Assistant, Reasoning, Text, ToolResult
from transom.core.reducer import build_view
from transom.core.unit import FoldedSlot
from transom.evaluation.explanations import explain
from transom.testing import Entries, WordCounter, call, result, says, talk, user

LONG = "word " * 40


def view(*items):
    return build_view(Entries(talk(*items)), WordCounter())


def told(*items):
    """Entry, state, reason, edits and shown tokens of every fact."""
    shown = view(*items)
    rows = explain(shown)
    folds = sum(slot.tokens for slot in shown.slots if isinstance(slot, FoldedSlot))
    assert 3 + folds + sum(row.shown_tokens for row in rows) == shown.total.tokens, "it adds up"
    return [(row.entry, row.state, row.why, row.edits, row.shown_tokens) for row in rows]


def test_a_pinned_unit_whose_excerpt_a_fold_carries_is_folded():
    fold = Fold(first=0, last=2, text="[0: the task …]", excerpted=(0,), why="collapse")
    assert told(f"task {LONG}", f"more {LONG}", f"and more {LONG}", Pin(entry=0), Pin(entry=1, why="mine"), fold) == [
        (0, "folded", "collapse, quoted in its text", (5,), 0),
        (1, "kept", "pinned: mine", (4,), 56),
        (2, "folded", "collapse", (5,), 0),
    ]


def test_what_new_names_cost_is_told_of_the_turn():
    twice = says("so", call("read", label=""), call("read", label=""))
    rows = told("task", twice, result("one", to=""), result("two", to=""))
    assert rows[1][2] == "calls without an id of their own named call-1-0, call-1-1"
    assert [row[4] for row in rows] == [5, 17, 5, 5]


def test_a_carried_excerpt_counts_only_in_the_fold_that_shows():
    inner = Fold(first=0, last=1, text="[0: the task …]", excerpted=(0,))
    outer = Fold(first=0, last=2, text="[all of it]", why="compaction")
    assert [row[1:3] for row in told(LONG, LONG, LONG, Pin(entry=0), inner, outer)] == [
        ("kept", "pinned"),
        ("folded", "compaction"),
        ("folded", "compaction"),
    ]


def test_hidden_bound_reasoning_is_said():
    thought = says("done", thought="because " * 10, bound=True)
    whole = told(LONG, LONG, thought, "on")
    assert whole[2] == (2, "kept", "", (), 25)
    assert told(LONG, LONG, thought, "on", Fold(first=0, last=1, text="[left out]"))[2:] == [
        (2, "shortened", "signed reasoning hidden, since what precedes it has changed", (), 5),
        whole[3],
    ]


def test_only_what_is_bound_is_hidden():
    turn = Assistant(
        parts=(Text("done"),), reasoning=(Reasoning("free " * 8), Reasoning("signed " * 8, "reasoning", bound=True))
    )
    rows = told(LONG, LONG, turn, Pin(entry=2), Fold(first=0, last=2, text="[left out]", why="mine"))
    assert rows[2] == (
        2,
        "shortened",
        "signed reasoning hidden, since what precedes it has changed, pinned",
        (3,),
        4 + 1 + 10,
    )


def nested(folds):
    """Folds over folds, each with one more unit."""
    items = [LONG]
    for number in range(folds):
        items += [user(LONG), Fold(first=0, last=1 + 2 * number, text="[left out]")]
    return view(*items)


def test_nested_folds_cost_what_the_log_costs():
    once, twice = (function_calls(partial(explain, nested(folds))) for folds in (100, 200))
    assert twice < 2.2 * once


def test_each_repair_is_said():
    with Conversation.open("memory:", "x", budget=4_000) as conv:
        conv.user("go")
        calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in ("a", "a", "")]
        conv.observe({"role": "assistant", "content": None, "tool_calls": calls})
        conv.tool_result("a", "1")
        conv.user("hm")
        conv.tool_result("a", "2")
        conv.append(ToolResult(call="nobody", parts=(Text("3"),)))
        why = {row.entry: row.why for row in explain(conv.plan_request())}
    assert why == {
        0: "",
        1: "calls without an id of their own named call-1-1, call-1-2",
        2: "",
        3: "",
        4: "came later, and was moved to its call",
        5: "answers no open call: kept in the log, not shown",
        6: "made up, since no result had come when a request was due",
    }
