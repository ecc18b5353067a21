"""Law 3, in the core: between two requests the slots sent stay a prefix, unless the view names what broke it."""

from __future__ import annotations

from hypothesis import given

from transom.core.entry import Entry, Sent
from transom.core.reducer import apply
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, logs


@given(logs())
def test_what_was_sent_stays_a_prefix_or_the_break_is_named(log: list[Entry]) -> None:
    view = View.empty(Entries(log), COUNTER)
    sent: list[bytes] | None = None
    for entry in log:
        view = apply(view, [entry])
        now = [slot.fingerprint() for slot in view.slots]
        if isinstance(entry.body, Sent):
            sent = None if view.open_units else now  # rule 3: no request leaves with open calls
            assert (view.shared_slots, view.first_break) == (len(now), None)
        elif sent is not None and view.first_break is None:
            assert (view.shared_slots, now[: len(sent)]) == (len(sent), sent)
        elif sent is not None:
            slot, cause, _ = view.first_break
            assert cause <= entry.seq
            assert slot == view.shared_slots < len(sent)
            assert now[: max(slot, 0)] == sent[: max(slot, 0)]
