"""Windows of both ends, and of the last rounds."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from proposals import seen, target_of

from transom import Budget, Conversation, Policy
from transom.conversation.render_window import render
from transom.core.edit import Fold, Pin, Undo
from transom.core.entry import Meta
from transom.core.message import Note
from transom.policies.last_resort import LAST_RESORT
from transom.strategies.fold.omission import HeadTail, Rounds
from transom.strategies.keep import KeepUsers
from transom.testing import WordCounter, call, result, says, talk

LONG = "so much was said here " * 20


def folds(strategy, log, *edits, over_limit=False, kept=(), context=1_000):
    """The ranges a strategy folds."""
    view = seen(log, *edits)
    target = target_of(view, context=context, over_limit=over_limit)
    target = replace(target, protected=(*target.protected, *kept))
    found = list(strategy(view, target))
    assert all(view.refusal(fold) is None for fold in found)
    assert all(fold.text.startswith(f"[entry {fold.first}") for fold in found)
    return [(fold.first, fold.last) for fold in found]


def turns(count):
    """A task and then so many long turns: turn n is entry n."""
    return talk("go", *(says(f"{number} {LONG}") for number in range(1, count + 1)))


def test_the_middle_is_left_out_and_both_ends_stay():
    assert folds(HeadTail(first=3, last=4), turns(12)) == [(3, 8)]
    assert folds(HeadTail(first=3, last=4), turns(6)) == []
    assert folds(HeadTail(first=30, last=4), turns(6)) == []
    assert folds(HeadTail(first=3, last=40), turns(6)) == []


def test_an_injected_message_begins_no_round():
    log = talk("go", says(LONG), "one", says(LONG), "two", says(LONG), "a reminder", says(LONG))
    assert folds(Rounds(last=2), log, context=400) == [(1, 3)]
    log[6] = replace(log[6], meta=Meta(injected=True))
    assert folds(Rounds(last=2), log, context=400) == [(1, 1)]


def test_the_ends_may_be_measured_in_tokens():
    log = turns(12)  # each turn about 115 tokens
    assert folds(HeadTail(first=240, last=500, tokens=True), log) == [(3, 8)]
    assert folds(HeadTail(first=0, last=0, tokens=True), log) == [(1, 11)], "the task and the newest stay in any case"


def test_an_older_omission_is_left_out_with_the_rest():
    log = turns(12)
    old = Fold(first=3, last=5, text="[entry 3 to entry 5: left out]")
    assert folds(HeadTail(first=3, last=4), log, old) == [(3, 8)]
    assert folds(HeadTail(first=3, last=4), log, replace(old, last=8)) == [], "a second marker would gain nothing"
    assert folds(HeadTail(first=9, last=4), log, old) == [(3, 8)], "the head ends where the first fold is"


def test_a_fold_that_gains_too_little_is_not_made_unless_it_must_be():
    log, strategy = turns(12), HeadTail(first=3, last=8)  # two turns, about a seventh of the room
    assert folds(strategy, log, context=1_400) == [(3, 4)]
    assert folds(strategy, log, context=4_000) == []
    assert folds(strategy, log, context=4_000, over_limit=True) == [(3, 4)]


def test_what_somebody_took_back_stays_until_the_window_does_not_fit():
    log = turns(12)
    back = (Fold(first=5, last=6, text="[gone]"), Undo(edit=len(log)))
    assert folds(HeadTail(first=3, last=4), log, *back) == [(3, 4), (7, 8)]
    assert folds(HeadTail(first=3, last=4), log, *back, over_limit=True) == [(3, 8)]


def test_a_range_of_what_stays_anyway_is_not_folded():
    log = turns(9)
    assert folds(HeadTail(first=3, last=4), log, kept=(3, 4, 5)) == []
    assert folds(HeadTail(first=3, last=4), log, *(Pin(entry=entry) for entry in (3, 4, 5))) == []
    assert folds(HeadTail(first=3, last=4), log, kept=(3,)) == [(3, 5)]
    summary = Fold(first=3, last=4, text=f"a summary: {LONG}")
    assert folds(HeadTail(first=3, last=4), log, summary, Pin(entry=5), over_limit=True) == [], (
        "nothing but a summary goes"
    )


def test_nothing_from_an_open_unit_on_is_folded():
    log = talk("go", says(LONG), says(LONG), call("sh"), says(LONG), says(LONG), says(LONG))
    assert folds(HeadTail(first=1, last=1), log) == [(1, 2)]


def rounds(count, text=LONG):
    """So many rounds of a question, a call, its result and an answer: round n begins with entry 4n."""
    return talk(*(item for n in range(count) for item in (f"q{n} {text}", call("sh"), result(text), says(text))))


@pytest.mark.parametrize(("last", "ends"), [(1, 15), (2, 11), (3, 7), (4, 3), (5, None), (9, None)])
def test_the_last_rounds_stay_whole_and_the_task_too(last, ends):
    assert folds(Rounds(last=last), rounds(5)) == ([(1, ends)] if ends else [])


def test_notes_at_the_end_take_no_room_of_the_tail():
    log = talk(*(Note(key="mode", text=f"[mode] {n}") for n in range(3)), after=turns(12))
    assert folds(HeadTail(first=3, last=4), log) == [(3, 8)]


def test_without_rounds_nothing_is_folded():
    assert folds(Rounds(last=4), turns(12)) == []
    assert folds(Rounds(last=0), rounds(5)) == []
    assert folds(Rounds(last=1), rounds(2, "ok"), over_limit=True) == [], "short rounds: the marker would be longer"


@pytest.mark.parametrize("strategy", [Rounds(last=2), HeadTail(first=2, last=4)])
def test_protected_units_stay_beside_the_marker(strategy):
    policy = Policy(
        name="ends", pressure=(strategy,), keep=(KeepUsers(fraction=0.5),), last_resort=LAST_RESORT, trigger=0.8
    )
    conv = Conversation.open("memory:", "e", budget=Budget(context=1_500), policy=policy, counter=WordCounter())
    for number in range(9):
        conv.user(f"wish {number}")
        window = conv.plan_request()
        conv.observe({"role": "assistant", "content": f"answer {number} {LONG}" * 2})
    shown = [message["content"] for message in render(window)["messages"]]
    assert [text for text in shown if text.startswith("wish")] == [f"wish {number}" for number in range(9)]
    assert sum("are left out of this window" in text for text in shown) == 1
    assert "answer 1" not in "".join(shown)
    assert "answer 7" in "".join(shown)
