"""The core's view, told in the oracle's words."""

from __future__ import annotations

from oracle import Picture, Piece, Shown
from oracle_parts import Sizes
from transom.core.unit import Folded, Slot, Unit, units_in
from transom.core.view import EMPTY, HIDDEN, STRAY, View

REASONS = {STRAY: "stray", EMPTY: "empty", HIDDEN: "hidden"}


def portrait(view: View) -> Picture:
    """Everything the view shows."""
    slots = view.slots
    return Picture(
        pieces=tuple(_piece(slot) for slot in slots),
        head=view.head_entry.seq if view.head_entry is not None else None,
        left_out=tuple((seq, REASONS[code]) for seq, code in enumerate(view.unit_of[: view.length]) if code in REASONS),
        open=tuple(sorted(view.open_units)),
        first_task=view.first_task,
        newest_user=view.newest_user,
        held=tuple(slot.first for slot in slots if view.user_restored(slot)),
        sent=view.in_flight.seq if view.in_flight is not None else None,
        sizes=Sizes(*view.total),
        digest=view.digest(),
    )


def _piece(slot: Slot) -> Piece:
    kids = tuple(unit.key for unit in units_in(slot))
    sizes = Sizes(*slot.size)
    if isinstance(slot, Folded):
        return Piece(slot.first, slot.last, slot.seq, slot.text, tuple(map(_shown, slot.surfaced_units)), kids, sizes)
    return Piece(slot.first, slot.last, None, None, (_shown(slot),), kids, sizes)


def _shown(unit: Unit) -> Shown:
    return Shown(unit.key, unit.seqs, unit.shown_facts(), Sizes(*unit.size))
