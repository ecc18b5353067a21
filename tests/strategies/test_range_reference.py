"""The entries that the marker of a fold names."""

from __future__ import annotations

from transom.core.edit import Fold
from transom.core.reducer import build_view
from transom.strategies.text.references import range_reference
from transom.testing import Entries, WordCounter, call, result, talk
from transom.testing.laws import target_for


def named(*items, slots: int) -> str:
    view = build_view(Entries(talk(*items)), WordCounter())
    return range_reference(view, target_for(view), view.slots[:slots])


def test_a_result_that_came_after_the_next_user_message_is_named_too():
    assert named("go", call("sh"), "meanwhile", result("ok"), "on", slots=3) == "entry 0 to entry 3"


def test_it_is_named_as_well_where_its_unit_is_in_a_fold_within_the_fold():
    inner, outer = Fold(first=0, last=1, text="[a]"), Fold(first=0, last=2, text="[b]")
    assert named("go", call("sh"), "meanwhile", result("ok"), inner, outer, "on", slots=1) == "entry 0 to entry 3"


def test_one_entry_is_named_once():
    assert named("go", "on", slots=1) == "entry 0"
