"""Law 15: the incremental view equals an independent, slow oracle written from the semantics."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from transom.core.entry import Entry
from transom.core.reducer import apply, build_view
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.oracle import appearance, slow_views
from transom.testing.random_logs import COUNTER, logs
from transom.testing.view_appearance import appearance_of


@given(logs())
def test_the_view_equals_the_oracle_after_every_entry(log: list[Entry]) -> None:
    view = View.empty(Entries(log), COUNTER)
    for at, slow in enumerate(slow_views(log, COUNTER)):
        if at:
            view = apply(view, log[at - 1 : at])
        assert appearance_of(view) == slow.appearance(), f"after {at} entries"


@given(logs(), st.sets(st.integers(1, 40)))
def test_however_the_entries_are_chunked(log: list[Entry], cuts: set[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(log)), len(log)]
    view = View.empty(Entries(log), COUNTER)
    for start, stop in itertools.pairwise(edges):
        view = apply(view, log[start:stop])
    assert appearance_of(view) == appearance(log, COUNTER)


@given(logs(), st.integers(0, 40))
def test_time_travel_is_a_smaller_number(log: list[Entry], upto: int) -> None:
    upto = min(upto, len(log))
    assert appearance_of(build_view(Entries(log), COUNTER, upto)) == appearance(log[:upto], COUNTER)
