"""Finds things in a view: the slot of a unit, the unit of an entry, an entry with its counts.

`SlotTable` is the base class of `View`, and of the `ViewBuilder` of the next view.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct, field
from msgspec.structs import force_setattr, replace

from transom.cache_prices import SinceBreak
from transom.core.calibration import Calibration
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Approval, Body, CallPlace, Entry, Forked, Sent
from transom.core.folded_slot import Path, child_at
from transom.core.learned_limit import LearnedLimit
from transom.core.log import Log
from transom.core.message import Assistant, Opaque
from transom.core.persistent import IntVector, index_after
from transom.core.prefix_fingerprint import extended
from transom.core.summary import Summaries, Summary
from transom.core.tokens import ZERO, FormatCounter, Size
from transom.core.trims import apply_trim, find_part
from transom.core.unit import FoldedSlot, Slot, Unit, new_unit
from transom.core.usage import TotalUsage

NO_UNIT, STRAY_RESULT, EMPTY_MESSAGE, HIDDEN_MESSAGE = -1, -2, -3, -4
"""What stands in place of a unit's key for an entry that is in no unit.

`NO_UNIT`: an edit, a trace, a head, an unknown kind, or a number outside the log. `STRAY_RESULT`: a result without an
open call. `EMPTY_MESSAGE`: a message without content. `HIDDEN_MESSAGE`: a fact that is not to be in context.
"""

_first = attrgetter("first")
_EMPTY: Mapping[Any, Any] = {}

_UNCOUNTED = (Sent, Forked, Approval, Pin, Undo, Opaque, Summary)
"""Bodies that have no token counts."""


class SlotTable(Struct, eq=False):
    """What a view and the builder of the next view have in common: all the fields of a view.

    Most methods take the key of a unit, and need one that exists. Those that take a seq say what they return for an
    entry that is in no unit.
    """

    log: Log
    counter: FormatCounter
    total: Size
    """The size of the window, with head and request overhead; raw tokens."""
    slots: tuple[Slot, ...] = ()
    """The slots of the window, in key order: units and `FoldedSlot`s."""
    unit_of: IntVector = field(default_factory=IntVector)
    """For each entry of the log the key of its unit; below 0 if it is in none (see `NO_UNIT`, `STRAY_RESULT`,
    `EMPTY_MESSAGE`, `HIDDEN_MESSAGE`)."""
    head_entry: Entry | None = None
    """The entry of the newest head; None if there is none."""
    head_size: Size = ZERO
    """The size of the head."""
    live_edits: IntVector = field(default_factory=IntVector)
    """The seqs of the folds, trims and pins that apply and were not undone, rising."""
    restored: tuple[tuple[int, int], ...] = ()
    """Ranges of keys where folds were undone; they rise and do not overlap."""
    notes: Mapping[str, tuple[int, str]] = _EMPTY
    """For each key of state the seq and the text of its newest note."""
    summaries: Summaries = field(default_factory=Summaries)
    """What is known of the log's summaries."""
    usage: TotalUsage = TotalUsage()
    """What the requests of the log took, whatever became of their replies."""
    hashed: tuple[int, Any] | None = None
    """How many of the first slots `fingerprint` has hashed, with the head, and the hash object; None: nothing."""

    # ---- tool calls that have no real result

    open_units: tuple[int, ...] = ()
    """The keys of the units that have calls without a result, rising."""
    synthetic_results: Mapping[str, tuple[int, int]] = _EMPTY
    """By provider's id: the calls that a late result may still answer, because a synthetic result has closed them. Each
    with the key of the turn and the index of the call."""
    late_results: Mapping[int, tuple[int, int]] = _EMPTY
    """The real results that came after a synthetic one and that no note has given to the model yet: by the seq of the
    result, rising, the key of the turn and the index of the call."""
    approvals: Mapping[CallPlace, tuple[int, str]] = _EMPTY
    """The calls that need or needed a person's approval and have no real result in their turn (a synthetic one may say
    that the call waits). Each with the seq of its newest `Approval` and the state: that of the entry, or "answered" if
    the result came late."""
    waiting: Mapping[str, int] = _EMPTY
    """The calls of the provider's own tools whose results come in a later turn, by id; each with the key of the unit
    that made it."""
    spans: tuple[tuple[int, int], ...] = ()
    """The spans of such calls: from the key of the unit that made a call to the key of the one with its result. They
    are sorted, and do not overlap."""

    # ---- what was sent last, how much of it the window still begins with, and what the replies have taught

    in_flight: Entry | None = None
    """The `Sent` of the request that has no reply yet; None if no request is in flight."""
    sent_tokens: int = 0
    """The raw tokens of the request that was sent last; 0 before the first."""
    sent_fingerprint: str = ""
    """The fingerprint of the request that was sent last; empty before the first."""
    shared_slots: int = 0
    """How many slots, from the first on, are as the last request had them. 0 before the first request, or if the first
    slot has changed; -1 if the head has changed."""
    first_break: tuple[int, int, str] | None = None
    """The index of the first slot that differs from the last request (-1: the head), the seq of the entry that changed
    it, and why. None: nothing differs."""
    since_break: SinceBreak = SinceBreak()
    """Token sums of the requests since the cached prefix last broke; they say when a compaction pays."""
    token_calibration: Calibration = Calibration()
    """How the provider's token counts compare with ours."""
    has_signed: bool = False
    """Whether any turn of the log has reasoning that is bound to the exact prefix that it was made on."""
    newest_signed: int = -1
    """No unit behind this key shows bound reasoning."""
    model_limits: Mapping[str, LearnedLimit] = _EMPTY
    """What a request to a model may have, by "provider:model": of models that refused one as too long. If the provider
    did not say its limit, it is derived from the size of what was refused."""
    refused_reasoning: Mapping[str, int] = _EMPTY
    """By "provider:model": what is known of a model that refused reasoning and has taken none since. See
    `refused_reasoning.after_refusal`."""

    # ---- the units that plans treat specially; where the provider has compacted, those behind its compaction

    first_task: tuple[int, ...] = ()
    """The keys of the user's messages before the model's first answer; at most the first eight. Messages that a program
    injected do not count. Where the provider has compacted, only what is behind its compaction counts."""
    first_answer: int | None = None
    """The key of the model's first answer to the first task; None if there is none."""
    newest_user: int | None = None
    """The key of the newest user message; None if there is none. A message that a program injected does not count, nor
    one that the provider has compacted."""
    compaction: int | None = None
    """The key of the newest turn with the provider's own compaction; None if there is none. What precedes it is not
    shown, and no fold takes it."""
    newest_unit: int = -1
    """The key of the newest unit that is no note, recalled text or handoff; -1 if there is none."""

    @property
    def length(self) -> int:
        """How many entries of the log were applied: the slots show what the first `length` entries say."""
        return len(self.unit_of)

    def key_of(self, entry: int) -> int:
        """The key of the unit of an entry; below 0 if it is in none (see `NO_UNIT`). The log must have the entry."""
        return self.unit_of[entry]

    def fingerprint(self) -> str:
        """A hash of everything that the window shows, head first, in hexadecimal."""
        hashed = extended(self.hashed, self.head_entry, self.slots)
        force_setattr(self, "hashed", hashed)  # one step: another thread sees the old or the new
        return hashed[1].hexdigest()

    # ---- where things are

    def slot_index(self, key: int) -> int:
        """The index of the slot that holds the unit with this key. If no slot holds it, the index of the last slot
        before it; -1 if there is none."""
        return index_after(self.slots, key, _first) - 1

    def unit_key(self, entry: int) -> int:
        """The key of an entry's unit; below 0 if the entry is in no unit, or there is no such entry."""
        return self.key_of(entry) if 0 <= entry < self.length else NO_UNIT

    def path_to(self, key: int) -> tuple[Path, Unit]:
        """Return the folds over the unit with this key, and the unit. The folds are a list, the outermost first, each
        with the index of the child that leads on; it is empty if the unit is a slot itself. A unit that a fold hides
        has no entries."""
        path: Path = []
        slot = self.slots[self.slot_index(key)]
        while isinstance(slot, FoldedSlot):
            at, child = child_at(slot, key)
            path.append((slot, at))
            slot = child
        return path, slot

    def unit(self, key: int) -> Unit:
        """The unit with this key, visible or folded. One that a fold hides has no entries (`Unit.entries` is None):
        `entries_of` reads them."""
        return self.path_to(key)[1]

    def units(self, keys: Iterable[int]) -> list[Unit]:
        """The units with these keys, visible or folded, in order of their keys; a key that is given twice gives its
        unit twice. Units that a fold hides have no entries. One descent finds all of them, however deep folds are
        nested."""
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
        """The folds from the window down to this fold, which is the last of them, each with the index of the child that
        leads to `fold.first`. None if the fold is not live. `seq`: the seq of the fold's entry."""
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
