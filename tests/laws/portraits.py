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
        head=view.head.seq if view.head is not None else None,
        left_out=tuple((seq, REASONS[code]) for seq, code in enumerate(view.unit_of[: view.n]) if code in REASONS),
        open=tuple(sorted(view.open)),
        first_task=view.first_task,
        newest_user=view.newest_user,
        held=tuple(slot.first for slot in slots if view.held(slot)),
        sent=view.sent.seq if view.sent is not None else None,
        sizes=Sizes(*view.total),
        digest=view.digest(),
    )


def _piece(slot: Slot) -> Piece:
    kids = tuple(unit.key for unit in units_in(slot))
    sizes = Sizes(*slot.size)
    if isinstance(slot, Folded):
        return Piece(slot.first, slot.last, slot.seq, slot.text, tuple(map(_shown, slot.shown)), kids, sizes)
    return Piece(slot.first, slot.last, None, None, (_shown(slot),), kids, sizes)


def _shown(unit: Unit) -> Shown:
    return Shown(unit.key, unit.seqs, unit.shown(), Sizes(*unit.size))
