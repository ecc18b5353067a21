"""Law 8 where the user took back a fold: the turns that show again then are no reason to make the records again."""

from __future__ import annotations

import pytest

from transom.core.edit import Fold, Undo
from transom.core.reducer import build_view
from transom.strategies.fold.layered_records import Digest
from transom.testing import says, talk
from transom.testing.fakes import Entries
from transom.testing.laws.shared import COUNTER
from transom.testing.laws.strategy import target_for


@pytest.mark.parametrize("over_limit", [False, True])
def test_records_beside_restored_turns_are_made_again_only_over_the_limit(over_limit: bool) -> None:
    said = [item for at in range(6) for item in (f"Question {at}? " * 5, says(f"Answer {at}. " * 40))]
    taken_back = (Fold(first=1, last=2, text="[folded]"), Undo(edit=3))
    log = talk(
        "Go.", says("First."), "Second.", *taken_back, *said, "Go on.", Fold(first=5, last=16, text="words " * 150)
    )
    view = build_view(Entries(log), COUNTER)
    assert bool(list(Digest()(view, target_for(view, over_limit=over_limit)))) == over_limit
