"""The next view while it is being built.

`reducer.apply` makes one builder, hands every new entry to it, and takes a view out of it. Nobody else sees a builder.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

from msgspec import field
from msgspec.structs import astuple, replace

from transom.core.entry import Entry
from transom.core.folded_slot import SEALED, make_sealed
from transom.core.persistent import appended, replaced, spliced
from transom.core.prefix_fingerprint import prefixes
from transom.core.slot_table import SlotTable
from transom.core.unit import Slot, Unit, with_signature_stale
from transom.core.view import View


class ViewBuilder(SlotTable, eq=False):
    """A view that can be changed. It starts with the fields of the old view; `view` makes the new view of them.

    The fields share the data of the old view (`core/persistent.py`): what an entry does not change is not copied.
    """

    owned: set[str] = field(default_factory=set[str])
    """The mappings that were copied for this builder, so that they may be changed (see `own`)."""
    signatures_unchecked: bool = False
    """True if something in front of bound reasoning may have changed: which reasoning may show must be found out again,
    at the latest by `view`."""

    def view(self) -> View:
        """The view of all entries so far."""
        if self.signatures_unchecked:
            self.recheck_signatures()
        *fields, _, _ = astuple(self)  # without those that only a builder has
        return View(*fields)

    def own(self, name: str) -> dict[Any, Any]:
        """The mapping in the field `name`, to be changed in place: copied at its first change, since views share it."""
        if name not in self.owned:
            self.owned.add(name)
            setattr(self, name, dict(getattr(self, name)))
        return getattr(self, name)

    def append_slot(self, slot: Slot) -> None:
        """Add a slot at the end."""
        self.slots = appended(self.slots, slot)
        self.total = self.total.plus(slot.size)

    def insert_slot(self, at: int, slot: Slot) -> None:
        """Insert a slot before the one at this index. Needed for a reply: its place is that of its request, and other
        facts may have come since."""
        self.slots = spliced(self.slots, at, at, [slot])
        self.total = self.total.plus(slot.size)
        self.forget_fingerprint(at)
        self.shared_slots = min(self.shared_slots, at)

    def replace_slot(self, at: int, slot: Slot) -> None:
        """Put another slot in the place of the one at this index. The fingerprint of the window stays as it is: if the
        new slot looks different, the caller must forget it (`forget_fingerprint`)."""
        self.total = self.total.replaced(self.slots[at].size, slot.size)
        self.slots = replaced(self.slots, at, slot)

    def splice(
        self, first: int, last: int, new: Sequence[Slot], entry: Entry, why: str, *, is_news: bool = False
    ) -> None:
        """Put `new` in the place of the slots from index `first` to `last`, the last one included. The prefix breaks at
        `first`, because of `entry`; `why`: as an edit says it. `is_news`: as for `forget_fingerprint`."""
        for slot in self.slots[first : last + 1]:
            self.total = self.total.minus(slot.size)
        for slot in new:
            self.total = self.total.plus(slot.size)
        self.slots = spliced(self.slots, first, last + 1, new)
        self.mark_break(first, entry, why, is_news=is_news)

    def seal(self, stop: int, entry: Entry, compaction: int) -> None:
        """Put one sealed slot, which shows nothing, in the place of the slots before the index `stop`, because the
        provider has compacted them. Without such slots nothing changes.

        `compaction`: the seq of the entry with the provider's compaction. `entry`: the entry because of which this
        happens now; the prefix breaks because of it.
        """
        hidden = self.slots[:stop]
        if hidden:
            self.splice(0, stop - 1, [make_sealed(compaction, hidden)], entry, SEALED)

    def mark_break(self, at: int, entry: Entry, why: str, *, is_news: bool = False) -> None:
        """Note that from the slot at this index on, the window differs from what was sent. `entry` and `why` say what
        caused it.

        If the window differs in an earlier slot already, that break stays noted. `is_news`: as for
        `forget_fingerprint`.
        """
        self.forget_fingerprint(at, is_news=is_news)
        if at < self.shared_slots:
            self.shared_slots, self.first_break = at, (at, entry.seq, why)

    def forget_fingerprint(self, at: int, *, seen_by_others: bool = True, is_news: bool = False) -> None:
        """Forget the hash of the window from the slot at this index on (-1: the head), because that slot has changed.

        Bound reasoning in the slots behind it may have been made on the old slot, so all of it is checked again later.
        `seen_by_others`: false if no slot follows, so there is nothing to check. `is_news`: true if the changed slot
        looks as it never did before; then no reasoning was made on it, and all behind it is hidden at once.
        """
        self._forget_hash(at)
        if not seen_by_others or not self.has_signed:
            return
        if is_news and not self.signatures_unchecked:
            self._hide_signed_behind(at)
        else:
            self.signatures_unchecked = True

    def _forget_hash(self, at: int) -> None:
        if self.hashed is not None and at < self.hashed[0]:
            self.hashed = None

    def _hide_signed_behind(self, at: int) -> None:
        """Hide the bound reasoning of every slot behind the one at this index.

        A plan with many trims calls this for each of them. After the first one there is mostly nothing left to hide,
        and `newest_signed` says so without a look at the slots.
        """
        last = self.slots[at].last
        if self.newest_signed <= last:
            return
        for behind in range(at + 1, len(self.slots)):
            slot = self.slots[behind]
            if isinstance(slot, Unit) and slot.signed_prefix and not slot.signature_stale:
                assert slot.entries is not None
                self.replace_slot(behind, with_signature_stale(slot, slot.entries, stale=True))
        self.newest_signed = last

    def recheck_signatures(self) -> None:
        """Hide or show the bound reasoning of every slot: it may show only on the exact prefix that it was made on (law
        13)."""
        slots, newest = list(self.slots), -1
        for at, fingerprint in prefixes(self.head_entry, slots):
            slot = slots[at] if at < len(slots) else None
            if not isinstance(slot, Unit) or not slot.signed_prefix:
                continue
            if fingerprint == slot.signed_prefix:
                newest = slot.key
            if slot.signature_stale != (fingerprint != slot.signed_prefix):
                assert slot.entries is not None
                slots[at] = with_signature_stale(slot, slot.entries, stale=not slot.signature_stale)
                self.replace_slot(at, slots[at])
                self._forget_hash(at)
        self.newest_signed = newest
        self.signatures_unchecked = False

    def sign_again(self) -> None:
        """Take the bound reasoning that shows as made on the prefix that it has now. (A head that comes after the turns
        of an imported conversation was there when they were made.)"""
        if not self.has_signed:
            return
        slots = list(self.slots)
        for at, fingerprint in prefixes(self.head_entry, slots):
            slot = slots[at] if at < len(slots) else None
            if isinstance(slot, Unit) and slot.signed_prefix and not slot.signature_stale:
                slots[at] = replace(slot, signed_prefix=fingerprint)
                self.replace_slot(at, slots[at])
        self.signatures_unchecked = False


def with_range(ranges: tuple[tuple[int, int], ...], first: int, last: int) -> tuple[tuple[int, int], ...]:
    """Sorted ranges of keys with the range from `first` to `last` added. Ranges that overlap it are joined with it, so
    that none overlap."""
    start = bisect_left(ranges, first, key=lambda known: known[1])
    stop = bisect_right(ranges, last, key=lambda known: known[0])
    if start < stop:
        first, last = min(first, ranges[start][0]), max(last, ranges[stop - 1][1])
    return (*ranges[:start], (first, last), *ranges[stop:])
