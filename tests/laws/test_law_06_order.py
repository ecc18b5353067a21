"""Law 6: trims and pins commute; twice is once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transom.core.entry import Entry
from transom.testing.random_logs import LogBuilder, Step, logs, steps
from transom.testing.view_appearance import appearance_of


@given(logs(), steps("trim", "pin"), st.randoms(use_true_random=False))
def test_trims_and_pins_commute(log: list[Entry], some: list[Step], random) -> None:
    edits = [entry.body for entry in LogBuilder(log).write(some)]
    one, other = LogBuilder(log), LogBuilder(log)
    for edit in edits:
        one.append(edit)
    random.shuffle(edits)
    for edit in edits:
        other.append(edit)
    assert appearance_of(one.view) == appearance_of(other.view)


@given(logs(), steps("trim", "pin"))
def test_twice_is_once(log: list[Entry], some: list[Step]) -> None:
    once = LogBuilder(log)
    edits = [entry.body for entry in once.write(some)]
    twice = LogBuilder(once.log)
    for edit in edits:
        twice.append(edit)
    assert appearance_of(twice.view) == appearance_of(once.view)
