"""The view, slow and obviously right: written from the design's pages on semantics, not from the code.

It carries one thing from entry to entry: which edits are alive and which were taken back. What is visible is made
again from nothing after every entry. Where the pages are silent, it follows the core and says so ("silent: …").
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oracle_parts import (
    BYTES_PER_MESSAGE,
    PER_MESSAGE,
    PER_REQUEST,
    Sizes,
    fact_sizes,
    form,
    is_blank,
    is_json,
    parts_of,
    shown_fact,
    total,
    utf8,
    weight,
)
from transom.core.codec import plain
from transom.core.edit import Fold, Pin, Trim, Undo
from transom.core.entry import Entry, Sent
from transom.core.message import Assistant, Call, Fact, Failure, Head, ToolResult, User
from transom.core.tokens import TokenCounter


class Shown(NamedTuple):
    """A unit that can be read in the window."""

    key: int
    seqs: tuple[int, ...]
    facts: tuple[Fact, ...]
    sizes: Sizes


class Piece(NamedTuple):
    """A slot: one unit (`seq` None), or a fold with its text and the pinned units that surface behind it."""

    first: int
    last: int
    seq: int | None
    text: str | None
    units: tuple[Shown, ...]
    kids: tuple[int, ...]
    """The keys of the units it stands for."""
    sizes: Sizes


class Picture(NamedTuple):
    """Everything a view shows."""

    pieces: tuple[Piece, ...]
    head: int | None
    left_out: tuple[tuple[int, str], ...]
    open: tuple[int, ...]
    first_task: int | None
    newest_user: int | None
    held: tuple[int, ...]
    """The keys of the visible units to be left alone."""
    sent: int | None
    sizes: Sizes
    digest: str


class Memory(NamedTuple):
    """All that is carried from entry to entry: the edits in force, the folds and trims taken back, as seqs; and for
    bound reasoning that answers no `Sent`, by its turn's seq, the digest of what preceded it when it came."""

    live: tuple[int, ...] = ()
    dead: tuple[int, ...] = ()
    made_on: tuple[tuple[int, str], ...] = ()


# ---- what belongs together: from the facts alone


@dataclass
class Group:
    """A unit: its head and answers, the calls that still wait, and the digest its bound reasoning was made on."""

    key: int
    seqs: list[int]
    calls: tuple[Call, ...] = ()
    answered: tuple[int, ...] = ()
    made_on: str | None = None

    def waiting(self) -> list[int]:
        return [index for index in range(len(self.calls)) if index not in self.answered]


@dataclass
class Gathered:
    """The facts of a log, put together."""

    groups: list[Group]
    left_out: dict[int, str]
    head: int | None = None
    sent: int | None = None
    first_task: int | None = None
    newest_user: int | None = None

    def group_of(self, entry: int) -> Group | None:
        return next((group for group in self.groups if entry in group.seqs), None)


def gather(entries: Sequence[Entry], made_on: dict[int, str]) -> Gathered:
    """Units in key order. No edit has a say in this."""
    told = Gathered([], {})
    for entry in entries:
        if isinstance(entry.body, Head):
            told.head = entry.seq
        elif isinstance(entry.body, Sent):
            told.sent = entry.seq
        elif isinstance(entry.body, Fact):
            _gather_fact(told, entries, entry, entry.body, made_on)
    return told


def _gather_fact(told: Gathered, entries: Sequence[Entry], entry: Entry, fact: Fact, made_on: dict[int, str]) -> None:
    key, digest = entry.seq, made_on.get(entry.seq)
    if isinstance(fact, (Assistant, Failure)) and fact.answers is not None:
        digest = "made on another window"
        if fact.answers == told.sent:  # a reply takes the place of the request in flight
            key, digest, told.sent = told.sent, entries[told.sent].body.digest, None
    if entry.meta is not None and not entry.meta.include_in_context:
        told.left_out[entry.seq] = "hidden"
        return
    if isinstance(fact, ToolResult):
        _gather_result(told, entry.seq, fact)
        return
    if is_blank(fact):
        told.left_out[entry.seq] = "empty"
        return
    group = Group(key, [entry.seq])
    if isinstance(fact, Assistant):
        group.calls = fact.calls
        group.made_on = digest if any(thought.bound for thought in fact.reasoning) else None
    if isinstance(fact, User):
        told.newest_user = key
        told.first_task = key if told.first_task is None else told.first_task
    told.groups.append(group)
    told.groups.sort(key=lambda group: group.key)


def _gather_result(told: Gathered, seq: int, fact: ToolResult) -> None:
    """The first answer wins; what finds no open call is left out. Turns are asked newest first (rule 3: once a
    request has left, only the newest can be open)."""
    for group in reversed(told.groups):
        for index in group.waiting():
            call = group.calls[index]
            if fact.place is not None:
                fits = fact.place == (group.key, index)  # ours: it knows its place
            elif call.legacy != fact.legacy:
                fits = False
            elif call.legacy:  # silent: a function's answer has no id, but mostly a name
                fits = (fact.extra or {}).get("name") in {None, call.name}
            else:
                fits = call.id == fact.call  # silent: of two calls with one id, the first that waits
            if fits:
                group.seqs.append(seq)
                group.answered = (*group.answered, index)
                return
    told.left_out[seq] = "stray"


