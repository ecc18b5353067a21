"""A second implementation of the view, slow and simple: written from the definitions, not from the code of `core`.

`appearance(log, counter)` is what a log shows. From entry to entry it remembers only which edits apply and which were
undone. Everything visible is computed again after every entry. Where the definitions do not decide, the oracle does
what the core does, and a comment says so ("undefined: …").

Only `check_definition`, which compares the two, may use the core's view, reducer or sizes: otherwise one mistake could
hide in both.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from oracle_parts import (
    BYTES_PER_MESSAGE,
    PER_MESSAGE,
    PER_REQUEST,
    fact_sizes,
    is_empty,
    is_json,
    part_size,
    parts_of,
    shown_fact,
    total,
    trimmed,
    utf8,
)
from transom.core.codec import plain
from transom.core.edit import Edit, Fold, Pin, Trim, Undo
from transom.core.entry import Approval, Entry, Forked, Sent
from transom.core.message import REASONING_REFUSED, Assistant, Call, Fact, Failure, Head, Media, Note, ToolResult, User
from transom.core.reducer import apply
from transom.core.summary import Summary
from transom.core.tokens import FormatCounter, Size, TokenCounter
from transom.core.view import View
from transom.testing.fakes import Entries
from transom.testing.laws import COUNTER
from transom.testing.view_appearance import Appearance, SlotAppearance, UnitAppearance, appearance_of


class EditState(NamedTuple):
    """All that is remembered from entry to entry, as seqs.

    `live`: the seqs of the edits that apply. `undone`: folds and trims that were undone. `prefixes`: for each turn of
    the model that answers no `Sent`, the fingerprint of what preceded it when it came. `summaries`: those that were not
    undone. `refused`: the keys of the turns whose reasoning a provider refused. `refusing`: for each model that refused
    reasoning and has taken none since: "some left", "none left", "new" (it has made new reasoning), or "always".
    """

    live: tuple[int, ...] = ()
    undone: tuple[int, ...] = ()
    prefixes: tuple[tuple[int, str], ...] = ()
    refused: tuple[int, ...] = ()
    refusing: tuple[tuple[str, str], ...] = ()
    summaries: tuple[int, ...] = ()


# ---- what belongs together: from the facts alone


@dataclass
class Unit:
    """A message, or a turn with its results. `answered`: the indexes of calls with a result. `bound_to`: the
    fingerprint of the prefix that its bound reasoning was made on. `sealed`: the provider has compacted it."""

    key: int
    seqs: list[int]
    calls: tuple[Call, ...] = ()
    answered: tuple[int, ...] = ()
    bound_to: str | None = None
    sealed: bool = False

    def open_calls(self) -> list[int]:
        """The indexes of the calls without a result. What the provider has compacted waits for none."""
        return [] if self.sealed else [index for index in range(len(self.calls)) if index not in self.answered]


@dataclass
class Facts:
    """The facts of a log, put together to units without any edit."""

    units: list[Unit]
    left_out: dict[int, str]
    head: int | None = None
    in_flight: int | None = None
    newest_user: int | None = None
    compaction: Unit | None = None
    """The newest turn with the provider's own compaction."""
    users: list[int] = field(default_factory=list[int])
    """The keys of the messages that the user wrote, from the provider's newest compaction on."""
    turns: list[int] = field(default_factory=list[int])
    """The keys of the model's turns."""
    waiting: dict[str, int] = field(default_factory=dict[str, int])
    """Calls of the provider's own tools that wait for a later turn, and the keys of their units."""
    approvals: dict[tuple[int, int], tuple[int, str]] = field(default_factory=dict[tuple[int, int], tuple[int, str]])
    """Calls that need a person's approval: the seq of the newest `Approval`, and its state."""
    made_up: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """By id: calls with a synthetic result that a late one may still follow."""
    late: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By seq: late results that no note has given, and their calls."""

    def unit_of(self, entry: int) -> Unit | None:
        """The unit that an entry belongs to; None if it is in none."""
        return next((unit for unit in self.units if entry in unit.seqs), None)


def gather(entries: Sequence[Entry], prefixes: dict[int, str], dialect: str) -> Facts:
    """Put the facts of entries together to units, in the order of their keys. `prefixes`: see `EditState`. `dialect`:
    a compaction counts in its own dialect only."""
    facts = Facts([], {})
    for entry in entries:
        if isinstance(entry.body, Head):
            facts.head = entry.seq
        elif isinstance(entry.body, Sent):
            facts.in_flight = entry.seq
        elif isinstance(entry.body, Approval):
            _gather_approval(facts, entry.seq, entry.body)
        elif isinstance(entry.body, Forked):  # who approved it did so for the conversation that was copied
            again = {at: (seq, "pending") for at, (seq, state) in facts.approvals.items() if state == "approved"}
            facts.approvals |= again
        elif isinstance(entry.body, Fact):
            _gather_fact(facts, entries, entry, entry.body, prefixes)
            _seal(facts, entry, dialect)
    return facts


def _gather_approval(facts: Facts, seq: int, approval: Approval) -> None:
    """Note a step of a call's approval, if it is the next one: a call without a result waits; then it is approved or
    rejected; then, if it was approved, rejected or started. A sub-agent's call that was started may wait again."""
    _, before = facts.approvals.get(approval.place, (0, "none"))
    key, index = approval.place
    is_open = any(unit.key == key and index in unit.open_calls() for unit in facts.units)
    steps = {("pending", "approved"), ("pending", "rejected"), ("approved", "rejected"), ("approved", "started")}
    waits = approval.state == "pending" and before in ("none", "started") and is_open
    if waits or (before, approval.state) in steps:
        facts.approvals[approval.place] = seq, approval.state


