"""References to ranges of entries: "entry 12 to entry 40"."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.policy import Target
from transom.core.unit import Slot
from transom.core.view import View


def range_reference(view: View, target: Target, slots: Sequence[Slot]) -> str:
    """The entries of these slots, as a text names them."""
    first = target.reference(view.unit(slots[0].first).seqs[0])
    last = target.reference(view.unit(slots[-1].last).seqs[-1])
    return first if first == last else f"{first} to {last}"
