"""What a view shows, as plain values that can be compared."""

from __future__ import annotations

from typing import NamedTuple

from transom.core.message import Fact
from transom.core.tokens import Size
from transom.core.unit import FoldedSlot, Slot, Unit, units_in
from transom.core.view import EMPTY_MESSAGE, HIDDEN_MESSAGE, STRAY_RESULT, View

LEFT_OUT_REASONS = {STRAY_RESULT: "stray", EMPTY_MESSAGE: "empty", HIDDEN_MESSAGE: "hidden"}


class UnitAppearance(NamedTuple):
    """A unit that the window shows: its key, the seqs of its facts, the facts as they are shown, and the size that the
    unit counts."""

    key: int
    seqs: tuple[int, ...]
    facts: tuple[Fact, ...]
    sizes: Size


class SlotAppearance(NamedTuple):
    """A slot: one unit (`fold` and `text` are None), or a fold with its text and the pinned units shown behind it.

    `first`, `last`: the keys of the first and the last unit that the slot covers. `keys`: the keys of all units that it
    covers. `units`: the units that are shown. `fold`: the seq of the fold. `sizes`: what the slot counts. `compaction`:
    the provider's own, which a fold shows in place of its text; None if it shows none.
    """

    first: int
    last: int
    fold: int | None
    text: str | None
    units: tuple[UnitAppearance, ...]
    keys: tuple[int, ...]
    sizes: Size
    compaction: Fact | None = None


class Appearance(NamedTuple):
    """Everything that a view shows, as plain values that can be compared.

    - `head`: the seq of the head; None if there is none. `open`: keys of units with open calls. `waiting`: ids of calls
      of the provider's own tools that wait for a later turn, each with the key of its unit.
    - `approvals`: calls that need a person's approval and have no result in their turn: the key of the turn, the index,
      the seq of the newest `Approval`, and its state ("answered" once the result came late). `late_results`: the seqs
      of results that came late and that no note has given.
    - `left_out`: the seqs of facts that are in no unit, each with the reason: "stray", "empty" or "hidden".
    - `restored`: keys of the units outside folds where the user has undone an edit.
    - `summaries`: seqs of the summaries that were not undone.
    - `in_flight`: the seq of the request without a reply; None if there is none.
    - `fingerprint`: the hash of all that is shown.
    """

    slots: tuple[SlotAppearance, ...]
    """Every slot, in order."""
    head: int | None
    left_out: tuple[tuple[int, str], ...]
    open: tuple[int, ...]
    waiting: tuple[tuple[str, int], ...]
    approvals: tuple[tuple[int, int, int, str], ...]
    late_results: tuple[int, ...]
    first_task: tuple[int, ...]
    """The keys of the first task."""
    newest_user: int | None
    """The key of the newest user message; None if there is none."""
    restored: tuple[int, ...]
    summaries: tuple[int, ...]
    in_flight: int | None
    sizes: Size
    """What the whole window counts."""
    fingerprint: str


def appearance_of(view: View) -> Appearance:
    """Everything that a view shows, as plain values."""
    slots = view.slots
    return Appearance(
        slots=tuple(map(_slot, slots)),
        head=view.head_entry.seq if view.head_entry is not None else None,
        left_out=tuple(
            (seq, LEFT_OUT_REASONS[code]) for seq, code in enumerate(view.unit_of) if code in LEFT_OUT_REASONS
        ),
        open=tuple(sorted(view.open_units)),
        waiting=tuple(sorted(view.waiting.items())),
        approvals=tuple(sorted((*call, *found) for call, found in view.approvals.items())),
        late_results=tuple(view.late_results),
        first_task=view.first_task,
        newest_user=view.newest_user,
        restored=tuple(slot.first for slot in slots if view.user_restored(slot)),
        summaries=tuple(view.summaries.made),
        in_flight=view.in_flight.seq if view.in_flight is not None else None,
        sizes=view.total,
        fingerprint=view.fingerprint(),
    )


def _slot(slot: Slot) -> SlotAppearance:
    """What a slot shows."""
    keys = tuple(unit.key for unit in units_in(slot))
    sizes = slot.size
    if isinstance(slot, FoldedSlot):
        units = tuple(map(_unit, slot.pinned_units))
        compaction = None if slot.compaction is None else slot.compaction.first_fact
        return SlotAppearance(slot.first, slot.last, slot.seq, slot.text, units, keys, sizes, compaction)
    return SlotAppearance(slot.first, slot.last, None, None, (_unit(slot),), keys, sizes)


def _unit(unit: Unit) -> UnitAppearance:
    """What a unit shows."""
    return UnitAppearance(unit.key, unit.seqs, unit.shown_facts(), unit.size)
