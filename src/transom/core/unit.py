"""What must stay together, and what stands in its place.

A unit is a head (a user message, an assistant turn …) with all the answers to its calls. A fold puts one slot where
several stood and holds them by reference. Both are values: an edit makes a new one. A unit that is not shown gives up
its entries (they are in the log) and keeps its size, so that memory follows the window and not the history.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from transom.core.codec import plain
from transom.core.edit import Fold, Trim
from transom.core.entry import Entry
from transom.core.message import Address, Assistant, Fact, Reasoning, ToolResult, addressed_parts
from transom.core.tokens import ZERO, Size, apply_trim, fact_size, part_bytes, replace_surrogates

Place = tuple[int, Address]
"""A part of a conversation: the entry's seq and the part's address in it."""

_body = attrgetter("body")


class AppliedTrim(Struct, frozen=True, gc=False):
    """A live trim: its seq, the trim, the shown tokens, and the shown bytes that decide which of several wins."""

    seq: int
    trim: Trim
    tokens: int
    bytes: int

    @property
    def place(self) -> Place:
        return (self.trim.entry, self.trim.part)

    @property
    def rank(self) -> tuple[int, str, tuple[tuple[int, int], ...]]:
        """Fewest bytes wins, ties by content: never by tokens, which calibration would flip."""
        return (self.bytes, self.trim.note, self.trim.keep)


class Unit(Struct, frozen=True, gc=False, eq=False):
    """`seqs` are the head's and the answers' in order of arrival; `missing` the indexes of calls still open.

    `voided`: its bound reasoning is hidden because what precedes it has changed.
    """

    key: int
    seqs: tuple[int, ...]
    untrimmed_size: Size
    """Size without any trim."""
    size: Size
    """Size as shown."""
    entries: tuple[Entry, ...] | None = None
    open_calls: tuple[int, ...] = ()
    answered_calls: tuple[int, ...] = ()
    """Which call each of `seqs[1:]` answers."""
    trims: tuple[AppliedTrim, ...] = ()
    pins: tuple[int, ...] = ()
    signed_prefix: str = ""
    """The digest its bound reasoning was made on, if it has any."""
    signature_stale: bool = False
    cached_digest: bytes | None = None

    @property
    def first(self) -> int:
        return self.key

    @property
    def last(self) -> int:
        return self.key

    @property
    def head(self) -> Fact:
        """The fact that began it. Only of a visible unit."""
        entries: Any = self.entries
        assert entries, "a stowed unit has no entries: ask the view"
        return entries[0].body

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Its facts, untrimmed. Only of a visible unit."""
        entries: Any = self.entries
        assert entries, "a stowed unit has no entries: ask the view"
        return tuple(map(_body, entries))

    def effective_trims(self) -> dict[Place, AppliedTrim]:
        """The cut that shows, for each part that has any."""
        best: dict[Place, AppliedTrim] = {}
        for cut in self.trims:
            other = best.get(cut.place)
            if other is None or cut.rank < other.rank:
                best[cut.place] = cut
        return best

    def shown_facts(self) -> tuple[Fact, ...]:
        """Its facts as the window shows them."""
        best = self.effective_trims() if self.trims else None
        if not best and not self.signature_stale:
            return self.facts
        assert self.entries is not None
        return tuple(_shown(entry, best or {}, self.signature_stale) for entry in self.entries)

    def digest(self) -> bytes:
        """A hash of what it shows, the same in every process and version."""
        return self.cached_digest or _remember(self, b"\n".join(map(plain, self.shown_facts())))


class Folded(Struct, frozen=True, gc=False, eq=False):
    """A live fold: `kids` are the slots it stands for, `pinned` the pinned units among what they hold.

    `carries`: keys of units whose excerpt stands in the text; these do not surface.
    """

    first: int
    last: int
    seq: int
    text: str
    why: str
    tokens: int
    children: tuple[Unit | Folded, ...]
    pinned_units: tuple[Unit, ...]
    size: Size
    untrimmed_size: Size
    """Size of everything it covers, without any edit."""
    unit_count: int
    carries: tuple[int, ...] = ()
    cached_digest: bytes | None = None

    @property
    def surfaced_units(self) -> tuple[Unit, ...]:
        """The pinned units that surface behind its text, in key order."""
        return surfaced(self.pinned_units, self.carries)

    def digest(self) -> bytes:
        """As `Unit.digest`."""
        return self.cached_digest or _remember(
            self, b"\n".join([plain(self.text), *(unit.digest() for unit in self.surfaced_units)])
        )


