"""Makes the `FoldedSlot` of a fold, and makes it again when an edit changes something under it.

A fold is the edit that shows one text in place of a range of slots (`core/edit.py:Fold`). Its `FoldedSlot` has these
slots as its children.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import chain, pairwise
from operator import attrgetter

from msgspec.structs import replace

from transom.core.edit import Fold
from transom.core.entry import Entry
from transom.core.tokens import MESSAGE_BYTES, ZERO, Size, sum_sizes, text_bytes
from transom.core.unit import FoldedSlot, Slot, Unit, pinned_units_in, units_in, with_signature_stale, without_excerpted

SEALED = "compaction by the provider"
"""The `why` of the slot that stands for everything before a compaction made by the provider itself."""

Path = list[tuple[FoldedSlot, int]]
"""The way from a slot of the window down through nested folds: each slot with the index of the child that leads on."""


def child_at(folded: FoldedSlot, key: int) -> tuple[int, Slot]:
    """The index of the child that holds the unit with this key, and that child. The slot must cover a unit with this
    key; that is not checked."""
    at = bisect_right(folded.children, key, key=attrgetter("first")) - 1
    return at, folded.children[at]


def make_folded(entry: Entry, slots: Sequence[Slot], fold: Fold, compaction: Unit | None) -> FoldedSlot:
    """The slot that a fold puts in the place of these slots. `entry`: the entry of the fold, with its token counts.
    `compaction`: the provider's own compaction, if the fold shows that in place of its text."""
    text_size = Size(entry.tokens[0], MESSAGE_BYTES + text_bytes(fold.text), messages=1)
    if compaction is not None:
        text_size = compaction.size
    made = _slot_over(slots, entry.seq, fold.why)
    pinned = tuple(unit for child in made.children for unit in pinned_units_in(child))
    return replace(
        made,
        text=fold.text,
        tokens=text_size.tokens,
        all_pinned=pinned,
        size=text_size.plus(_pinned_size(pinned, fold.excerpted)),
        excerpted=fold.excerpted,
        compaction=compaction,
    )


def make_sealed(seq: int, slots: Sequence[Slot]) -> FoldedSlot:
    """The slot for everything that precedes the provider's own compaction in the entry `seq`. It shows nothing, and has
    `slots` as its children.

    A late reply among them may have its place within a slot that was sealed before. Then the children are single units
    instead, in the order of their keys.
    """
    if any(before.last > after.first for before, after in pairwise(slots)):
        units = chain.from_iterable(map(units_in, slots))
        slots = sorted(units, key=attrgetter("key"))
    return replace(_slot_over(slots, seq, SEALED), sealed=True)


def _slot_over(slots: Sequence[Slot], seq: int, why: str) -> FoldedSlot:
    """A slot that has these slots as its children and shows nothing."""
    children = tuple(without_entries(_without_signature(slot)) for slot in slots)
    return FoldedSlot(
        first=children[0].first,
        last=children[-1].last,
        seq=seq,
        text="",
        why=why,
        tokens=0,
        children=children,
        all_pinned=(),
        size=ZERO,
        untrimmed_size=sum_sizes(slot.untrimmed_size for slot in children),
        unit_count=sum(slot.unit_count if isinstance(slot, FoldedSlot) else 1 for slot in children),
    )


def replace_in_folds(path: Path, old: Slot, new: tuple[Slot, ...]) -> Slot:
    """Return the outermost slot of `path`, made again with `new` in the place of `old`: the child to which the last
    pair of the path leads. If the path is empty, return `new[0]`.

    `new` must hold the same units as `old`. So of the folds on the path only the pinned units and the sizes change, and
    nothing else is counted again.
    """
    unpinned, pinned = pinned_units_in(old), tuple([unit for slot in new for unit in pinned_units_in(slot)])
    for folded, i in reversed(path):
        children = (*folded.children[:i], *map(without_entries, new), *folded.children[i + 1 :])
        if folded.sealed:
            new = (replace(folded, children=children),)
            continue
        at = bisect_left(folded.all_pinned, old.first, key=attrgetter("key"))
        new = (
            replace(
                folded,
                children=children,
                all_pinned=(*folded.all_pinned[:at], *pinned, *folded.all_pinned[at + len(unpinned) :]),
                size=folded.size.replaced(
                    _pinned_size(unpinned, folded.excerpted), _pinned_size(pinned, folded.excerpted)
                ),
                cached_fingerprint=None,
            ),
        )
    return new[0]


def _pinned_size(pinned: tuple[Unit, ...], excerpted: tuple[int, ...]) -> Size:
    """The size of the pinned units that are shown behind the text of a fold."""
    return sum_sizes(unit.size for unit in without_excerpted(pinned, excerpted))


def _without_signature(slot: Slot) -> Slot:
    """A slot as it is under a fold: its bound reasoning is hidden, because the fold changes its prefix (law 13)."""
    if not isinstance(slot, Unit) or not slot.signed_prefix or slot.signature_stale:
        return slot
    assert slot.entries is not None
    return with_signature_stale(slot, slot.entries, stale=True)


def without_entries(slot: Slot) -> Slot:
    """A slot as a `FoldedSlot` holds it as a child: a unit without its entries, unless it is pinned; a `FoldedSlot`
    without its text and compaction. Both can be read from the log again."""
    if isinstance(slot, Unit):
        return slot if slot.pins or slot.entries is None else replace(slot, entries=None, cached_fingerprint=None)
    return replace(slot, text="", compaction=None, cached_fingerprint=None) if slot.text else slot