def _seal(facts: Facts, entry: Entry, dialect: str) -> None:
    """Mark what the provider has compacted: all units before the newest compaction. Nothing of it is required, open or
    waited for."""
    unit, turn = facts.unit_of(entry.seq), entry.body
    if unit is None:
        return
    if isinstance(turn, Assistant) and turn.is_compaction and turn.dialect == dialect:
        newest = facts.compaction
        facts.compaction = unit if newest is None or newest.key < unit.key else newest
    if (newest := facts.compaction) is None:
        return
    for other in facts.units:
        other.sealed = other.key < newest.key
    kept = [key for key in facts.users if key > newest.key]
    facts.users, facts.newest_user = kept, kept[-1] if kept else None
    own = dict.fromkeys(turn.pending_calls, unit.key) if isinstance(turn, Assistant) and unit is newest else {}
    facts.waiting = {**own, **{label: key for label, key in facts.waiting.items() if key >= newest.key}}


def _first_task(facts: Facts) -> tuple[int, ...]:
    """The keys of the user's messages before the model's first answer to one of them: the first eight."""
    if not facts.users:
        return ()
    answers = [key for key in facts.turns if key > facts.users[0]]
    return tuple(key for key in facts.users if not answers or key < min(answers))[:8]


def _gather_fact(facts: Facts, entries: Sequence[Entry], entry: Entry, fact: Fact, prefixes: dict[int, str]) -> None:
    """Add one fact."""
    key, fingerprint = entry.seq, prefixes.get(entry.seq)
    if isinstance(fact, (Assistant, Failure)) and fact.answers is not None:
        made_on = "made on another window"
        if fact.answers == facts.in_flight:  # a reply takes the place of the request in flight
            sent = entries[fact.answers].body
            assert isinstance(sent, Sent)
            key, made_on, facts.in_flight = fact.answers, sent.fingerprint, None
        fingerprint = prefixes.get(entry.seq, made_on)
    if entry.meta is not None and not entry.meta.include_in_context:
        facts.left_out[entry.seq] = "hidden"
        return
    if isinstance(fact, ToolResult):
        _gather_result(facts, entry.seq, fact)
        return
    if is_empty(fact):
        facts.left_out[entry.seq] = "empty"
        return
    if isinstance(fact, Note):
        facts.late = {seq: call for seq, call in facts.late.items() if seq not in fact.refs}
    unit = Unit(key, [entry.seq])
    _gather_provider_calls(facts, unit, fact)
    if isinstance(fact, Assistant):
        unit.calls = fact.calls
        facts.turns.append(key)
        is_compacted = facts.compaction is not None and key < facts.compaction.key
        for call in fact.calls if not is_compacted else ():  # the id names the new call from now on
            facts.made_up.pop(call.id, None)
        unit.bound_to = fingerprint if any(thought.bound for thought in fact.reasoning) else None
    if isinstance(fact, User) and not (entry.meta is not None and entry.meta.injected):
        facts.newest_user = key
        facts.users.append(key)
    facts.units.append(unit)
    facts.units.sort(key=lambda unit: unit.key)


