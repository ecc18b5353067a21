"""Finds things in a view: the slot of a unit, the unit of an entry, an entry with its counts.

The functions take a `SlotTable`: a `View`, or the `ViewBuilder` of the next one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Protocol

from msgspec.structs import replace

from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, Body, Entry, Forked, Sent
from transom.core.folded import Path, child_at
from transom.core.log import Log
from transom.core.message import Assistant, Opaque
from transom.core.persistent import IntVector, index_after
from transom.core.summary import Summaries, Summary
from transom.core.tokens import FormatCounter, apply_trim
from transom.core.trims import find_part
from transom.core.unit import FoldedSlot, Slot, Unit, new_unit

NO_UNIT, STRAY_RESULT, EMPTY_MESSAGE, HIDDEN_MESSAGE = -1, -2, -3, -4
"""What stands in place of a unit's key for an entry that is in no unit.

`NO_UNIT`: an edit, a trace, a head, an unknown kind, or a number outside the log. `STRAY_RESULT`: a result without an
open call. `EMPTY_MESSAGE`: a message without content. `HIDDEN_MESSAGE`: a fact that is not to be in context.
"""

_first = attrgetter("first")


class SlotTable(Protocol):
    """What a view and the builder of the next view have in common. The fields mean what they mean in `View`."""

    @property
    def log(self) -> Log: ...
    @property
    def counter(self) -> FormatCounter: ...
    @property
    def length(self) -> int: ...
    @property
    def slots(self) -> Sequence[Slot]: ...
    @property
    def in_flight(self) -> Entry | None: ...
    @property
    def open_units(self) -> Collection[int]: ...
    @property
    def waiting(self) -> Mapping[str, int]: ...
    @property
    def compaction(self) -> int | None: ...
    @property
    def live_edits(self) -> IntVector: ...
    @property
    def summaries(self) -> Summaries: ...
    def key_of(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if it is in none."""
        ...


def slot_index(table: SlotTable, key: int) -> int:
    """The index of the slot that holds the unit with this key. If no slot does, the index of the last slot before it,
    -1 for none."""
    return index_after(table.slots, key, _first) - 1


def unit_key(table: SlotTable, entry: int) -> int:
    """The key of an entry's unit; below 0 if the entry is in no unit, or there is no such entry."""
    return table.key_of(entry) if 0 <= entry < table.length else NO_UNIT


def with_range(ranges: tuple[tuple[int, int], ...], first: int, last: int) -> tuple[tuple[int, int], ...]:
    """Sorted ranges with one more. Ranges that overlap the new one are joined with it, so that none overlap."""
    start = bisect_left(ranges, first, key=lambda known: known[1])
    stop = bisect_right(ranges, last, key=lambda known: known[0])
    if start < stop:
        first, last = min(first, ranges[start][0]), max(last, ranges[stop - 1][1])
    return (*ranges[:start], (first, last), *ranges[stop:])


def path_to(table: SlotTable, key: int) -> tuple[Path, Unit]:
    """The unit with this key, and the folds over it, from the window down; no path if the unit is a slot itself."""
    path: Path = []
    slot = table.slots[slot_index(table, key)]
    while isinstance(slot, FoldedSlot):
        at, child = child_at(slot, key)
        path.append((slot, at))
        slot = child
    return path, slot


def units_of(table: SlotTable, keys: Iterable[int]) -> list[Unit]:
    """The units with these keys, in order. All of them are found in one descent, however deep folds are nested."""
    rising, found = sorted(keys), dict[int, Unit]()
    stack: list[tuple[Sequence[Slot], int, int]] = [(table.slots, 0, len(rising))]
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


def path_to_fold(table: SlotTable, seq: int, fold: Fold) -> Path | None:
    """The folds from the window down to the one with this seq, that one last; None if it is not live."""
    at = slot_index(table, fold.first)
    slot = table.slots[at] if at >= 0 else None
    path: Path = []
    while isinstance(slot, FoldedSlot):
        at, child = child_at(slot, fold.first)
        path.append((slot, at))
        if slot.seq == seq:
            return path
        slot = child
    return None


def open_unit(table: SlotTable, key: int) -> Unit:
    """The unit with this key, which must have open calls: then it is a slot itself, because no fold may hold it."""
    slot = table.slots[slot_index(table, key)]
    assert isinstance(slot, Unit), "an open unit is never folded"
    return slot


def fetch(table: SlotTable, seq: int) -> Entry:
    """The entry with this seq, from the log, with this table's token counts."""
    return counted(table, table.log[seq])


def entries_of(table: SlotTable, unit: Unit) -> tuple[Entry, ...]:
    """All entries of a unit. They are read from the log if a fold hides the unit."""
    return unit.entries if unit.entries is not None else tuple(fetch(table, seq) for seq in unit.seqs)


def unit_entry(table: SlotTable, seq: int) -> Entry | None:
    """The entry with this seq if it is in a unit; None otherwise. It is read from the log only if a fold hides the
    unit."""
    key = unit_key(table, seq)
    if key < 0:
        return None
    unit = path_to(table, key)[1]
    return fetch(table, seq) if unit.entries is None else unit.entries[bisect_left(unit.seqs, seq)]


_UNCOUNTED = (Sent, Forked, Approval, Pin, Undo, Opaque, Summary)
"""Bodies that have no token counts."""


def counted(table: SlotTable, entry: Entry) -> Entry:
    """The entry with this table's token counts: counted now if it has none, or another tokenizer's."""
    if entry.counter == table.counter.name or isinstance(entry.body, _UNCOUNTED):
        return entry
    return replace(entry, tokens=token_counts(table, entry.body), counter=table.counter.name)


def token_counts(table: SlotTable, body: Body) -> tuple[int, ...]:
    """Count the tokens of an entry's body, as `Entry.tokens` explains. A trim is counted as the part that it shows."""
    form = None
    if isinstance(body, Fold) and (compaction := compaction_of(table, body)) is not None:
        body = compaction
    if isinstance(body, Trim) and (entry := unit_entry(table, body.entry)) is not None:  # else it does not apply
        found = find_part(entry, body.part)
        form = apply_trim(found[0], body) if found else None
    return table.counter.count_body(body, form)


def compaction_of(table: SlotTable, fold: Fold) -> Assistant | None:
    """The provider's own compaction that a fold shows in place of its text: that of the summary which it names, in its
    own dialect. None for most folds, and in another dialect."""
    seq = fold.summary
    if seq is None or fold.summary_end or not 0 <= seq < table.length:
        return None
    summary = table.log[seq].body
    compaction = summary.compaction if isinstance(summary, Summary) else None
    return compaction if compaction is not None and compaction.dialect == table.counter.dialect else None


def compaction_unit(table: SlotTable, entry: Entry, fold: Fold) -> Unit | None:
    """The compaction that a fold shows, as a unit to be rendered. `entry`: the fold's, with its token counts."""
    if (turn := compaction_of(table, fold)) is None:
        return None
    shown = Entry(seq=entry.seq, at=entry.at, body=turn, tokens=entry.tokens, counter=entry.counter)
    return new_unit(fold.first, shown, messages=table.counter.messages(turn))
