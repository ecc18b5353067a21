"""The next view while it is being built.

`reducer.apply` makes one builder, hands every new entry to it, and takes a view out of it. Nobody else sees a builder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from transom.core.entry import Entry
from transom.core.folded import SEALED, make_sealed
from transom.core.persistent import IntVector, appended, replaced, spliced, without_key
from transom.core.prefix_fingerprint import PrefixFingerprint, prefixes
from transom.core.unit import Slot, Unit, with_signature_stale
from transom.core.view import Prefix, View


class ViewBuilder:
    """A view that can be changed: it starts as a copy of one, and `view` makes the next.

    The fields share the old view's data (`core/persistent.py`), so that an entry costs no copy of what it leaves as it
    is.
    """

    def __init__(self, view: View) -> None:
        self.log, self.counter = view.log, view.counter
        self.slots = view.slots
        self.total = view.total
        self._known_units = view.unit_of
        self._new_units: list[int] = []
        self.head_entry, self.head_size = view.head_entry, view.head_size
        self.calls, self.landmarks = view.calls, view.landmarks
        self.notes: Mapping[str, tuple[int, str]] = view.notes
        self.live_edits: IntVector = view.live_edits
        self.restored = view.restored
        self.prefix: Prefix = view.prefix
        self.summaries = view.summaries
        self.usage = view.usage
        self._fingerprint = PrefixFingerprint(view.prefix_fingerprint.remembered)
        self.signatures_unchecked = False
        """Something before bound reasoning may have changed."""

    def view(self) -> View:
        """Make the view of all entries so far."""
        if self.signatures_unchecked:
            self.recheck_signatures()
        return View(
            log=self.log,
            counter=self.counter,
            total=self.total,
            slots=self.slots,
            unit_of=self._known_units.plus(self._new_units) if self._new_units else self._known_units,
            head_entry=self.head_entry,
            head_size=self.head_size,
            calls=self.calls,
            prefix=self.prefix,
            landmarks=self.landmarks,
            live_edits=self.live_edits,
            restored=self.restored,
            notes=self.notes,
            summaries=self.summaries,
            usage=self.usage,
            prefix_fingerprint=self._fingerprint,
        )

    # ---- reading

    @property
    def length(self) -> int:
        """How many entries the view will be of."""
        return len(self._known_units) + len(self._new_units)

    @property
    def in_flight(self) -> Entry | None:
        """The `Sent` of the request that has no reply yet."""
        return self.prefix.in_flight

    @property
    def open_units(self) -> tuple[int, ...]:
        """The keys of the units whose calls wait for results."""
        return self.calls.open_units

    @property
    def waiting(self) -> Mapping[str, int]:
        """The calls of the provider's own tools that wait for a later turn, with the keys of their units."""
        return self.calls.waiting

    @property
    def compaction(self) -> int | None:
        """The key of the newest turn with the provider's own compaction."""
        return self.landmarks.compaction

    def key_of(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if it is in none."""
        known = len(self._known_units)
        return self._known_units[entry] if entry < known else self._new_units[entry - known]

    def fingerprint(self) -> str:
        """A hash of everything that the window shows so far."""
        return self._fingerprint.fingerprint(self.head_entry, self.slots)

    # ---- changing

    def add_entry(self, key: int) -> None:
        """Note that the next entry belongs to the unit with this key, or to none (below 0, see `locate.NO_UNIT`)."""
        self._new_units.append(key)

    def drop_synthetic_result(self, label: str) -> None:
        """Forget the synthetic result with this label: no late result may answer its call any more."""
        left = without_key(self.calls.synthetic_results, label)
        self.calls = replace(self.calls, synthetic_results=left)

    def append_slot(self, slot: Slot) -> None:
        """Add a slot at the end."""
        self.slots = appended(self.slots, slot)
        self.total = self.total.plus(slot.size)

    def insert_slot(self, at: int, slot: Slot) -> None:
        """Insert a slot before the one at this index: a reply whose request left before other facts came."""
        self.slots = spliced(self.slots, at, at, [slot])
        self.total = self.total.plus(slot.size)
        self.forget_fingerprint(at)
        self.prefix = replace(self.prefix, shared_slots=min(self.prefix.shared_slots, at))

    def replace_slot(self, at: int, slot: Slot) -> None:
        """Put another slot in the place of one. The fingerprint stays as it is: if the new slot looks different, the
        caller must forget it."""
        self.total = self.total.replaced(self.slots[at].size, slot.size)
        self.slots = replaced(self.slots, at, slot)

    def splice(
        self, first: int, last: int, new: Sequence[Slot], entry: Entry, why: str, *, is_news: bool = False
    ) -> None:
        """Put `new` in the place of the slots from index `first` to `last`. The prefix breaks there, because of the
        edit `entry`. `is_news`: as for `forget_fingerprint`."""
        for slot in self.slots[first : last + 1]:
            self.total = self.total.minus(slot.size)
        for slot in new:
            self.total = self.total.plus(slot.size)
        self.slots = spliced(self.slots, first, last + 1, new)
        self.mark_break(first, entry, why, is_news=is_news)

    def seal(self, stop: int, entry: Entry, compaction: int) -> None:
        """Hide the slots before the index `stop` for ever, because the provider has compacted them. The prefix breaks
        there because of `entry`; the entry `compaction` has the provider's compaction."""
        hidden = self.slots[:stop]
        if hidden:
            self.splice(0, stop - 1, [make_sealed(compaction, hidden)], entry, SEALED)

    def mark_break(self, at: int, entry: Entry, why: str, *, is_news: bool = False) -> None:
        """Note that from the slot at this index on, the window differs from what was sent; `entry` and `why` say what
        caused it.

        Only a break before all earlier ones is kept. `is_news`: as for `forget_fingerprint`.
        """
        self.forget_fingerprint(at, is_news=is_news)
        if at < self.prefix.shared_slots:
            self.prefix = replace(self.prefix, shared_slots=at, first_break=(at, entry.seq, why))

    def forget_fingerprint(self, at: int, *, seen_by_others: bool = True, is_news: bool = False) -> None:
        """Forget the hash of the window from the slot at this index on (-1: the head), because that slot has changed.

        `seen_by_others`: slots follow it, and their bound reasoning may have been made on the old slot, so the
        signatures must be checked again. `is_news`: it looks as it never did before, so none of them was made on it.
        """
        self._fingerprint = self._fingerprint.truncate(at)
        if not seen_by_others or not self.prefix.has_signed:
            return
        if is_news and not self.signatures_unchecked:
            self._hide_signed_behind(at)
        else:
            self.signatures_unchecked = True

    def _hide_signed_behind(self, at: int) -> None:
        """Hide the bound reasoning of every slot behind the one at this index. Mostly there is none any more: then this
        takes no time, so that many trims are not slow."""
        last = self.slots[at].last
        if self.prefix.newest_signed <= last:
            return
        for behind in range(at + 1, len(self.slots)):
            slot = self.slots[behind]
            if isinstance(slot, Unit) and slot.signed_prefix and not slot.signature_stale:
                assert slot.entries is not None
                self.replace_slot(behind, with_signature_stale(slot, slot.entries, stale=True))
        self.prefix = replace(self.prefix, newest_signed=last)

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
                self._fingerprint = self._fingerprint.truncate(at)
        self.prefix = replace(self.prefix, newest_signed=newest)
        self.signatures_unchecked = False

    def sign_again(self) -> None:
        """Treat the bound reasoning that shows as made on the prefix that it has now."""
        if not self.prefix.has_signed:
            return
        slots = list(self.slots)
        for at, fingerprint in prefixes(self.head_entry, slots):
            slot = slots[at] if at < len(slots) else None
            if isinstance(slot, Unit) and slot.signed_prefix and not slot.signature_stale:
                slots[at] = replace(slot, signed_prefix=fingerprint)
                self.replace_slot(at, slots[at])
        self.signatures_unchecked = False
