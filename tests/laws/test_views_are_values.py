"""A view is a value: views of one log, of every length and with every future, are there side by side."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given

from transom.core.entry import Entry
from transom.core.message import Assistant, Opaque, Text, User
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, LogBuilder, Step, logs, steps
from transom.testing.view_appearance import appearance_of


@given(logs())
def test_the_units_that_show_are_whole_turns_in_key_order(log: list[Entry]) -> None:
    view = build_view(Entries(log), COUNTER)
    keys = [unit.key for unit in view.visible_units()]
    assert keys == sorted(set(keys))
    assert all(view.is_visible(key) for key in keys)
    assert all(a.last < b.first for a, b in pairwise(view.slots))
    for unit in view.visible_units():
        calls = unit.first_fact.calls if isinstance(unit.first_fact, Assistant) else ()
        assert sorted((*unit.answered_calls, *unit.open_calls)) == list(range(len(calls)))


@given(logs(), steps("fold", "trim", "undo", "reply", "result"), steps("user", "pin", "undo", "fold", "synthetic"))
def test_two_futures_leave_their_past_alone(log: list[Entry], some: list[Step], others: list[Step]) -> None:
    past = build_view(Entries(log), COUNTER)
    before = appearance_of(past)
    for written in (some, others, some):
        future = [*log, *LogBuilder(log).write(written)]
        extended = apply(past.with_log(Entries(future)), future[len(log) :])
        assert appearance_of(extended) == appearance_of(build_view(Entries(future), COUNTER))
        assert appearance_of(past) == before


@given(logs())
def test_views_of_every_length_live_side_by_side(log: list[Entry]) -> None:
    views = [View.empty(Entries(log), COUNTER)]
    for entry in log:
        views.append(apply(views[-1], [entry]))
    for upto, view in enumerate(views):
        alone = build_view(Entries(log), COUNTER, upto)
        assert appearance_of(view) == appearance_of(alone)
        assert places(view) == places(alone)


@given(logs())
def test_futures_that_begin_otherwise_share_no_places(log: list[Entry]) -> None:
    past = build_view(Entries(log), COUNTER)
    before = places(past)
    user = User(parts=(Text("and now?"),))
    for unseen in (0, 1, 2):  # entries without a slot, so that the same slot has another key in each future
        bodies = (*[Opaque(raw={"kind": "?"})] * unseen, user, user)
        future = [*log, *(Entry(seq=seq, at=0.0, body=body) for seq, body in enumerate(bodies, len(log)))]
        extended = apply(past.with_log(Entries(future)), future[len(log) :])
        assert places(extended) == places(build_view(Entries(future), COUNTER))
    assert places(past) == before


def places(view: View) -> list[int]:
    """The slot of every key there is, and of some beyond."""
    return [view.slot_index(key) for key in range(-1, view.length + 8)]