def _gather_provider_calls(facts: Facts, unit: Unit, fact: Fact) -> None:
    """Note which calls of the provider's own tools wait behind this fact: those that it makes, and older ones if the
    turn goes on with one of them. A message in between ends those of turns that have no calls of the client's."""
    if not isinstance(fact, Assistant):
        if not isinstance(fact, Failure) and not any(
            each.calls for each in facts.units if each.key in facts.waiting.values()
        ):
            facts.waiting = {}
        return
    if facts.compaction is not None and unit.key < facts.compaction.key:
        return
    goes_on = any(label in facts.waiting for label in fact.continued_calls)
    older = {label: key for label, key in facts.waiting.items() if goes_on and label not in fact.continued_calls}
    facts.waiting = {**older, **{label: facts.waiting.get(label, unit.key) for label in fact.pending_calls}}


def _gather_result(facts: Facts, seq: int, fact: ToolResult) -> None:
    """Add a result to the unit of its call. The first result of a call counts; one without an open call is left out.

    Turns are searched from the newest. (Once a request has left, only the newest turn can have open calls.)
    """
    for unit in reversed(facts.units):
        for index in unit.open_calls():
            call = unit.calls[index]
            if fact.place is not None:
                fits = fact.place == (unit.key, index)  # a synthetic result knows its place
            elif call.legacy != fact.legacy:
                fits = False
            elif call.legacy:  # undefined: a function's answer has no id, but mostly a name
                fits = (fact.extra or {}).get("name") in {None, call.name}
            else:
                fits = call.id == fact.call  # undefined: of two calls with one id, the first open one
            if fits:
                unit.seqs.append(seq)
                unit.answered = (*unit.answered, index)
                if fact.synthetic and call.id:
                    facts.made_up[call.id] = unit.key, index
                if not fact.synthetic:
                    facts.approvals.pop((unit.key, index), None)
                return
    facts.left_out[seq] = "stray"
    _gather_late_result(facts, seq, fact)


def _gather_late_result(facts: Facts, seq: int, fact: ToolResult) -> None:
    """Note a result that came late: of a call with a synthetic result that has its id; or, by its place, of a call that
    was approved after it had got one, and has had no late result yet."""
    place = None if fact.synthetic else facts.made_up.get(fact.call)
    if place is None and fact.place is not None and facts.approvals.get(fact.place, (0, "answered"))[1] != "answered":
        key, index = fact.place
        place = fact.place if any(unit.key == key and index in unit.answered for unit in facts.units) else None
    if place is None:
        return
    if not fact.synthetic and facts.made_up.get(fact.call) == place:
        del facts.made_up[fact.call]
    facts.late[seq] = place
    if place in facts.approvals:
        facts.approvals[place] = facts.approvals[place][0], "answered"


