"""Converts a view of the core to an `Appearance` of the oracle, so that the two can be compared."""

from __future__ import annotations

from transom.core.unit import FoldedSlot, Slot, Unit, units_in
from transom.core.view import EMPTY_MESSAGE, HIDDEN_MESSAGE, STRAY_RESULT, View
from transom.testing.oracle import Appearance, SlotAppearance, UnitAppearance
from transom.testing.oracle_parts import Sizes

REASONS = {STRAY_RESULT: "stray", EMPTY_MESSAGE: "empty", HIDDEN_MESSAGE: "hidden"}


def appearance_of(view: View) -> Appearance:
    """Everything that a view shows, as plain values."""
    slots = view.slots
    return Appearance(
        slots=tuple(map(_slot, slots)),
        head=view.head_entry.seq if view.head_entry is not None else None,
        left_out=tuple((seq, REASONS[code]) for seq, code in enumerate(view.unit_of) if code in REASONS),
        open=tuple(sorted(view.open_units)),
        waiting=tuple(sorted(view.waiting.items())),
        approvals=tuple(sorted((*call, *found) for call, found in view.approvals.items())),
        late_results=tuple(view.late_results),
        first_task=view.first_task,
        newest_user=view.newest_user,
        restored=tuple(slot.first for slot in slots if view.user_restored(slot)),
        summaries=tuple(view.summaries.made),
        in_flight=view.in_flight.seq if view.in_flight is not None else None,
        sizes=Sizes(*view.total),
        fingerprint=view.fingerprint(),
    )


def _slot(slot: Slot) -> SlotAppearance:
    """What a slot shows."""
    keys = tuple(unit.key for unit in units_in(slot))
    sizes = Sizes(*slot.size)
    if isinstance(slot, FoldedSlot):
        units = tuple(map(_unit, slot.pinned_units))
        compaction = None if slot.compaction is None else slot.compaction.first_fact
        return SlotAppearance(slot.first, slot.last, slot.seq, slot.text, units, keys, sizes, compaction)
    return SlotAppearance(slot.first, slot.last, None, None, (_unit(slot),), keys, sizes)


def _unit(unit: Unit) -> UnitAppearance:
    """What a unit shows."""
    return UnitAppearance(unit.key, unit.seqs, unit.shown_facts(), Sizes(*unit.size))
