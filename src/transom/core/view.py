"""The view: what the log shows. A value, and the fold of the log's entries, one after another.

`extend` gives the view after more entries and leaves this one as it was; it costs the new entries and a copy of the
visible slots, never the log. An edit that does not apply is inert: `refusal` says why, here and at append alike.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any, assert_never

from msgspec import json as msgjson
from msgspec.structs import replace

from transom.core.digest import Chain, prefixes
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.log import Log
from transom.core.message import (
    Assistant,
    Call,
    Fact,
    Failure,
    Handoff,
    Head,
    Instruction,
    Note,
    Opaque,
    Recalled,
    ToolResult,
    User,
    is_empty,
    said,
)
from transom.core.tokens import (
    MESSAGE_BYTES,
    NOTHING,
    REQUEST_TOKENS,
    Size,
    TokenCounter,
    count_body,
    head_size,
    part_bytes,
    text_bytes,
    trimmed,
)
from transom.core.unit import (
    Cut,
    Folded,
    Slot,
    Unit,
    answered,
    fold_over,
    labels,
    new_unit,
    part_of,
    resized,
    stow,
    surfaced,
)

NOT_SHOWN, STRAY, EMPTY, HIDDEN = -1, -2, -3, -4
"""What `unit_of` says of an entry that is in no unit: an edit or trace; a result without an open call; a message
without content; a fact that asked to be left out."""


class View:
    """The visible slots in key order, and what the planner must know about the log behind them."""

    __slots__ = (
        "broke",
        "chain",
        "counter",
        "dead",
        "first_task",
        "head",
        "keys",
        "late",
        "log",
        "made",
        "n",
        "newest_turn",
        "newest_user",
        "notes",
        "open",
        "ratio",
        "sent",
        "sent_tokens",
        "slots",
        "stable",
        "total",
        "unit_of",
    )

    def __init__(self, log: Log, counter: TokenCounter) -> None:
        self.log, self.counter = log, counter
        self.n = 0
        self.slots: list[Slot] = []
        self.keys: list[int] = []
        self.unit_of = array("q")
        self.total = Size(REQUEST_TOKENS, 0, 0, 0)
        self.head: Entry | None = None
        self.sent: Entry | None = None
        self.sent_tokens = 0
        self.open: dict[int, None] = {}
        self.newest_turn: int | None = None
        self.first_task: int | None = None
        self.newest_user: int | None = None
        self.notes: dict[str, tuple[int, str]] = {}
        self.made: dict[str, tuple[int, int]] = {}
        self.late: tuple[int, ...] = ()
        self.dead: tuple[int, ...] = ()
        self.stable = 0
        self.broke: tuple[int, int, str] | None = None
        self.ratio = 1.0
        self.chain = Chain()

    @staticmethod
    def of(log: Log, counter: TokenCounter, upto: int | None = None) -> View:
        """The view of a log's first `upto` entries: time travel is a smaller number."""
        stop = len(log) if upto is None else upto
        return View(log, counter).extend(log[seq] for seq in range(stop))

    def extend(self, entries: Iterable[Entry]) -> View:
        """The view after these entries. They must continue the log: their seqs are n, n + 1, …"""
        view = self._branch()
        for entry in entries:
            assert entry.seq == view.n, f"entry {entry.seq} after {view.n} entries"
            view.unit_of.append(NOT_SHOWN)
            _APPLY.get(type(entry.body), _ignore)(view, view._counted(entry))
            view.n += 1
        if view.chain.stale:
            view._revoid()
        return view

    def on(self, log: Log) -> View:
        """The same view over another keeper of the same entries."""
        view = self._branch()
        view.log = log
        return view

    def _branch(self) -> View:
        view = View.__new__(View)
        for name in View.__slots__:
            setattr(view, name, getattr(self, name))
        view.slots, view.keys = self.slots.copy(), self.keys.copy()
        if len(self.unit_of) != self.n:  # a younger view has grown the shared array: take our part of it
            view.unit_of = self.unit_of[: self.n]
        view.chain = self.chain.copy()
        return view

    # ---- reading

    def index(self, key: int) -> int:
        """The visible slot that holds the unit with this key, or would stand before it."""
        return bisect_right(self.keys, key) - 1

    def slot_of(self, entry: int) -> int | None:
        """The index of the visible slot that stands for an entry's unit, if it has one."""
        key = self.unit_of[entry] if 0 <= entry < self.n else NOT_SHOWN
        return None if key < 0 else self.index(key)

    def unit(self, key: int) -> Unit:
        """The unit with this key, visible or folded."""
        slot = self.slots[self.index(key)]
        while isinstance(slot, Folded):
            slot = _kid(slot, key)[1]
        return slot

    def visible(self, key: int) -> bool:
        """Shown by itself: not folded, or pinned out of its fold."""
        slot = self.slots[self.index(key)]
        return isinstance(slot, Unit) or any(unit.key == key for unit in slot.shown)

    def units(self) -> Iterator[Unit]:
        """The units that show, in order."""
        for slot in self.slots:
            if isinstance(slot, Unit):
                yield slot
            else:
                yield from slot.shown

    def entries_of(self, unit: Unit) -> tuple[Entry, ...]:
        """A unit's entries, fetched from the log if it is stowed."""
        return unit.entries if unit.entries is not None else tuple(self._fetch(seq) for seq in unit.seqs)

    def tool_of(self, unit: Unit, seq: int) -> Call | None:
        """The call that the result with this seq answers."""
        turn = self.entries_of(unit)[0].body
        index = unit.answers[unit.seqs.index(seq) - 1]
        return turn.calls[index] if isinstance(turn, Assistant) else None

    def entry_tokens(self, unit: Unit, seq: int) -> tuple[int, int]:
        """Tokens of one entry of a unit: whole, and as its cuts show it."""
        entry = self.entries_of(unit)[unit.seqs.index(seq)]
        whole = shown = sum(entry.tokens)
        for (owner, address), cut in unit.winning().items():
            if owner == seq and (found := part_of(entry, address)) is not None:
                shown += cut.tokens - found[1]
        return whole, shown

    def held(self, slot: Slot) -> bool:
        """Somebody took an edit of this place back and nothing covers it since: to be left alone."""
        return isinstance(slot, Unit) and any(self._covers(seq, slot) for seq in self.dead)

    def _covers(self, seq: int, unit: Unit) -> bool:
        edit = self._fetch(seq).body
        if isinstance(edit, Fold):
            return edit.first <= unit.key <= edit.last
        assert isinstance(edit, Trim)
        place = (edit.entry, edit.part)
        return edit.entry in unit.seqs and not any(cut.place == place and cut.seq > seq for cut in unit.cuts)

    def digest(self) -> str:
        """A hash of everything the window shows, head first."""
        return self.chain.digest(self.head, self.slots)

    # ---- the one predicate

    def refusal(self, edit: Edit) -> str | None:
        """Why an edit does not apply to this view, or None if it does. Inert in the fold, refused at append."""
        if isinstance(edit, Fold):
            return self._refuse_fold(edit)
        if isinstance(edit, Trim):
            return self._refuse_trim(edit)
        if isinstance(edit, Pin):
            return None if self.slot_of(edit.entry) is not None else f"entry {edit.entry} is in no unit"
        if isinstance(edit, Undo):
            return None if self._live(edit.edit) is not None else f"entry {edit.edit} is no live edit"
        assert_never(edit)

    def _refuse_fold(self, fold: Fold) -> str | None:
        i, j = self.index(fold.first), self.index(fold.last)
        if fold.first > fold.last or i < 0 or self.slots[i].first != fold.first or self.slots[j].last != fold.last:
            return f"no visible slots from {fold.first} to {fold.last}"
        if not fold.text.strip():
            return "a fold must show a text"
        if self.sent is not None and fold.last >= self.sent.seq:
            return f"its end {fold.last} is not before the request in flight, {self.sent.seq}"
        if any(fold.first <= key <= fold.last for key in self.open):
            return "a unit in it is open"
        saving = self.saving(i, j, ()).bytes - MESSAGE_BYTES - text_bytes(fold.text)
        return None if saving > 0 else f"it would add {-saving} bytes"

    def saving(self, i: int, j: int, spare: Iterable[int]) -> Size:
        """What folding slots i to j takes away, its text not counted; pinned units, and `spare` keys, surface again."""
        spared, size = set(spare), NOTHING
        for slot in self.slots[i : j + 1]:
            size = size.plus(slot.size)
            for unit in surfaced(slot):
                size = size.minus(unit.size)
            if isinstance(slot, Unit) and slot.key in spared and not slot.pins:
                size = size.minus(slot.size)
        return size

    def _refuse_trim(self, trim: Trim) -> str | None:
        if self.slot_of(trim.entry) is None:
            return f"entry {trim.entry} is in no unit"
        found = part_of(self._fetch(trim.entry), trim.part)
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
        if any(a >= b for a, b in trim.keep) or any(a[1] >= b[0] for a, b in zip(trim.keep, trim.keep[1:], strict=False)):
            return "spans must be rising and apart"
        if trim.keep and (trim.keep[0][0] < 0 or trim.keep[-1][1] > len(part.text)):
            return f"spans reach beyond the text of {len(part.text)} characters"
        form = trimmed(part, trim)
        return None if form is None or part_bytes(form) < part_bytes(part) else "it would not be shorter"

    # ---- the fold, one kind of entry at a time

    def _fetch(self, seq: int) -> Entry:
        return self._counted(self.log[seq])

    def _counted(self, entry: Entry) -> Entry:
        """An entry that came without counts, or with another tokenizer's, gets this view's."""
        if entry.counter == self.counter.name or isinstance(entry.body, (Sent, Pin, Undo, Opaque)):
            return entry
        form = None
        if isinstance(entry.body, Trim) and 0 <= entry.body.entry < self.n:
            found = part_of(self._fetch(entry.body.entry), entry.body.part)
            form = trimmed(found[0], entry.body) if found else None
        return replace(entry, tokens=count_body(entry.body, self.counter, form), counter=self.counter.name)

    def _touch(self, at: int, entry: Entry, why: str) -> None:
        self.chain.cut(at)
        if at < self.stable:
            self.stable, self.broke = at, (at, entry.seq, why)

    def _put(self, at: int, slot: Slot) -> None:
        self.total = self.total.plus(slot.size).minus(self.slots[at].size)
        self.slots[at] = slot

    def _add(self, unit: Unit) -> None:
        at = self.index(unit.key) + 1
        if at == len(self.slots):
            self.slots.append(unit)
            self.keys.append(unit.key)
        else:
            self.slots.insert(at, unit)
            self.keys.insert(at, unit.key)
            self.chain.cut(at)
            self.stable = min(self.stable, at)
        if unit.bound:
            self.chain.bind()
        self.total = self.total.plus(unit.size)

    def _fact(self, entry: Entry, key: int | None = None, bound: str = "") -> Unit | None:
        body = entry.body
        assert isinstance(body, Fact)
        if entry.meta is not None and not entry.meta.include_in_context:
            self.unit_of[-1] = HIDDEN
        elif is_empty(body):
            self.unit_of[-1] = EMPTY
        else:
            unit = new_unit(entry.seq if key is None else key, entry, bound)
            self.unit_of[-1] = unit.key
            self._add(unit)
            return unit
        return None

    def _plain(self, entry: Entry) -> None:
        self._fact(entry)

    def _user(self, entry: Entry) -> None:
        if (unit := self._fact(entry)) is not None:
            self.newest_user = unit.key
            if self.first_task is None:
                self.first_task = unit.key

    def _note(self, entry: Entry) -> None:
        assert isinstance(entry.body, Note)
        self._fact(entry)
        if entry.body.key:
            self.notes = {**self.notes, entry.body.key: (entry.seq, entry.body.text)}
        else:
            self.late = tuple(seq for seq in self.late if seq not in entry.body.refs)

    def _reply_key(self, answers: int | None) -> tuple[int | None, str]:
        if answers is None or self.sent is None or self.sent.seq != answers:
            return None, ""
        sent, self.sent = self.sent, None
        assert isinstance(sent.body, Sent)
        return answers, sent.body.digest

    def _assistant(self, entry: Entry) -> None:
        body = entry.body
        assert isinstance(body, Assistant)
        key, digest = self._reply_key(body.answers)
        if key is not None and body.usage is not None and body.usage.prompt and self.sent_tokens:
            seen = body.usage.prompt / self.sent_tokens
            self.ratio += 0.2 * (min(2.0, max(0.5, seen)) - self.ratio)
        bound = digest if any(thought.bound for thought in body.reasoning) else ""
        unit = self._fact(entry, key, bound)
        if unit is None:
            return
        self.newest_turn = unit.key
        if body.calls:
            self.open = {**self.open, unit.key: None}
            extra = self._relabelled(body, unit.key)
            if extra is not NOTHING:
                at = self.index(unit.key)
                self._put(at, replace(unit, whole=unit.whole.plus(extra), size=unit.size.plus(extra)))

    def _relabelled(self, body: Assistant, key: int) -> Size:
        """What new labels for empty or repeated ids add to the size of a turn."""
        extra = NOTHING
        for call, label in zip(body.calls, labels(body.calls, key), strict=True):
            if call.id != label:
                count = self.counter.count
                extra = extra.plus(Size(count(label) - count(call.id), text_bytes(label) - text_bytes(call.id)))
        return extra

    def _failure(self, entry: Entry) -> None:
        assert isinstance(entry.body, Failure)
        key, _ = self._reply_key(entry.body.answers)
        self._fact(entry, key)

    def _result(self, entry: Entry) -> None:
        body = entry.body
        assert isinstance(body, ToolResult)
        place = self._place(body)
        if entry.meta is not None and not entry.meta.include_in_context:
            self.unit_of[-1] = HIDDEN
            return
        if place is None:
            self.unit_of[-1] = STRAY
            if not body.made and body.call in self.made:
                self.late = (*self.late, entry.seq)
                self.made = {label: at for label, at in self.made.items() if label != body.call}
            return
        key, index = place
        at = self.index(key)
        unit = self.slots[at]
        assert isinstance(unit, Unit)
        turn = unit.head
        assert isinstance(turn, Assistant)
        label, extra = labels(turn.calls, key)[index], NOTHING
        if label != body.call:
            count = self.counter.count
            extra = Size(count(label) - count(body.call), text_bytes(label) - text_bytes(body.call))
        unit = answered(unit, index, entry, extra)
        self.unit_of[-1] = key
        self._put(at, unit)
        self.chain.cut(at, prefix=at < len(self.slots) - 1)
        if not unit.missing:
            self.open = {k: None for k in self.open if k != key}
        if body.made:
            self.made = {**self.made, body.call: place}

    def _place(self, body: ToolResult) -> tuple[int, int] | None:
        """The open call a result answers: by place if it is ours, else by label in the newest turn."""
        if body.place is not None:
            key, index = body.place
            return body.place if key in self.open and index in self._open_unit(key).missing else None
        if self.newest_turn is None or self.newest_turn not in self.open:
            return None
        unit = self._open_unit(self.newest_turn)
        turn = unit.head
        assert isinstance(turn, Assistant)
        for index in unit.missing:
            call = turn.calls[index]
            name = body.extra.get("name") if body.extra else None
            if call.legacy == body.legacy and (call.id == body.call if not call.legacy else name in {None, call.name}):
                return unit.key, index
        return None

    def _open_unit(self, key: int) -> Unit:
        slot = self.slots[self.index(key)]
        assert isinstance(slot, Unit), "an open unit is never folded"
        return slot

    def _head(self, entry: Entry) -> None:
        assert isinstance(entry.body, Head)
        was = self._head_size()
        if self.sent is not None or self.stable or self.head is not None:
            self.stable, self.broke = -1, (-1, entry.seq, "head")
        self.head = entry
        self.chain.cut(-1)
        self.total = self.total.plus(self._head_size()).minus(was)

    def _head_size(self) -> Size:
        if self.head is None:
            return NOTHING
        assert isinstance(self.head.body, Head)
        return head_size(self.head.body, self.head.tokens[0])

    def _sent(self, entry: Entry) -> None:
        assert isinstance(entry.body, Sent)
        self.sent, self.sent_tokens = entry, entry.body.tokens
        self.stable, self.broke = len(self.slots), None

    def _edit(self, entry: Entry) -> None:
        edit = entry.body
        assert isinstance(edit, (Fold, Trim, Pin, Undo))
        if self.refusal(edit) is not None:
            return
        if isinstance(edit, Fold):
            self._fold(entry, edit)
        elif isinstance(edit, Trim):
            self._trim(entry, edit)
        elif isinstance(edit, Pin):
            self._change(entry, self.unit_of[edit.entry], edit.why or "pin", lambda u: _with_pin(u, entry.seq))
        else:
            self._undo(entry, edit)

    def _fold(self, entry: Entry, fold: Fold) -> None:
        i, j = self.index(fold.first), self.index(fold.last)
        text = Size(entry.tokens[0], MESSAGE_BYTES + text_bytes(fold.text), 0, 1)
        folded = fold_over(entry, tuple(self.slots[i : j + 1]), fold, text)
        self._splice(i, j, [folded], entry, fold.why or "fold")

    def _splice(self, i: int, j: int, slots: list[Slot], entry: Entry, why: str) -> None:
        for slot in self.slots[i : j + 1]:
            self.total = self.total.minus(slot.size)
        for slot in slots:
            self.total = self.total.plus(slot.size)
        self.slots[i : j + 1] = slots
        self.keys[i : j + 1] = [slot.first for slot in slots]
        self._touch(i, entry, why)

    def _trim(self, entry: Entry, trim: Trim) -> None:
        found = part_of(self._fetch(trim.entry), trim.part)
        assert found is not None
        form = trimmed(found[0], trim)
        cut = Cut(entry.seq, trim, entry.tokens[0] if entry.tokens else 0, 0 if form is None else part_bytes(form))
        why = trim.why or "trim"
        self._change(entry, self.unit_of[trim.entry], why, lambda u: self._recut(u, (*u.cuts, cut)))

    def _recut(self, unit: Unit, cuts: tuple[Cut, ...]) -> Unit:
        return resized(replace(unit, cuts=cuts), self.entries_of(unit))

    def _change(self, entry: Entry, key: int, why: str, change: Callable[[Unit], Unit]) -> None:
        """Replace a unit wherever it stands; the folds above it are made again, from the inside out."""
        at = self.index(key)
        path: list[tuple[Folded, int]] = []
        slot = self.slots[at]
        while isinstance(slot, Folded):
            i, kid = _kid(slot, key)
            path.append((slot, i))
            slot = kid
        self._rebuild(entry, at, path, (self._dressed(change(slot)),), why)

    def _dressed(self, unit: Unit) -> Unit:
        """A unit as it must be if it shows: with its entries."""
        return unit if unit.entries is not None else replace(unit, entries=self.entries_of(unit))

    def _rebuild(self, entry: Entry, at: int, path: list[tuple[Folded, int]], new: tuple[Slot, ...], why: str) -> None:
        """Put `new` where the path leads, and the folds on the way anew."""
        was = self.slots[at]
        for folded, i in reversed(path):
            kids = (*folded.kids[:i], *new, *folded.kids[i + 1 :])
            kids = tuple(k if isinstance(k, Unit) and k.pins else stow(k) for k in kids)
            shown = tuple(unit for kid in kids for unit in surfaced(kid))
            size = Size(folded.tokens, MESSAGE_BYTES + text_bytes(folded.text), 0, 1)
            for unit in shown:
                size = size.plus(unit.size)
            new = (replace(folded, kids=kids, shown=shown, size=size, cache=None),)
        if len(new) == 1 and _looks(was) == _looks(new[0]):
            self._put(at, new[0])
        else:
            self._splice(at, at, list(new), entry, why)

    def _undo(self, entry: Entry, undo: Undo) -> None:
        target = self._fetch(undo.edit)
        edit, seq, why = target.body, target.seq, undo.why or "undo"
        if isinstance(edit, Pin):
            self._change(entry, self.unit_of[edit.entry], why, lambda u: _without_pin(u, seq))
            return
        self.dead = (*self.dead, seq)
        if isinstance(edit, Trim):
            key = self.unit_of[edit.entry]
            self._change(entry, key, why, lambda u: self._recut(u, tuple(c for c in u.cuts if c.seq != seq)))
            return
        found = self._live(seq)
        assert isinstance(edit, Fold)
        assert isinstance(found, list)
        folded, _ = found[-1]
        path = found[:-1]
        kids = folded.kids if path else tuple(self._dressed(k) if isinstance(k, Unit) else k for k in folded.kids)
        self._rebuild(entry, self.index(edit.first), path, kids, why)

    def _live(self, seq: int) -> list[tuple[Folded, int]] | Unit | None:
        """Where a live edit is: the way down to a fold, or the unit that carries a trim or pin; None if it is not."""
        edit = self._fetch(seq).body if 0 <= seq < self.n else None
        if isinstance(edit, (Trim, Pin)):
            if self.slot_of(edit.entry) is None:
                return None
            unit = self.unit(self.unit_of[edit.entry])
            return unit if seq in unit.pins or any(cut.seq == seq for cut in unit.cuts) else None
        if not isinstance(edit, Fold) or self.index(edit.first) < 0:
            return None
        path: list[tuple[Folded, int]] = []
        slot = self.slots[self.index(edit.first)]
        while isinstance(slot, Folded):
            at, kid = _kid(slot, edit.first)
            path.append((slot, at))
            if slot.seq == seq:
                return path
            slot = kid
        return None

    def _revoid(self) -> None:
        """Bound reasoning shows only on the very prefix it was made on (law 13): look again after a break."""
        for at, digest in prefixes(self.head, self.slots):
            slot = self.slots[at]
            if isinstance(slot, Unit) and slot.bound and slot.voided != (digest != slot.bound):
                assert slot.entries is not None
                self._put(at, resized(replace(slot, voided=not slot.voided), slot.entries))
                self.chain.cut(at)
        self.chain.stale = False