def wire_ids(unit: Unit) -> list[str]:
    """The ids under which the calls of a unit are sent: not empty, unique in the turn, without lone surrogates. A valid
    id stays, unless it has the form of those that are made."""
    ids = [call.id.encode("utf-8", "replace").decode() for call in unit.calls]
    for index, call in enumerate(unit.calls):
        made = re.fullmatch(r"call-\d+-\d+", ids[index])
        if not call.legacy and (not ids[index] or made or ids[index] in ids[:index]):
            ids[index] = f"call-{unit.key}-{index}"
    return ids


def unit_sizes(unit: Unit, facts: Sequence[Fact], counter: TokenCounter) -> Size:
    """The sizes of a unit's messages, counted with the ids under which its calls are sent."""
    sizes = [fact_sizes(fact, counter) for fact in facts]
    if isinstance(counter, FormatCounter):  # undefined: what a dialect sends a turn as, beside one message
        sizes.append(Size(0, 0, 0, counter.messages(facts[0]) - 1))
    ids = wire_ids(unit)
    swaps = [(call.id, ids[index]) for index, call in enumerate(unit.calls)]
    for fact, index in zip(facts[1:], unit.answered, strict=True):
        assert isinstance(fact, ToolResult)
        swaps.append((fact.call, ids[index]))
        if unit.calls[index].legacy and not (fact.extra or {}).get("name"):  # a function's answer is sent by its name
            swaps.append(("", unit.calls[index].name))
    for was, now in swaps:
        sizes.append(Size(counter.count(now) - counter.count(was), utf8(now) - utf8(was), 0, 0))
    if getattr(counter, "moves_media", False) and any(
        isinstance(part, Media) for fact in facts[1:] for part in fact.parts
    ):
        sizes.append(Size(0, 0, 0, 1))  # the images and files of all results of a turn are sent in one more message
    return total(sizes)


# ---- what is visible


