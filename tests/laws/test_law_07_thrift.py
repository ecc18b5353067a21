"""Law 7: a fold or trim never adds bytes, and a fold always saves some."""

from __future__ import annotations

from hypothesis import given
from logs import COUNTER, logs

from transom.core.edit import Fold, Trim
from transom.core.entry import Entry
from transom.core.folding import fold
from transom.core.view import View
from transom.testing.fakes import Entries


@given(logs())
def test_a_fold_saves_and_a_trim_never_costs(log: list[Entry]) -> None:
    view = View(Entries(log), COUNTER)
    for entry in log:
        before, applies = view, isinstance(entry.body, (Fold, Trim)) and view.refusal(entry.body) is None
        view = fold(view, [entry])
        if isinstance(entry.body, Fold) and applies:
            assert view.total.bytes < before.total.bytes
        elif isinstance(entry.body, Trim) and applies:
            assert view.total.bytes <= before.total.bytes
        elif isinstance(entry.body, (Fold, Trim)):
            assert view.total == before.total