def _ignore(view: View, entry: Entry) -> None:
    pass


def _is_json(text: str) -> bool:
    try:
        msgjson.decode(text)
    except ValueError:
        return False
    return True


def _kid(folded: Folded, key: int) -> tuple[int, Slot]:
    at = bisect_right(folded.kids, key, key=lambda kid: kid.first) - 1
    return at, folded.kids[at]


def _looks(slot: Slot) -> Any:
    """What an edit can change in how a slot looks: a fold's text and the units that surface, a unit's winning cuts."""
    if isinstance(slot, Folded):
        return slot.seq, [_looks(unit) for unit in slot.shown]
    return slot.key, slot.voided, {place: cut.rank for place, cut in slot.winning().items()}


def _with_pin(unit: Unit, seq: int) -> Unit:
    return replace(unit, pins=(*unit.pins, seq))


def _without_pin(unit: Unit, seq: int) -> Unit:
    return replace(unit, pins=tuple(pin for pin in unit.pins if pin != seq))


_APPLY: dict[type, Callable[[View, Entry], None]] = {
    User: View._user,
    Assistant: View._assistant,
    ToolResult: View._result,
    Note: View._note,
    Failure: View._failure,
    Head: View._head,
    Sent: View._sent,
    Fold: View._edit,
    Trim: View._edit,
    Pin: View._edit,
    Undo: View._edit,
    Instruction: View._plain,
    Recalled: View._plain,
    Handoff: View._plain,
}