class SlowView:
    """What entries show under some edits, computed from nothing."""

    def __init__(self, entries: Sequence[Entry], state: EditState, counter: TokenCounter) -> None:
        self.entries, self.state, self.counter = entries, state, counter
        self.facts = gather(entries, dict(state.prefixes), getattr(counter, "dialect", "openai"))
        self.edits = {seq: _edit(entries[seq]) for seq in state.live}
        self.fingerprint, self.slots = self._slots()

    def _slots(self) -> tuple[str, tuple[SlotAppearance, ...]]:
        """The fingerprint of the window, and its slots."""
        running = hashlib.blake2b(digest_size=16)
        if self.facts.head is not None:
            running.update(head_content(self.entries[self.facts.head].body))
        slots: list[SlotAppearance] = []
        units = self.facts.units
        if sealed := [unit for unit in units if unit.sealed]:
            slots.append(self._sealed(sealed))
            running.update(slot_fingerprint(slots[-1]))
            units = units[len(sealed) :]
        while units:
            found = self._fold_over(units[0].key)
            last = units[0].key if found is None else found[1].last
            here, units = [unit for unit in units if unit.key <= last], [unit for unit in units if unit.key > last]
            slots.append(self._unit(here[0], running.hexdigest()) if found is None else self._folded(*found, here))
            running.update(slot_fingerprint(slots[-1]))
        return running.hexdigest(), tuple(slots)

    @property
    def was_sent(self) -> bool:
        """Whether a request was logged."""
        return any(isinstance(entry.body, Sent) for entry in self.entries)

    def _sealed(self, units: Sequence[Unit]) -> SlotAppearance:
        """The slot of what the provider has compacted: nothing shows."""
        assert self.facts.compaction is not None
        keys = tuple(unit.key for unit in units)
        seq = self.facts.compaction.seqs[0]
        return SlotAppearance(keys[0], keys[-1], seq, "", (), keys, Size(0, 0, 0, 0))

    def _fold_over(self, key: int) -> tuple[int, Fold] | None:
        """The outermost live fold over a key. Folds only take what is visible, so it is the youngest."""
        over = [
            (seq, edit) for seq, edit in self.edits.items() if isinstance(edit, Fold) and edit.first <= key <= edit.last
        ]
        return max(over, key=lambda found: found[0], default=None)

    def _pinned(self, unit: Unit) -> bool:
        return any(isinstance(edit, Pin) and edit.entry in unit.seqs for edit in self.edits.values())

    def _shown(self, unit: Unit, prefix: str | None) -> UnitAppearance:
        """Bound reasoning shows iff it was made on the prefix it has now; behind a fold's text it never does."""
        trims = [edit for edit in self.edits.values() if isinstance(edit, Trim)]
        refused, void = unit.key in self.state.refused, unit.bound_to != prefix
        facts = tuple(shown_fact(self.entries[seq], trims, void=void, refused=refused) for seq in unit.seqs)
        return UnitAppearance(unit.key, tuple(unit.seqs), facts, unit_sizes(unit, facts, self.counter))

    def _unit(self, unit: Unit, prefix: str) -> SlotAppearance:
        shown = self._shown(unit, prefix)
        return SlotAppearance(unit.key, unit.key, None, None, (shown,), (unit.key,), shown.sizes)

    def _folded(self, seq: int, fold: Fold, units: Sequence[Unit]) -> SlotAppearance:
        """The slot of a fold."""
        surfacing = (unit for unit in units if self._pinned(unit) and unit.key not in fold.excerpted)
        shown = tuple(self._shown(unit, None) for unit in surfacing)
        sizes = total([self._sizes_of_text(fold), *(unit.sizes for unit in shown)])
        keys = tuple(unit.key for unit in units)
        return SlotAppearance(fold.first, fold.last, seq, fold.text, shown, keys, sizes, self._compaction(fold))

    def _compaction(self, fold: Fold) -> Assistant | None:
        """The provider's compaction that a fold shows in place of its text: that of its summary, in its own dialect."""
        named = self.entries[fold.summary].body if fold.summary is not None and not fold.summary_end else None
        turn = named.compaction if isinstance(named, Summary) else None
        return turn if turn is not None and turn.dialect == getattr(self.counter, "dialect", "openai") else None

    def _sizes_of_text(self, fold: Fold) -> Size:
        """The sizes of what a fold shows in place of its turns."""
        if (turn := self._compaction(fold)) is None:
            return Size(PER_MESSAGE + self.counter.count(fold.text), BYTES_PER_MESSAGE + utf8(fold.text), 0, 1)
        sizes = [fact_sizes(turn, self.counter)]
        if isinstance(self.counter, FormatCounter):  # undefined: what a dialect sends a turn as, beside one message
            sizes.append(Size(0, 0, 0, self.counter.messages(turn) - 1))
        return total(sizes)

    # ---- which edits apply

    def applies(self, edit: Edit) -> bool:
        """Whether an edit applies; one that does not changes nothing."""
        if isinstance(edit, Fold):
            return self._fold_applies(edit)
        if isinstance(edit, Trim):
            return self._trim_applies(edit)
        if isinstance(edit, Pin):
            return self.facts.unit_of(edit.entry) is not None
        return edit.edit in self.edits or edit.edit in self.state.summaries

    def _fold_applies(self, fold: Fold) -> bool:
        """Whether a fold applies: whole slots, no open call, before the request in flight, and a text that saves
        bytes."""
        taken = [slot for slot in self.slots if fold.first <= slot.first and slot.last <= fold.last]
        if not taken or taken[0].first != fold.first or taken[-1].last != fold.last or not fold.text.strip():
            return False
        keys = [key for slot in taken for key in slot.keys]
        if any(unit.key in keys and unit.open_calls() for unit in self.facts.units):
            return False
        if self.facts.in_flight is not None and fold.last >= self.facts.in_flight:
            return False
        if self.facts.compaction is not None and fold.first <= self.facts.compaction.key:
            return False
        if any(fold.last >= key for key in self.facts.waiting.values()):
            return False
        # saving = range - pinned - text must be positive
        saving = sum(slot.sizes.bytes for slot in taken) - self._sizes_of_text(fold).bytes
        for unit in self.facts.units:
            if unit.key in keys and unit.key not in fold.excerpted and self._pinned(unit):
                visible = [shown for slot in taken for shown in slot.units if shown.key == unit.key]
                saving -= (visible or [self._shown(unit, None)])[0].sizes.bytes  # carried until now, it surfaces again
        return saving > 0

    def _trim_applies(self, trim: Trim) -> bool:
        """Whether a trim applies: there is such a part, and the trim makes it smaller in a valid way, or replaces one
        that a provider has refused."""
        if self.facts.unit_of(trim.entry) is None:
            return False
        fact = self.entries[trim.entry].body
        assert isinstance(fact, Fact)
        kind, index = trim.part
        part = dict(parts_of(fact)).get((kind, index))
        if part is None or getattr(part, "compaction", False):
            return False
        if kind == "reasoning":
            return not trim.keep and not self._is_at_work(
                trim.entry
            )  # undefined: dropped, also if it is empty; its note shows nowhere
        if kind == "text":
            # undefined: spans are not empty, and something is left out between them
            edges = [-1, *(edge for span in trim.keep for edge in span)]
            if edges != sorted(set(edges)) or edges[-1] > len(getattr(part, "text", "")):
                return False
            if not trim.keep and not trim.note.strip():
                return False
        elif trim.keep or not trim.note or (kind == "args" and not is_json(trim.note)):
            return False
        return trim.refused or part_size(trimmed(part, trim)) < part_size(part)

    def _is_at_work(self, entry: int) -> bool:
        """Whether an entry is the newest turn of the model, and has calls. A fold ends the search."""
        for slot in reversed(self.slots):
            turn = slot.units[0].facts[0] if slot.fold is None else None
            if slot.fold is not None or isinstance(turn, Assistant):
                return isinstance(turn, Assistant) and bool(turn.calls) and slot.units[0].seqs[0] == entry
        return False

    # ---- and the whole

    def _is_restored(self, slot: SlotAppearance) -> bool:
        """Whether an undone fold or trim covers the slot, and no later edit does."""
        return slot.fold is None and any(self._restores(seq, slot) for seq in self.state.undone)

    def _restores(self, seq: int, slot: SlotAppearance) -> bool:
        """Whether this undone edit covers the slot, and no later trim of the same part does."""
        edit = self.entries[seq].body
        if isinstance(edit, Fold):
            return edit.first <= slot.first <= edit.last
        assert isinstance(edit, Trim)
        # undefined: what covers the place of an undone trim again is a later trim of the same part
        trimmed_later = any(
            isinstance(other, Trim) and (other.entry, other.part) == (edit.entry, edit.part) and at > seq
            for at, other in self.edits.items()
        )
        return edit.entry in slot.units[0].seqs and not trimmed_later

    def appearance(self) -> Appearance:
        """Everything that the view shows, as plain values."""
        facts = self.facts
        request = Size(PER_REQUEST, 0, 0, 0)
        head = self._head_sizes(facts.head) if facts.head is not None else Size(0, 0, 0, 0)
        return Appearance(
            slots=self.slots,
            head=facts.head,
            left_out=tuple(sorted(facts.left_out.items())),
            open=tuple(sorted(unit.key for unit in facts.units if unit.open_calls())),
            waiting=tuple(sorted(facts.waiting.items())),
            approvals=tuple(sorted((*call, *found) for call, found in facts.approvals.items())),
            late_results=tuple(sorted(facts.late)),
            first_task=_first_task(facts),
            newest_user=facts.newest_user,
            restored=tuple(slot.first for slot in self.slots if self._is_restored(slot)),
            summaries=self.state.summaries,
            in_flight=facts.in_flight,
            sizes=total([request, head, *(slot.sizes for slot in self.slots)]),
            fingerprint=self.fingerprint,
        )

    def _head_sizes(self, seq: int) -> Size:
        """The sizes of the head with this seq."""
        head = self.entries[seq].body
        assert isinstance(head, Head)
        sizes = [fact_sizes(message, self.counter) for message in head.messages]
        tools = [plain(tool) for tool in head.tools]
        sizes += [Size(self.counter.count(tool.decode()), len(tool), 0, 0) for tool in tools]
        return replace(total(sizes), images=0)  # undefined: images in a head are not counted


