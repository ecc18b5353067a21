"""The view: what the log shows, as a value. `folding.fold` makes the next one from it.

An edit that does not apply is inert: `refusal` says why, in the fold and at append alike.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec import json as msgjson
from msgspec.structs import replace

from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Body, Entry, Meta, Sent
from transom.core.log import Log
from transom.core.message import Assistant, Call, Head, Opaque
from transom.core.prefix_digest import PrefixDigest
from transom.core.prices import SinceBreak
from transom.core.tokens import (
    MESSAGE_BYTES,
    ZERO,
    FormatCounter,
    Size,
    TokenCounter,
    apply_trim,
    part_bytes,
    text_bytes,
)
from transom.core.unit import Folded, Slot, Unit, find_part, pinned_units_in, surfaced

NOT_SHOWN, STRAY, EMPTY, HIDDEN = -1, -2, -3, -4
"""What `unit_of` says of an entry that is in no unit: an edit or trace; a result without an open call; a message
without content; a fact that asked to be left out."""

_NO_HEAD = Head()

Path = list[tuple[Folded, int]]
"""The way down through nested folds: each with the index of the kid that leads on."""


class View(Struct, eq=False):
    """The visible slots in key order, and what the planner must know about the log behind them."""

    log: Log
    counter: FormatCounter
    total: Size
    length: int = 0
    slots: list[Slot] = []
    keys: list[int] = []
    """Of the slots, and behind them perhaps of younger views': only its end grows, any other change makes a new one."""
    unit_of: array[int] = field(default_factory=lambda: array("q"))
    head_entry: Entry | None = None
    head_size: Size = ZERO
    in_flight: Entry | None = None
    sent_tokens: int = 0
    sent_digest: str = ""
    since_break: SinceBreak = SinceBreak()
    open_units: dict[int, None] = {}
    first_task: int | None = None
    newest_user: int | None = None
    newest_unit: int = -1
    """The key of the newest unit. Recency is measured without notes (law 8); -1: there is none."""
    notes: dict[str, tuple[int, str]] = {}
    synthetic_results: dict[str, tuple[int, int]] = {}
    """Labels of calls that were closed by made answers, with their places."""
    late_results: tuple[tuple[int, tuple[int, int]], ...] = ()
    """Real answers that came after a made one, with the place of their call, until a note says them."""
    undone: tuple[tuple[int, Fold | Trim], ...] = ()
    """Folds (without their text) and trims that were taken back."""
    shared_slots: int = 0
    first_break: tuple[int, int, str] | None = None
    calibration: float = 1.0
    prefix_digest: PrefixDigest = field(default_factory=PrefixDigest)

    @staticmethod
    def empty(log: Log, counter: TokenCounter) -> View:
        """The view of none of a log's entries."""
        measure = counter if isinstance(counter, FormatCounter) else FormatCounter(counter)
        return View(log, measure, Size(measure.request))

    def with_log(self, log: Log) -> View:
        """The same view over another keeper of the same entries."""
        view = self.branch()
        view.log = log
        return view

    def branch(self) -> View:
        """A copy whose own part may be changed; what it shares is frozen or only grows."""
        view = replace(self, slots=self.slots.copy(), prefix_digest=replace(self.prefix_digest))
        if len(self.keys) != len(self.slots):  # a younger view has grown what is shared: take our part of it
            view.keys = self.keys[: len(self.slots)]
        if len(self.unit_of) != self.length:
            view.unit_of = self.unit_of[: self.length]
        return view

    def __repr__(self) -> str:
        return f"View({self.length} entries, {len(self.slots)} slots, {self.total.tokens} tokens)"

    # ---- reading

    @property
    def head(self) -> Head:
        """What stands before the slots: instructions and tools, if there are any."""
        head = self.head_entry.body if self.head_entry is not None else None
        return head if isinstance(head, Head) else _NO_HEAD

    def slot_index(self, key: int) -> int:
        """The visible slot that holds the unit with this key, or would stand before it."""
        return bisect_right(self.keys, key, 0, len(self.slots)) - 1

    def slot_of(self, entry: int) -> int | None:
        """The index of the visible slot that stands for an entry's unit, if it has one."""
        key = self.unit_of[entry] if 0 <= entry < self.length else NOT_SHOWN
        return None if key < 0 else self.slot_index(key)

    def unit(self, key: int) -> Unit:
        """The unit with this key, visible or folded."""
        slot = self.slots[self.slot_index(key)]
        while isinstance(slot, Folded):
            slot = child_at(slot, key)[1]
        return slot

    def is_visible(self, key: int) -> bool:
        """Shown by itself: not folded, or pinned out of its fold."""
        slot = self.slots[self.slot_index(key)]
        return isinstance(slot, Unit) or any(unit.key == key for unit in slot.surfaced_units)

    def is_present(self, key: int) -> bool:
        """Visible, or carried as an excerpt in the text of the fold that shows."""
        slot = self.slots[self.slot_index(key)]
        return isinstance(slot, Unit) or key in slot.carries or self.is_visible(key)

    def visible_units(self) -> Iterator[Unit]:
        """The units that show, in order."""
        for slot in self.slots:
            if isinstance(slot, Unit):
                yield slot
            else:
                yield from slot.surfaced_units

    def entries_of(self, unit: Unit) -> tuple[Entry, ...]:
        """A unit's entries, fetched from the log if it is stowed."""
        return unit.entries if unit.entries is not None else tuple(self.fetch(seq) for seq in unit.seqs)

    def call_of(self, unit: Unit, seq: int) -> Call | None:
        """The call that the result with this seq answers."""
        turn = self.entries_of(unit)[0].body
        index = unit.answered_calls[unit.seqs.index(seq) - 1]
        return turn.calls[index] if isinstance(turn, Assistant) else None

    def entry_tokens(self, unit: Unit, seq: int) -> tuple[int, int]:
        """Tokens of one entry of a unit: whole, and as its cuts show it."""
        new_entry = self.entries_of(unit)[unit.seqs.index(seq)]
        whole = shown = sum(new_entry.tokens)
        for (owner, address), cut in unit.effective_trims().items():
            if owner == seq and (found := find_part(new_entry, address)) is not None:
                shown += cut.tokens - found[1]
        return whole, shown

    def user_restored(self, slot: Slot) -> bool:
        """Somebody took an edit of this place back and nothing covers it since: to be left alone."""
        return isinstance(slot, Unit) and any(self._covers(seq, edit, slot) for seq, edit in self.undone)

    @staticmethod
    def _covers(seq: int, edit: Fold | Trim, unit: Unit) -> bool:
        if isinstance(edit, Fold):
            return edit.first <= unit.key <= edit.last
        place = (edit.entry, edit.part)
        return edit.entry in unit.seqs and not any(cut.place == place and cut.seq > seq for cut in unit.trims)

    def digest(self) -> str:
        """A hash of everything the window shows, head first."""
        return self.prefix_digest.digest(self.head_entry, self.slots)

    # ---- the one predicate

    def refusal(self, edit: Edit) -> str | None:
        """Why an edit does not apply to this view, or None if it does. Inert in the fold, refused at append."""
        if isinstance(edit, Fold):
            return self._refuse_fold(edit)
        if isinstance(edit, Trim):
            return self._refuse_trim(edit)
        if isinstance(edit, Pin):
            return None if self.slot_of(edit.entry) is not None else f"entry {edit.entry} is in no unit"
        return None if self.is_live(edit.edit) else f"entry {edit.edit} is no live edit"

    def _refuse_fold(self, fold: Fold) -> str | None:
        i, j = self.slot_index(fold.first), self.slot_index(fold.last)
        if fold.first > fold.last or i < 0 or self.slots[i].first != fold.first or self.slots[j].last != fold.last:
            return f"no visible slots from {fold.first} to {fold.last}"
        if not fold.text.strip():
            return "a fold must show a text"
        if self.in_flight is not None and fold.last >= self.in_flight.seq:
            return f"its end {fold.last} is not before the request in flight, {self.in_flight.seq}"
        if any(fold.first <= key <= fold.last for key in self.open_units):
            return "a unit in it is open"
        saving = -MESSAGE_BYTES - text_bytes(fold.text)
        for slot in self.slots[i : j + 1]:
            saving += slot.size.bytes - sum(unit.size.bytes for unit in surfaced(pinned_units_in(slot), fold.carries))
        return None if saving > 0 else f"it would add {-saving} bytes"

    def _refuse_trim(self, trim: Trim) -> str | None:
        if self.slot_of(trim.entry) is None:
            return f"entry {trim.entry} is in no unit"
        found = find_part(self.fetch(trim.entry), trim.part)
        if found is None:
            return f"entry {trim.entry} has no part {trim.part[0]}[{trim.part[1]}]"
        part, _ = found
        kind = trim.part[0]
        if trim.keep and kind != "text":
            return f"only a text keeps spans, not {kind}"
        if not trim.note and kind not in {"text", "reasoning"}:
            return f"{kind} needs a note in its place"
        if not trim.keep and not trim.note.strip() and kind == "text":
            return "nothing would be shown of a text"
        if kind == "args" and not _is_json(trim.note):
            return "the note in place of arguments must be JSON"
        if any(a >= b for a, b in trim.keep) or any(
            a[1] >= b[0] for a, b in zip(trim.keep, trim.keep[1:], strict=False)
        ):
            return "spans must be rising and apart"
        if trim.keep and (trim.keep[0][0] < 0 or trim.keep[-1][1] > len(part.text)):
            return f"spans reach beyond the text of {len(part.text)} characters"
        form = apply_trim(part, trim)
        return None if form is None or part_bytes(form) < part_bytes(part) else "it would not be shorter"

    # ---- where things are

    def fetch(self, seq: int) -> Entry:
        return self.counted(self.log[seq])

    def entry(self, body: Body, at: float, meta: Meta | None = None) -> Entry:
        """The next entry of the log, counted."""
        name = self.counter.name
        return Entry(seq=self.length, at=at, body=body, tokens=self._count(body), counter=name, meta=meta)

    def counted(self, entry: Entry) -> Entry:
        """An entry that came without counts, or with another tokenizer's, gets this view's."""
        if entry.counter == self.counter.name or isinstance(entry.body, (Sent, Pin, Undo, Opaque)):
            return entry
        return replace(entry, tokens=self._count(entry.body), counter=self.counter.name)

    def _count(self, body: Body) -> tuple[int, ...]:
        form = None
        if isinstance(body, Trim) and self.slot_of(body.entry) is not None:  # else it does not apply
            found = find_part(self.fetch(body.entry), body.part)
            form = apply_trim(found[0], body) if found else None
        return self.counter.count_body(body, form)

    def open_unit(self, key: int) -> Unit:
        """The unit with this key, which has open calls, so that no fold holds it."""
        slot = self.slots[self.slot_index(key)]
        assert isinstance(slot, Unit), "an open unit is never folded"
        return slot

    def is_live(self, seq: int) -> bool:
        """Whether the entry is a fold, trim or pin that applies and was not taken back."""
        edit = self.fetch(seq).body if 0 <= seq < self.length else None
        if isinstance(edit, Fold):
            return self.path_to_fold(seq, edit) is not None
        if not isinstance(edit, (Trim, Pin)) or self.slot_of(edit.entry) is None:
            return False
        unit = self.unit(self.unit_of[edit.entry])
        return seq in unit.pins or any(cut.seq == seq for cut in unit.trims)

    def path_to_fold(self, seq: int, fold: Fold) -> Path | None:
        """The way down to a live fold, itself last; None if it is not live."""
        if self.slot_index(fold.first) < 0:
            return None
        path: Path = []
        slot = self.slots[self.slot_index(fold.first)]
        while isinstance(slot, Folded):
            at, kid = child_at(slot, fold.first)
            path.append((slot, at))
            if slot.seq == seq:
                return path
            slot = kid
        return None


def _is_json(text: str) -> bool:
    try:
        msgjson.decode(text)
    except ValueError:
        return False
    return True


def child_at(folded: Folded, key: int) -> tuple[int, Slot]:
    """The slot under a fold that holds the unit with this key, and its index."""
    at = bisect_right(folded.children, key, key=lambda kid: kid.first) - 1
    return at, folded.children[at]