def wire_ids(group: Group) -> list[str]:
    """Labels unique in their turn, not empty, and without lone surrogates; what already is so stays."""
    ids = [call.id.encode("utf-8", "replace").decode() for call in group.calls]
    taken = set(ids)
    for index, call in enumerate(group.calls):
        if not call.legacy and (not ids[index] or ids[index] in ids[:index]):
            ids[index] = f"call_{group.key}_{index}"
            while ids[index] in taken:  # silent: the label is not that of any other call, before or behind
                ids[index] += "x"
            taken.add(ids[index])
    return ids


def unit_sizes(group: Group, facts: Sequence[Fact], counter: TokenCounter) -> Sizes:
    sizes = [fact_sizes(fact, counter) for fact in facts]
    ids = wire_ids(group)
    swaps = [(call.id, ids[index]) for index, call in enumerate(group.calls)]
    for fact, index in zip(facts[1:], group.answered, strict=True):
        assert isinstance(fact, ToolResult)
        swaps.append((fact.call, ids[index]))
        if group.calls[index].legacy and not (fact.extra or {}).get("name"):  # a function's answer is sent by its name
            swaps.append(("", group.calls[index].name))
    for was, now in swaps:
        sizes.append(Sizes(counter.count(now) - counter.count(was), utf8(now) - utf8(was), 0, 0))
    return total(sizes)


# ---- what is seen


class Scene:
    """The picture of a log's entries under some edits, made from nothing."""

    def __init__(self, entries: Sequence[Entry], memory: Memory, counter: TokenCounter) -> None:
        self.entries, self.memory, self.counter = entries, memory, counter
        self.told = gather(entries, dict(memory.made_on))
        self.edits = {seq: entries[seq].body for seq in memory.live}
        self.digest, self.pieces = self._look()

    def _look(self) -> tuple[str, tuple[Piece, ...]]:
        running = hashlib.blake2b(digest_size=16)
        if self.told.head is not None:
            running.update(plain(self.entries[self.told.head].body))
        pieces: list[Piece] = []
        groups = self.told.groups
        while groups:
            fold = self.fold_over(groups[0].key)
            last = groups[0].key if fold is None else self.entries[fold].body.last
            here, groups = [g for g in groups if g.key <= last], [g for g in groups if g.key > last]
            pieces.append(self._unit(here[0], running.hexdigest()) if fold is None else self._folded(fold, here))
            running.update(looks(pieces[-1]))
        return running.hexdigest(), tuple(pieces)

    def fold_over(self, key: int) -> int | None:
        """Seen is the outermost: of the live folds over a key the youngest, since folds take only what is visible."""
        over = [seq for seq, edit in self.edits.items() if isinstance(edit, Fold) and edit.first <= key <= edit.last]
        return max(over, default=None)

    def pinned(self, group: Group) -> bool:
        return any(isinstance(edit, Pin) and edit.entry in group.seqs for edit in self.edits.values())

    def _shown(self, group: Group, prefix: str | None) -> Shown:
        """Bound reasoning shows iff what precedes it is what it was made on; behind a fold's text nothing ever is."""
        trims = [edit for edit in self.edits.values() if isinstance(edit, Trim)]
        void = group.made_on != prefix
        facts = tuple(shown_fact(self.entries[seq], trims, void=void) for seq in group.seqs)
        return Shown(group.key, tuple(group.seqs), facts, unit_sizes(group, facts, self.counter))

    def _unit(self, group: Group, prefix: str) -> Piece:
        shown = self._shown(group, prefix)
        return Piece(group.key, group.key, None, None, (shown,), (group.key,), shown.sizes)

    def _folded(self, seq: int, groups: Sequence[Group]) -> Piece:
        fold = self.entries[seq].body
        surfacing = (group for group in groups if self.pinned(group) and group.key not in fold.carries)
        shown = tuple(self._shown(group, None) for group in surfacing)
        words = Sizes(PER_MESSAGE + self.counter.count(fold.text), BYTES_PER_MESSAGE + utf8(fold.text), 0, 1)
        sizes = total([words, *(unit.sizes for unit in shown)])
        return Piece(fold.first, fold.last, seq, fold.text, shown, tuple(group.key for group in groups), sizes)

    # ---- which edits apply

    def applies(self, edit: Fold | Trim | Pin | Undo) -> bool:
        if isinstance(edit, Fold):
            return self._fold_applies(edit)
        if isinstance(edit, Trim):
            return self._trim_applies(edit)
        if isinstance(edit, Pin):
            return self.told.group_of(edit.entry) is not None
        return edit.edit in self.edits

    def _fold_applies(self, fold: Fold) -> bool:
        taken = [piece for piece in self.pieces if fold.first <= piece.first and piece.last <= fold.last]
        if not taken or taken[0].first != fold.first or taken[-1].last != fold.last or not fold.text.strip():
            return False
        keys = [key for piece in taken for key in piece.kids]
        if any(group.key in keys and group.waiting() for group in self.told.groups):
            return False
        if self.told.sent is not None and fold.last >= self.told.sent:
            return False
        # saving = range - pinned - text must be positive
        saving = sum(piece.sizes.bytes for piece in taken) - BYTES_PER_MESSAGE - utf8(fold.text)
        for group in self.told.groups:
            if group.key in keys and group.key not in fold.carries and self.pinned(group):
                showing = [unit for piece in taken for unit in piece.units if unit.key == group.key]
                saving -= (showing or [self._shown(group, None)])[0].sizes.bytes  # carried so far, it surfaces again
        return saving > 0

    def _trim_applies(self, trim: Trim) -> bool:
        if self.told.group_of(trim.entry) is None:
            return False
        part = dict(parts_of(self.entries[trim.entry].body)).get(tuple(trim.part))
        if part is None:
            return False
        kind = trim.part[0]
        if kind == "reasoning":
            return not trim.keep  # silent: dropped, also if it is empty; its note is nowhere seen
        if kind == "text":
            # silent: spans are not empty and leave something out between them
            edges = [-1, *(edge for span in trim.keep for edge in span)]
            if edges != sorted(set(edges)) or edges[-1] > len(part.text):
                return False
            if not trim.keep and not trim.note.strip():
                return False
        elif trim.keep or not trim.note or (kind == "args" and not is_json(trim.note)):
            return False
        return weight(form(part, trim)) < weight(part)

    # ---- and the whole

    def held(self, piece: Piece) -> bool:
        """Covered by a dead fold or trim and by no later live one."""
        return piece.seq is None and any(self._still_dead(seq, piece) for seq in self.memory.dead)

    def _still_dead(self, seq: int, piece: Piece) -> bool:
        edit = self.entries[seq].body
        if isinstance(edit, Fold):
            return edit.first <= piece.first <= edit.last
        # silent: what covers the place of a dead trim again is a later trim of the same part
        again = any(
            isinstance(other, Trim) and (other.entry, other.part) == (edit.entry, edit.part) and at > seq
            for at, other in self.edits.items()
        )
        return edit.entry in piece.units[0].seqs and not again

    def picture(self) -> Picture:
        told = self.told
        fixed = Sizes(PER_REQUEST, 0, 0, 0)
        head = Sizes(0, 0, 0, 0) if told.head is None else self._head_sizes(self.entries[told.head].body)
        return Picture(
            pieces=self.pieces,
            head=told.head,
            left_out=tuple(sorted(told.left_out.items())),
            open=tuple(sorted(group.key for group in told.groups if group.waiting())),
            first_task=told.first_task,
            newest_user=told.newest_user,
            held=tuple(piece.first for piece in self.pieces if self.held(piece)),
            sent=told.sent,
            sizes=total([fixed, head, *(piece.sizes for piece in self.pieces)]),
            digest=self.digest,
        )

    def _head_sizes(self, head: Head) -> Sizes:
        told = [fact_sizes(message, self.counter) for message in head.messages]
        tools = [plain(tool) for tool in head.tools]
        told += [Sizes(self.counter.count(tool.decode()), len(tool), 0, 0) for tool in tools]
        return total(told)._replace(images=0)  # silent: images in a head are not counted