def _edit(entry: Entry) -> Edit:
    """The edit of an entry."""
    assert isinstance(entry.body, (Fold, Trim, Pin, Undo))
    return entry.body


def slot_fingerprint(slot: SlotAppearance) -> bytes:
    """A hash of what a slot shows: of the facts as lines of JSON; for a fold, of its text and then the hashes of its
    shown units."""
    units = [_fingerprint([plain(fact) for fact in unit.facts]) for unit in slot.units]
    if slot.fold is None:
        return units[0]
    begins = plain(slot.text) if slot.compaction is None else _fingerprint([plain(slot.compaction)])
    return _fingerprint([begins, *units])


def _fingerprint(lines: Sequence[bytes]) -> bytes:
    """A hash of lines."""
    return hashlib.blake2b(b"\n".join(lines), digest_size=16).digest()


# ---- the log, entry by entry


def slow_views(entries: Sequence[Entry], counter: TokenCounter) -> Iterator[SlowView]:
    """The view of the empty log, and then of the log after each of its entries."""
    state = EditState()
    view = SlowView((), state, counter)
    yield view
    for at, entry in enumerate(entries, start=1):
        state = _next_state(state, view, entry)
        view = SlowView(entries[:at], state, counter)
        yield view


def _behind_compaction(view: SlowView, turn: Assistant, entry: Entry) -> str:
    """The fingerprint of what precedes a turn with the provider's own compaction, once that is in the log."""
    key = entry.seq if turn.answers is None or turn.answers != view.facts.in_flight else turn.answers
    newest = view.facts.compaction
    if newest is not None and key < newest.key:  # a newer one has hidden it: it is bound to what it was made on
        return view.fingerprint if turn.answers is None else ""
    running = hashlib.blake2b(digest_size=16)
    if view.facts.head is not None:
        running.update(head_content(view.entries[view.facts.head].body))
    if any(unit.key < key for unit in view.facts.units):
        running.update(_fingerprint([plain("")]))
    return running.hexdigest()


