"""How a text names the entries of adjacent slots: "entry 12 to entry 40"."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core.policy import Target
from transom.core.unit import Slot
from transom.core.view import View


def range_reference(view: View, target: Target, slots: Sequence[Slot]) -> str:
    """Name the first and the last entry of these slots, at least one: "entry 12 to entry 40"; for a single entry "entry
    12".

    Units are in the order of their keys, not of all their entries: a result may come after the next user message. So
    the first and the last entry need not be those of the first and the last unit. No entry comes before its unit's key.
    """
    first, last, unit_of = slots[0].first, slots[-1].last, view.unit_of
    low = next(seq for seq in range(first, view.length) if first <= unit_of[seq] <= last)
    high = next(seq for seq in range(view.length - 1, -1, -1) if first <= unit_of[seq] <= last)
    names = target.reference(low), target.reference(high)
    return names[0] if low == high else f"{names[0]} to {names[1]}"
