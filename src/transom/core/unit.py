"""What must stay together, and what stands in its place.

A unit is a head (a user message, an assistant turn …) with all the results of its calls. A fold is one slot in the
place of several, and holds them by reference. Both are values: an edit makes a new one. A unit that does not show gives
up its entries, because the log has them, and keeps its size. So the memory of texts follows the window; units stay.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from transom.core.codec import plain
from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, Reasoning, ToolResult
from transom.core.tokens import ZERO, Size, fact_size, part_bytes
from transom.core.trims import AppliedTrim, Place, effective_trim, effective_trims, find_part, trimmed_fact

_body = attrgetter("body")


class Unit(Struct, frozen=True, gc=False, eq=False, array_like=True, tag=0):
    """`seqs` are the head's and the results' in order of arrival; `open_calls` the indexes of calls without a result.

    `signature_stale`: its bound reasoning is hidden, because what precedes it has changed.
    """

    key: int
    seqs: tuple[int, ...]
    untrimmed_size: Size
    """Size without any trim."""
    size: Size
    """Size as shown."""
    entries: tuple[Entry, ...] | None = None
    """None while a fold hides it."""
    open_calls: tuple[int, ...] = ()
    answered_calls: tuple[int, ...] = ()
    """Which call each of `seqs[1:]` answers."""
    trims: tuple[AppliedTrim, ...] = ()
    undone_trims: tuple[tuple[Place, int], ...] = ()
    """The parts and seqs of the trims that were taken back."""
    pins: tuple[int, ...] = ()
    signed_prefix: str = ""
    """The digest that its bound reasoning was made on, if it has any."""
    signature_stale: bool = False
    cached_digest: bytes | None = None

    @property
    def first(self) -> int:
        """The key of the first unit here: its own."""
        return self.key

    @property
    def last(self) -> int:
        """The key of the last unit here: its own."""
        return self.key

    @property
    def head(self) -> Fact:
        """The fact that began it. Only of a unit that has its entries."""
        entries: Any = self.entries
        assert entries, "a unit in a fold has no entries: ask the view"
        return entries[0].body

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Its facts, untrimmed. Only of a unit that has its entries."""
        entries: Any = self.entries
        assert entries, "a unit in a fold has no entries: ask the view"
        return tuple(map(_body, entries))

    def effective_trims(self) -> dict[Place, AppliedTrim]:
        """The trim that shows, for each part that has any."""
        return effective_trims(self.trims)

    def shown_facts(self) -> tuple[Fact, ...]:
        """Its facts as the window shows them."""
        best = self.effective_trims() if self.trims else None
        if not best and not self.signature_stale:
            return self.facts
        assert self.entries is not None
        return tuple(trimmed_fact(entry, best or {}, signature_stale=self.signature_stale) for entry in self.entries)

    def digest(self) -> bytes:
        """A hash of what it shows, the same in every process and version."""
        return self.cached_digest or _remember(self, b"\n".join(map(plain, self.shown_facts())))