def _next_state(state: EditState, view: SlowView, entry: Entry) -> EditState:
    """The state after one more entry. An edit that does not apply changes nothing."""
    body = entry.body
    if isinstance(body, Assistant):
        state = _after_reply(state, view, entry, body)
    if (
        isinstance(body, Assistant)
        and body.is_compaction
        and body.dialect == getattr(view.counter, "dialect", "openai")
    ):
        return state._replace(prefixes=(*state.prefixes, (entry.seq, _behind_compaction(view, body, entry))))
    was_read = entry.meta is not None and entry.meta.source is not None
    if isinstance(body, Assistant) and (body.answers is None or (was_read and state.live)):
        made_on = "a list that the window does not show any more" if state.live else view.fingerprint
        return state._replace(prefixes=(*state.prefixes, (entry.seq, made_on)))
    if isinstance(body, Head) and view.facts.head is None and not view.was_sent:
        return state._replace(prefixes=_signed_again(view, state.prefixes, entry))
    if isinstance(body, Failure) and body.failure == REASONING_REFUSED:
        turns, hidden = _refused(view)
        refusing = dict(state.refusing)
        if body.model:
            again = refusing.get(body.model) in ("new", "always")
            left = "some left" if len(hidden) < len(turns) else "none left"
            refusing[body.model] = "always" if again else left
        return state._replace(refused=(*state.refused, *hidden), refusing=tuple(refusing.items()))
    if isinstance(body, Summary):
        return state._replace(summaries=(*state.summaries, entry.seq))
    if not isinstance(body, (Fold, Trim, Pin, Undo)) or not view.applies(body):
        return state
    if isinstance(body, Undo) and body.edit in state.summaries:
        return state._replace(summaries=tuple(seq for seq in state.summaries if seq != body.edit))
    if not isinstance(body, Undo):
        return state._replace(live=(*state.live, entry.seq))
    live = tuple(seq for seq in state.live if seq != body.edit)
    undone = state.undone if isinstance(view.edits[body.edit], Pin) else (*state.undone, body.edit)
    return state._replace(live=live, undone=undone)


