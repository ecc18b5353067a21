"""Finds things in a view: the slot of a unit, the unit of an entry, an entry with its counts.

`SlotTable` is the base class of `View`, and of the `ViewBuilder` of the next view.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter

from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, Body, Entry, Forked, Sent
from transom.core.folded_slot import Path, child_at
from transom.core.log import Log
from transom.core.message import Assistant, Opaque
from transom.core.persistent import IntVector, index_after
from transom.core.summary import Summaries, Summary
from transom.core.tokens import FormatCounter, apply_trim
from transom.core.trims import find_part
from transom.core.unit import FoldedSlot, Slot, Unit, new_unit
from transom.core.view_parts import Calls, Landmarks, Prefix

NO_UNIT, STRAY_RESULT, EMPTY_MESSAGE, HIDDEN_MESSAGE = -1, -2, -3, -4
"""What stands in place of a unit's key for an entry that is in no unit.

`NO_UNIT`: an edit, a trace, a head, an unknown kind, or a number outside the log. `STRAY_RESULT`: a result without an
open call. `EMPTY_MESSAGE`: a message without content. `HIDDEN_MESSAGE`: a fact that is not to be in context.
"""

_first = attrgetter("first")

_UNCOUNTED = (Sent, Forked, Approval, Pin, Undo, Opaque, Summary)
"""Bodies that have no token counts."""


class SlotTable:
    """What a view and the builder of the next view have in common. `View` explains the fields.

    Most methods take the key of a unit, and need one that exists. Those that take a seq say what they return for an
    entry that is in no unit.
    """

    __slots__ = ()

    log: Log
    counter: FormatCounter
    slots: tuple[Slot, ...]
    calls: Calls
    prefix: Prefix
    landmarks: Landmarks
    live_edits: IntVector
    summaries: Summaries

    @property
    def length(self) -> int:
        """The number of entries of the log that the slots show."""
        raise NotImplementedError

    def key_of(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if the entry is in none (see `NO_UNIT`)."""
        raise NotImplementedError

    @property
    def in_flight(self) -> Entry | None:
        """The `Sent` of the request that has no reply yet; None if no request is in flight."""
        return self.prefix.in_flight

    @property
    def open_units(self) -> tuple[int, ...]:
        """The keys of the units that have calls without a result, rising."""
        return self.calls.open_units

    @property
    def waiting(self) -> Mapping[str, int]:
        """The calls of the provider's own tools whose results come in a later turn, by id; each with the key of the
        unit that made it."""
        return self.calls.waiting

    @property
    def compaction(self) -> int | None:
        """The key of the newest turn with the provider's own compaction; None if there is none. What precedes it is not
        shown, and no fold takes it."""
        return self.landmarks.compaction

    # ---- where things are

    def slot_index(self, key: int) -> int:
        """The index of the slot that holds the unit with this key. If no slot holds it, the index of the last slot
        before it; -1 if there is none."""
        return index_after(self.slots, key, _first) - 1

    def unit_key(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if the entry is in no unit, or there is no such entry."""
        return self.key_of(entry) if 0 <= entry < self.length else NO_UNIT

    def path_to(self, key: int) -> tuple[Path, Unit]:
        """The way down to the unit with this key through the folds over it, and the unit. The path is empty if the unit
        is a slot itself."""
        path: Path = []
        slot = self.slots[self.slot_index(key)]
        while isinstance(slot, FoldedSlot):
            at, child = child_at(slot, key)
            path.append((slot, at))
            slot = child
        return path, slot

    def unit(self, key: int) -> Unit:
        """The unit with this key, visible or folded."""
        return self.path_to(key)[1]

    def units(self, keys: Iterable[int]) -> list[Unit]:
        """The units with these keys, visible or folded, in order of their keys; a key that is given twice gives its
        unit twice. One descent finds all of them, however deep folds are nested."""
        rising, found = sorted(keys), dict[int, Unit]()
        stack: list[tuple[Sequence[Slot], int, int]] = [(self.slots, 0, len(rising))]
        while stack:
            slots, start, stop = stack.pop()
            while start < stop:
                slot = slots[index_after(slots, rising[start], _first) - 1]
                end = bisect_right(rising, slot.last, start + 1, stop)
                if isinstance(slot, FoldedSlot):
                    stack.append((slot.children, start, end))
                else:
                    found[slot.key] = slot
                start = end
        return [found[key] for key in rising]

    def path_to_fold(self, seq: int, fold: Fold) -> Path | None:
        """The folds from the window down to this one, that one last, each with the index of the child that leads on.

        None if the fold is not live. `seq`: the seq of the fold's entry.
        """
        at = self.slot_index(fold.first)
        slot = self.slots[at] if at >= 0 else None
        path: Path = []
        while isinstance(slot, FoldedSlot):
            at, child = child_at(slot, fold.first)
            path.append((slot, at))
            if slot.seq == seq:
                return path
            slot = child
        return None

    def open_unit(self, key: int) -> Unit:
        """The unit with this key, which must have open calls: then it is a slot itself, because no fold may hold it."""
        slot = self.slots[self.slot_index(key)]
        assert isinstance(slot, Unit), "an open unit is never folded"
        return slot

    # ---- entries

    def fetch(self, seq: int) -> Entry:
        """The entry with this seq, from the log. It must be there. Its token counts are those of `counter` (see
        `counted`)."""
        return self.counted(self.log[seq])

    def entries_of(self, unit: Unit) -> tuple[Entry, ...]:
        """All entries of a unit. They are read from the log if a fold hides the unit."""
        return unit.entries if unit.entries is not None else tuple(self.fetch(seq) for seq in unit.seqs)

    def unit_entry(self, seq: int) -> Entry | None:
        """The entry with this seq if it is in a unit; None otherwise. It is read from the log only if a fold hides the
        unit."""
        key = self.unit_key(seq)
        if key < 0:
            return None
        unit = self.path_to(key)[1]
        return self.fetch(seq) if unit.entries is None else unit.entries[bisect_left(unit.seqs, seq)]

    def counted(self, entry: Entry) -> Entry:
        """The entry with token counts by `counter`: counted now if it has none, or those of another tokenizer or
        dialect."""
        if entry.counter == self.counter.name or isinstance(entry.body, _UNCOUNTED):
            return entry
        return replace(entry, tokens=self.token_counts(entry.body), counter=self.counter.name)

    def token_counts(self, body: Body) -> tuple[int, ...]:
        """The token counts of an entry with this body, as `Entry.tokens` explains them.

        For a trim it is the count of the part as the trim shows it; none if the trim drops reasoning, or names no part
        that there is. For a fold that shows the provider's compaction, the counts are those of the compaction.
        """
        form = None
        if isinstance(body, Fold) and (compaction := self.compaction_of(body)) is not None:
            body = compaction
        if isinstance(body, Trim) and (entry := self.unit_entry(body.entry)) is not None:  # else it does not apply
            found = find_part(entry, body.part)
            form = apply_trim(found[0], body) if found else None
        return self.counter.count_body(body, form)

    def compaction_of(self, fold: Fold) -> Assistant | None:
        """The provider's own compaction that a fold shows in place of its text; None if it shows its text (most do).

        It is the compaction in the summary that the fold names, if that is in the dialect of `counter`.
        """
        seq = fold.summary
        if seq is None or fold.summary_end or not 0 <= seq < self.length:
            return None
        summary = self.log[seq].body
        compaction = summary.compaction if isinstance(summary, Summary) else None
        return compaction if compaction is not None and compaction.dialect == self.counter.dialect else None

    def compaction_unit(self, entry: Entry, fold: Fold) -> Unit | None:
        """The provider's own compaction that a fold shows, as a unit that can be rendered; None if it shows its text.

        `entry`: the entry of the fold, with its token counts.
        """
        if (turn := self.compaction_of(fold)) is None:
            return None
        shown = Entry(seq=entry.seq, at=entry.at, body=turn, tokens=entry.tokens, counter=entry.counter)
        return new_unit(fold.first, shown, messages=self.counter.messages(turn))

    def is_live(self, seq: int) -> bool:
        """Whether the entry with this seq is a fold, trim or pin that applies, or a summary, and was not undone."""
        return self.live_edits.index_of(seq) is not None or self.summaries.made.index_of(seq) is not None
