"""Law 6: trims and pins commute; twice is once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from logs import Act, acts, logs, retold, tell
from portraits import portrait

from transom.core.entry import Entry


@given(logs(), acts("trim", "pin"), st.randoms(use_true_random=False))
def test_trims_and_pins_commute(log: list[Entry], some: list[Act], random) -> None:
    said = [entry.body for entry in tell(some, retold(log))[len(log) :]]
    one, other = retold(log), retold(log)
    for edit in said:
        one.say(edit)
    random.shuffle(said)
    for edit in said:
        other.say(edit)
    assert portrait(one.view) == portrait(other.view)


@given(logs(), acts("trim", "pin"))
def test_twice_is_once(log: list[Entry], some: list[Act]) -> None:
    once = retold(log)
    said = [entry.body for entry in tell(some, once)[len(log) :]]
    twice = retold(once.log)
    for edit in said:
        twice.say(edit)
    assert portrait(twice.view) == portrait(once.view)
