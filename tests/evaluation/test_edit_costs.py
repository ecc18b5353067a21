"""What edits save and break: by hand."""

from __future__ import annotations

from transom import Budget, Conversation
from transom.core.edit import Fold, Trim
from transom.evaluation.edit_costs import EditCost
from transom.testing.fakes import FakeClock, WordCounter


def opened(context=10_000):
    return Conversation.open(
        "memory:", "x", budget=Budget(context=context), counter=WordCounter(), clock=FakeClock(), system="be brief"
    )


def test_an_edit_saves_what_it_takes_out_and_breaks_what_was_sent_behind_it():
    conv = opened()
    for number in range(4):
        conv.user("one two three " * 10)
        conv.plan_request()
        conv.observe({"role": "assistant", "content": f"value_{number}"})
    conv.plan_request()
    conv.observe({"role": "assistant", "content": "x"})
    sent, slots = conv.view.sent_tokens, conv.view.slots
    front = conv.view.head_size.tokens + conv.view.counter.request + slots[0].size.tokens
    fold = conv.edit(Fold(first=slots[1].key, last=slots[2].key, text="[gone]", why="test"))
    trim = conv.edit(Trim(entry=slots[4].seqs[0], part=("text", 0), keep=((0, 3),), why="test"))
    conv.plan_request()
    gone = slots[1].size.tokens + slots[2].size.tokens - conv.view.slots[1].size.tokens
    cut = slots[4].size.tokens - conv.view.slots[3].size.tokens
    assert min(gone, cut) > 20
    assert conv.edit_costs(at=-1) == [
        EditCost(entry=fold, saved_tokens=gone, broken_tokens=sent - front),
        EditCost(entry=trim, saved_tokens=cut, broken_tokens=0),
    ], "behind the first difference nothing more breaks"
    assert conv.edit_costs(at=1) == []


def test_the_next_windows_edits_are_priced_before_they_are_made():
    conv = opened(context=300)
    conv.user("go")
    while conv.window().breaks is None:
        conv.plan_request()
        conv.observe({"role": "assistant", "content": "value_1 " + "plain " * 40})
        conv.user("more")
    planned, n = conv.edit_costs(), conv.view.length
    assert conv.view.length == n
    assert sum(one.broken_tokens for one in planned) > 0
    assert sum(one.saved_tokens for one in planned) > 50
    conv.plan_request()
    assert conv.edit_costs(at=-1) == planned
    assert conv.edit_costs() == []
