"""Law 4 for a frozen view: it comes back as it was, and goes on as if it had never been away."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from transom.core.entry import Entry
from transom.core.reducer import apply, build_view
from transom.stores.snapshot import decode_view, encode_view
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, logs
from transom.testing.view_appearance import appearance_of


@given(logs(), st.integers(0, 40))
def test_a_frozen_view_goes_on_as_the_live_one(log: list[Entry], upto: int) -> None:
    upto = min(upto, len(log))
    live = build_view(Entries(log), COUNTER, upto)
    back = decode_view(encode_view(live), Entries(log), COUNTER)
    assert appearance_of(back) == appearance_of(live)
    assert appearance_of(apply(back, log[upto:])) == appearance_of(build_view(Entries(log), COUNTER))