def looks(piece: Piece) -> bytes:
    """A hash of what a slot shows: its facts as JSON lines; a fold's text, then the hashes of its surfaced units."""
    units = [digest_of([plain(fact) for fact in unit.facts]) for unit in piece.units]
    return units[0] if piece.seq is None else digest_of([plain(piece.text), *units])


def digest_of(lines: Sequence[bytes]) -> bytes:
    return hashlib.blake2b(b"\n".join(lines), digest_size=16).digest()


# ---- the log, entry by entry


def history(entries: Sequence[Entry], counter: TokenCounter) -> Iterator[Scene]:
    """The scene of the empty log, and of the log after each of its entries."""
    memory = Memory()
    scene = Scene((), memory, counter)
    yield scene
    for at, entry in enumerate(entries, start=1):
        memory = remember(memory, scene, entry)
        scene = Scene(entries[:at], memory, counter)
        yield scene


def remember(memory: Memory, scene: Scene, entry: Entry) -> Memory:
    """What an entry changes in the edits alive; one that does not apply changes nothing."""
    body = entry.body
    if isinstance(body, Assistant) and body.answers is None:
        return memory._replace(made_on=(*memory.made_on, (entry.seq, scene.digest)))
    if not isinstance(body, (Fold, Trim, Pin, Undo)) or not scene.applies(body):
        return memory
    if not isinstance(body, Undo):
        return memory._replace(live=(*memory.live, entry.seq))
    live = tuple(seq for seq in memory.live if seq != body.edit)
    undone = scene.entries[body.edit].body
    dead = memory.dead if isinstance(undone, Pin) else (*memory.dead, body.edit)
    return memory._replace(live=live, dead=dead)


def picture(entries: Sequence[Entry], counter: TokenCounter) -> Picture:
    """What a log shows."""
    *_, last = history(entries, counter)
    return last.picture()
