"""Law 7: a fold or trim never adds bytes, and a fold always saves some."""

from __future__ import annotations

from hypothesis import given

from transom.core.edit import Fold, Trim
from transom.core.entry import Entry
from transom.core.reducer import apply
from transom.core.tokens import part_bytes
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.random_logs import COUNTER, logs


def returned(before: View, after: View) -> int:
    """Bytes of bound reasoning that has its very prefix again, as when a fold that was undone is made anew. They are
    not the edit's: law 13 says that they show."""
    hidden = {unit.key for unit in before.visible_units() if unit.signature_stale}
    back = [unit.head for unit in after.visible_units() if unit.key in hidden and not unit.signature_stale]
    return sum(part_bytes(thought) for head in back for thought in head.reasoning if thought.bound)


@given(logs())
def test_a_fold_saves_and_a_trim_never_costs(log: list[Entry]) -> None:
    view = View.empty(Entries(log), COUNTER)
    for entry in log:
        before, applies = view, isinstance(entry.body, (Fold, Trim)) and view.refusal(entry.body) is None
        view = apply(view, [entry])
        size = view.total.bytes - returned(before, view)
        if isinstance(entry.body, Fold) and applies:
            assert size < before.total.bytes
        elif isinstance(entry.body, Trim) and applies:
            assert size <= before.total.bytes
        elif isinstance(entry.body, (Fold, Trim)):
            assert view.total == before.total