Slot = Unit | Folded


def _remember(slot: Slot, content: bytes) -> bytes:
    """Hash what a slot shows, once: it is a value, so it stays true."""
    known = hashlib.blake2b(content, digest_size=16).digest()
    force_setattr(slot, "cached_digest", known)
    return known


def _shown(entry: Entry, best: dict[Place, AppliedTrim], voided: bool) -> Fact:
    fact = entry.body
    assert isinstance(fact, Fact)
    changed: dict[Address, Any] = {
        address: apply_trim(part, best[entry.seq, address].trim)
        for address, part in addressed_parts(fact)
        if (entry.seq, address) in best
    }
    if isinstance(fact, Assistant) and voided:
        changed.update({("reasoning", i): None for i, thought in enumerate(fact.reasoning) if thought.bound})
    if not changed:
        return fact
    parts = {address: changed.get(address, part) for address, part in addressed_parts(fact)}
    content = tuple(part for (kind, _), part in parts.items() if kind not in {"args", "reasoning"})
    if not isinstance(fact, Assistant):
        return replace(fact, parts=content)
    calls = tuple(part for (kind, _), part in parts.items() if kind == "args")
    thoughts = [part for (kind, _), part in parts.items() if kind == "reasoning"]
    order, kept = _without(fact.order, thoughts), tuple(thought for thought in thoughts if thought is not None)
    return replace(fact, parts=content, calls=calls, reasoning=kept, order=order)


def _without(order: str, thoughts: list[Reasoning | None]) -> str:
    """The order of a turn without the thoughts that are gone."""
    left = iter(thoughts)
    return "".join(letter for letter in order if letter != "r" or next(left) is not None)


def new_unit(key: int, entry: Entry, bound: str = "") -> Unit:
    """A unit of one fact; a turn with calls is open until they are answered."""
    fact = entry.body
    assert isinstance(fact, Fact)
    missing = tuple(range(len(fact.calls))) if isinstance(fact, Assistant) else ()
    size = fact_size(fact, entry.tokens)
    return Unit(key, (entry.seq,), size, size, (entry,), missing, (), (), (), bound)


def with_answer(unit: Unit, index: int, entry: Entry, extra: Size = ZERO) -> Unit:
    """The unit with one more answer. `extra`: what a relabelled id adds to the size on the wire."""
    assert unit.entries is not None
    assert isinstance(entry.body, ToolResult)
    more = fact_size(entry.body, entry.tokens)
    if extra is not ZERO:
        more = more.plus(extra)
    whole = unit.untrimmed_size.plus(more)
    return replace(
        unit,
        seqs=(*unit.seqs, entry.seq),
        untrimmed_size=whole,
        size=whole if unit.size is unit.untrimmed_size else unit.size.plus(more),
        entries=(*unit.entries, entry),
        open_calls=tuple([i for i in unit.open_calls if i != index]),
        answered_calls=(*unit.answered_calls, index),
        cached_digest=None,
    )


def with_shown_size(unit: Unit, entries: tuple[Entry, ...]) -> Unit:
    """The unit with its shown size made again after its cuts changed. `entries` are its own, fetched if stowed."""
    size = unit.untrimmed_size
    best = unit.effective_trims()
    for entry in entries:
        fact = entry.body
        assert isinstance(fact, Fact)
        for position, (address, part) in enumerate(addressed_parts(fact), start=1):
            if (cut := best.get((entry.seq, address))) is not None:
                was = Size(entry.tokens[position], part_bytes(part), int(address[0] == "image"), 0)
                size = size.minus(was).plus(Size(cut.tokens, cut.bytes, 0, 0))
            elif unit.signature_stale and isinstance(part, Reasoning) and part.bound:
                size = size.minus(Size(entry.tokens[position], part_bytes(part), 0, 0))
    return replace(unit, size=size, cached_digest=None)


def find_part(entry: Entry, address: Address) -> tuple[Any, int] | None:
    """The part at an address with its stored tokens, or None if there is no such part."""
    fact = entry.body
    if isinstance(fact, Fact):
        for position, (at, part) in enumerate(addressed_parts(fact), start=1):
            if at == tuple(address):
                return part, entry.tokens[position]
    return None