def _signed_again(view: SlowView, known: tuple[tuple[int, str], ...], head: Entry) -> tuple[tuple[int, str], ...]:
    """The prefixes of turns that answer no `Sent`, after the first head: those that show were made under it."""
    before = hashlib.blake2b(digest_size=16)
    after = hashlib.blake2b(head_content(head.body), digest_size=16)
    prefixes = dict(known)
    for slot in view.slots:
        for unit in slot.units if slot.fold is None else ():
            if prefixes.get(unit.seqs[0]) == before.hexdigest():
                prefixes[unit.seqs[0]] = after.hexdigest()
        before.update(slot_fingerprint(slot))
        after.update(slot_fingerprint(slot))
    return tuple(prefixes.items())


def _after_reply(state: EditState, view: SlowView, entry: Entry, turn: Assistant) -> EditState:
    """What a reply says of a model that refused reasoning: it takes it after all, or never."""
    model = "" if entry.meta is None else entry.meta.model
    refusing = dict(state.refusing)
    found = refusing.get(model)
    if found == "always" and turn.reasoning:
        in_flight = turn.answers is not None and turn.answers == view.facts.in_flight
        state = state._replace(
            refused=(*state.refused, turn.answers if in_flight and turn.answers is not None else entry.seq)
        )
    elif found in {"some left", "new"}:
        del refusing[model]
    elif found == "none left" and turn.reasoning:
        refusing[model] = "new"
    return state._replace(refusing=tuple(refusing.items()))


def _refused(view: SlowView) -> tuple[list[int], list[int]]:
    """The keys of the turns whose reasoning no refusal hides yet, and of those among them that one hides now: those
    before the newest user message, or else all. It does not matter what edits show of them."""
    units = [one for one in view.facts.units if not one.sealed and one.key not in view.state.refused]
    heads = [(one.key, view.entries[one.seqs[0]].body) for one in units]
    turns = [key for key, turn in heads if isinstance(turn, Assistant) and turn.reasoning]
    return turns, [key for key in turns if view.facts.newest_user is not None and key < view.facts.newest_user] or turns


def head_content(body: object) -> bytes:
    """A head as its fingerprint has it: without its cache marks."""
    return plain(_unmarked(json.loads(plain(body))))


def _unmarked(value: object) -> object:
    """A JSON value without cache marks. An object that holds nothing but a mark goes with it."""
    if isinstance(value, list):
        return [_unmarked(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value).items()
    marked = {key for key, item in fields if isinstance(item, dict) and list(cast("Any", item)) == ["cache_control"]}
    return {key: _unmarked(item) for key, item in fields if key not in {*marked, "cache_control"}}


def appearance(entries: Sequence[Entry], counter: TokenCounter) -> Appearance:
    """What a log shows, by the definitions."""
    *_, last = slow_views(entries, counter)
    return last.appearance()


def check_definition(log: Sequence[Entry], counter: TokenCounter = COUNTER) -> None:
    """Law 15: after every entry, the view shows what the slow oracle shows."""
    view = View.empty(Entries(log), counter)
    for at, slow in enumerate(slow_views(log, counter)):
        if at:
            view = apply(view, log[at - 1 : at])
        assert appearance_of(view) == slow.appearance(), f"after {at} entries"