class Folded(Struct, frozen=True, gc=False, eq=False, array_like=True, tag=1):
    """A live fold: `children` are the slots it stands for, `pinned_units` the pinned units among what they hold.

    `carries`: keys of units whose excerpt is in the text; these do not surface. `text` is empty while another fold
    hides this one.
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
        """The pinned units that appear after its text, in key order."""
        return surfaced(self.pinned_units, self.carries)

    def digest(self) -> bytes:
        """As `Unit.digest`."""
        return self.cached_digest or _remember(
            self, b"\n".join([plain(self.text), *(unit.digest() for unit in self.surfaced_units)])
        )


Slot = Unit | Folded


def _remember(slot: Slot, content: bytes) -> bytes:
    """Hash what a slot shows, once. The slot is a value, so the hash stays true, and two threads write the same one."""
    known = hashlib.blake2b(content, digest_size=16).digest()
    force_setattr(slot, "cached_digest", known)
    return known


def new_unit(key: int, entry: Entry, signed_prefix: str = "") -> Unit:
    """A unit of one fact; a turn with calls is open until they are answered."""
    fact = entry.body
    assert isinstance(fact, Fact)
    size = fact_size(fact, entry.tokens)
    return Unit(
        key=key,
        seqs=(entry.seq,),
        untrimmed_size=size,
        size=size,
        entries=(entry,),
        open_calls=tuple(range(len(fact.calls))) if isinstance(fact, Assistant) else (),
        signed_prefix=signed_prefix,
    )


def with_result(unit: Unit, index: int, entry: Entry, extra: Size = ZERO) -> Unit:
    """The unit with the result of one more call. `extra`: what a new label adds to the size on the wire."""
    assert unit.entries is not None
    assert isinstance(entry.body, ToolResult)
    more = fact_size(entry.body, entry.tokens).plus(extra)
    at = bisect_left(unit.open_calls, index)
    return replace(
        unit,
        seqs=(*unit.seqs, entry.seq),
        untrimmed_size=unit.untrimmed_size.plus(more),
        size=unit.size.plus(more),
        entries=(*unit.entries, entry),
        open_calls=unit.open_calls[:at] + unit.open_calls[at + 1 :],
        answered_calls=(*unit.answered_calls, index),
        cached_digest=None,
    )


def with_trims(unit: Unit, trims: tuple[AppliedTrim, ...], place: Place, entry: Entry) -> Unit:
    """The unit with other trims, which differ only at one place; `entry` holds it."""
    was, now = (_shown_size(unit, effective_trim(some, place), place, entry) for some in (unit.trims, trims))
    return replace(unit, trims=trims, size=unit.size.replaced(was, now), cached_digest=None)


def with_signature_stale(unit: Unit, entries: tuple[Entry, ...], *, stale: bool) -> Unit:
    """The unit with its bound reasoning hidden or shown. `entries` are its own."""
    changed, size = replace(unit, signature_stale=stale, cached_digest=None), unit.size
    for entry in entries:
        fact = entry.body
        thoughts = fact.reasoning if isinstance(fact, Assistant) else ()
        for index, thought in enumerate(thoughts):
            if thought.bound:
                place: Place = (entry.seq, ("reasoning", index))
                best = effective_trim(unit.trims, place)
                was, now = (_shown_size(one, best, place, entry) for one in (unit, changed))
                size = size.replaced(was, now)
    return replace(changed, size=size)


def _shown_size(unit: Unit, best: AppliedTrim | None, place: Place, entry: Entry) -> Size:
    """The size of a part as the unit shows it under the trim that is in effect there."""
    if best is not None:
        return Size(best.tokens, best.bytes)
    found = find_part(entry, place[1])
    assert found is not None
    part, tokens = found
    if unit.signature_stale and isinstance(part, Reasoning) and part.bound:
        return ZERO
    return Size(tokens, part_bytes(part), images=int(place[1][0] == "image"))


def pinned_units_in(slot: Slot) -> tuple[Unit, ...]:
    """The pinned units in a slot: what would still show if it were folded."""
    if isinstance(slot, Folded):
        return slot.pinned_units
    return (slot,) if slot.pins else ()


def surfaced(pinned: tuple[Unit, ...], carries: tuple[int, ...]) -> tuple[Unit, ...]:
    """Those that no excerpt stands for."""
    return tuple([unit for unit in pinned if unit.key not in carries]) if carries else pinned


def units_in(slot: Slot, least: int = -1) -> Iterator[Unit]:
    """Every unit a slot stands for, from the key `least` on, in key order. Folds nest without bound, so the stack is
    explicit."""
    stack: list[Slot] = [slot] if slot.last >= least else []
    while stack:
        top = stack.pop()
        if isinstance(top, Unit):
            yield top
        else:
            stack.extend(reversed(top.children[bisect_left(top.children, least, key=attrgetter("last")) :]))