def make_folded(entry: Entry, kids: tuple[Slot, ...], fold: Fold, text_size: Size) -> Folded:
    """A fold standing for `kids`."""
    whole, units = ZERO, 0
    for kid in kids:
        whole = whole.plus(kid.untrimmed_size)
        units += kid.unit_count if isinstance(kid, Folded) else 1
    kids = tuple(unload(_behind(kid)) for kid in kids)
    pinned = tuple(unit for kid in kids for unit in pinned_units_in(kid))
    size = text_size.plus(_surfaced(pinned, fold.carries))
    return Folded(
        fold.first,
        fold.last,
        entry.seq,
        fold.text,
        fold.why,
        entry.tokens[0],
        kids,
        pinned,
        size,
        whole,
        units,
        fold.carries,
    )


def replace_in_folds(path: list[tuple[Folded, int]], was: Slot, new: tuple[Slot, ...]) -> Slot:
    """The slot where the path begins, with `new` in place of `was` where it leads. Both stand for the same units: the
    folds on the way differ by what these pin, and that is all that is counted again."""
    gone, come = pinned_units_in(was), tuple([unit for slot in new for unit in pinned_units_in(slot)])
    for folded, i in reversed(path):
        kids = (*folded.children[:i], *map(unload, new), *folded.children[i + 1 :])
        at = bisect_left(folded.pinned_units, was.first, key=attrgetter("key"))
        pinned = (*folded.pinned_units[:at], *come, *folded.pinned_units[at + len(gone) :])
        size = folded.size.minus(_surfaced(gone, folded.carries)).plus(_surfaced(come, folded.carries))
        new = (replace(folded, children=kids, pinned_units=pinned, size=size, cached_digest=None),)
    return new[0]


def _surfaced(pinned: tuple[Unit, ...], carries: tuple[int, ...]) -> Size:
    """The size of those that surface."""
    size = ZERO
    for unit in surfaced(pinned, carries):
        size = size.plus(unit.size)
    return size


def _behind(slot: Slot) -> Slot:
    """A slot as it stands behind a fold's text: its bound reasoning was made on another prefix (law 13)."""
    if not isinstance(slot, Unit) or not slot.signed_prefix or slot.signature_stale:
        return slot
    assert slot.entries is not None
    return with_shown_size(replace(slot, signature_stale=True), slot.entries)


def pinned_units_in(slot: Slot) -> tuple[Unit, ...]:
    """The pinned units in a slot: what would still show if it were folded."""
    if isinstance(slot, Folded):
        return slot.pinned_units
    return (slot,) if slot.pins else ()


def surfaced(pinned: tuple[Unit, ...], carries: tuple[int, ...]) -> tuple[Unit, ...]:
    """Those that no excerpt stands for."""
    return tuple([unit for unit in pinned if unit.key not in carries]) if carries else pinned


def unload(slot: Slot) -> Slot:
    """A slot as its fold holds it: without its entries, unless it is pinned, and without its text."""
    if isinstance(slot, Unit):
        return slot if slot.pins or slot.entries is None else replace(slot, entries=None, cached_digest=None)
    return replace(slot, text="", cached_digest=None) if slot.text else slot


def units_in(slot: Slot, least: int = -1) -> Iterator[Unit]:
    """Every unit a slot stands for, from the key `least` on, in key order, however deep (an explicit stack: folds nest
    without bound)."""
    stack: list[Slot] = [slot] if slot.last >= least else []
    while stack:
        top = stack.pop()
        if isinstance(top, Unit):
            yield top
        else:
            stack.extend(reversed(top.children[bisect_left(top.children, least, key=attrgetter("last")) :]))


def call_labels(calls: Sequence[Any], key: int) -> tuple[str, ...]:
    """The ids of a turn's calls, made unique and non-empty within the turn; ids that already are stay as received."""
    if len(calls) == 1 and calls[0].id.isascii() and calls[0].id:
        return (calls[0].id,)  # nearly always
    ids = [replace_surrogates(call.id) for call in calls]
    given, taken, out = set(ids), {""}, list[str]()
    for index, (call, label) in enumerate(zip(calls, ids, strict=True)):
        out.append(_fresh_label(given, f"call_{key}_{index}") if not call.legacy and label in taken else label)
        taken.add(out[-1])
    return tuple(out)


def _fresh_label(given: set[str], label: str) -> str:
    while label in given:
        label += "x"
    given.add(label)
    return label
