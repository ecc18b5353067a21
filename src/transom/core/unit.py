"""The slots of a window: units, and the `FoldedSlot`s that stand in place of several units.

A unit is one message (of the user, of the model, …) with the results of all its calls. A `FoldedSlot` is the one slot
that a fold shows in place of others; it holds these as its children. Both are values: an edit makes a new one. A unit
that is not shown keeps its size and drops its entries, because the log has them. So the memory for texts grows with the
window, and not with the log.
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
from transom.core.entry import Entry
from transom.core.message import Assistant, Fact, Media, Reasoning, ToolResult, addressed_parts
from transom.core.persistent import appended
from transom.core.tokens import ZERO, FormatCounter, Size, fact_size, part_bytes
from transom.core.trims import AppliedTrim, Place, effective_trim, effective_trims, find_part, trimmed_fact

_body = attrgetter("body")

REFUSED = "!"
"""The `signed_prefix` of a unit whose reasoning a provider has refused: all of it is hidden, bound or not. It equals no
real fingerprint, so nothing shows the reasoning again."""


class Unit(Struct, frozen=True, gc=False, eq=False, array_like=True, tag=0):
    """What must stay together: a message, or a turn of the model with the results of all its calls.

    - `key`: names the unit, and orders units: the seq of its first entry; for a reply the seq of the `Sent` that it
      answers.
    - `seqs`: the seqs of its entries: the message first, then the results in the order in which they came.
    - `entries`: those of `seqs`; None while a fold hides the unit.
    - `open_bits`: a bit mask by index: a bit is set for each call without a result.
    - `answered_calls`: for each of `seqs[1:]`, the index of its call.
    - `trims`: the trims that apply to its parts, sorted. Of several on one part the first is in effect.
    - `undone_trims`: for each trim that was undone, the place of its part and its seq.
    - `pins`: the seqs of the pins on it.
    - `signed_prefix`: the fingerprint of the prefix that its bound reasoning was made on; empty if it has none;
      `REFUSED` if a provider refused its reasoning, bound or not.
    - `signature_stale`: true if reasoning is hidden: the bound reasoning, because what precedes it has changed; or all
      reasoning, because a provider has refused it.
    """

    key: int
    seqs: tuple[int, ...]
    untrimmed_size: Size
    """Its size without trims, and with all reasoning."""
    size: Size
    """Its size as shown."""
    entries: tuple[Entry, ...] | None = None
    open_bits: int = 0
    """One number is copied fast, also for thousands of calls."""
    answered_calls: tuple[int, ...] = ()
    trims: tuple[AppliedTrim, ...] = ()
    undone_trims: tuple[tuple[Place, int], ...] = ()
    pins: tuple[int, ...] = ()
    signed_prefix: str = ""
    signature_stale: bool = False
    cached_fingerprint: bytes | None = None

    @property
    def first(self) -> int:
        """The key of the first unit in this slot: its own. (In a `FoldedSlot`, `first` and `last` may differ.)"""
        return self.key

    @property
    def last(self) -> int:
        """The key of the last unit in this slot: its own. (In a `FoldedSlot`, `first` and `last` may differ.)"""
        return self.key

    @property
    def open_calls(self) -> Sequence[int]:
        """The indexes of the calls without a result, rising."""
        return tuple(bits_of(self.open_bits)) if self.open_bits else ()

    def is_open(self, index: int) -> bool:
        """Whether the call at this index has no result yet."""
        return bool(self.open_bits >> index & 1)

    @property
    def first_fact(self) -> Fact:
        """The fact that began the unit. Not for a unit that a fold hides: ask the view for its entries."""
        entries: Any = self.entries
        assert entries, "a unit in a fold has no entries: ask the view"
        return entries[0].body

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts of the unit without trims: the message, then the results. Not for a unit that a fold hides: ask the
        view for its entries."""
        entries: Any = self.entries
        assert entries, "a unit in a fold has no entries: ask the view"
        return tuple(map(_body, entries))

    @property
    def by_user(self) -> bool:
        """True for a message that the user wrote, and no program. Not for a unit that a fold hides."""
        entries: Any = self.entries
        assert entries, "a unit in a fold has no entries: ask the view"
        return entries[0].by_user

    def hides(self, part: object) -> bool:
        """Whether this part is reasoning that the window must not show: it is bound to another prefix, or was
        refused."""
        if not self.signature_stale or not isinstance(part, Reasoning):
            return False
        return part.bound or self.signed_prefix == REFUSED

    def effective_trims(self) -> dict[Place, AppliedTrim]:
        """The trim in effect for each part that has a trim, by place."""
        return effective_trims(self.trims)

    def shown_facts(self) -> tuple[Fact, ...]:
        """The facts of the unit as the window shows them: trimmed, and without reasoning that is hidden. Not for a unit
        that a fold hides."""
        best = self.effective_trims() if self.trims else None
        if not best and not self.signature_stale:
            return self.facts
        assert self.entries is not None
        return tuple(trimmed_fact(entry, best or {}, self.hides) for entry in self.entries)

    def fingerprint(self) -> bytes:
        """A hash of what it shows, the same in every process and version. Not for a unit that a fold hides."""
        return self.cached_fingerprint or _remember(self, b"\n".join(map(plain, self.shown_facts())))


class FoldedSlot(Struct, frozen=True, gc=False, eq=False, array_like=True, tag=1):
    """The slot of a fold that applies. It shows a text in place of its children, and behind the text the pinned units
    among them.

    - `first`, `last`: keys of the first and last unit that it covers. `seq`: the seq of the fold's entry.
    - `text`, `why`: those of the fold; the text is empty while another fold hides this one. `tokens`: the raw tokens of
      the text as a message, or of the compaction that stands in its place.
    - `children`: the slots that it replaced; those units among them that are not pinned have no entries. `unit_count`:
      how many units are in them.
    - `all_pinned`: all pinned units in them, in key order. `excerpted`: the keys of units of which the text has an
      excerpt; they are not shown behind it, even if they are pinned.
    - `size`: the size of what it shows.
    - `compaction`: the provider's own compaction of these turns, which it shows in place of the text; None in another
      dialect, and for most folds.
    - `sealed`: true if no fold made it, but the provider's own compaction in the entry `seq`: it holds everything that
      precedes the compaction, shows nothing, and no edit brings anything of it back.
    """

    first: int
    last: int
    seq: int
    text: str
    why: str
    tokens: int
    children: tuple[Unit | FoldedSlot, ...]
    all_pinned: tuple[Unit, ...]
    size: Size
    untrimmed_size: Size
    """Size of everything it covers, without any edit."""
    unit_count: int
    excerpted: tuple[int, ...] = ()
    cached_fingerprint: bytes | None = None
    sealed: bool = False
    compaction: Unit | None = None

    @property
    def pinned_units(self) -> tuple[Unit, ...]:
        """The pinned units that are shown behind its text, in key order: those whose excerpt it does not have."""
        return without_excerpted(self.all_pinned, self.excerpted)

    def fingerprint(self) -> bytes:
        """A hash of what it shows, the same in every process and version. Not for a slot that another fold hides: its
        text is gone."""
        begins = plain(self.text) if self.compaction is None else self.compaction.fingerprint()
        return self.cached_fingerprint or _remember(
            self, b"\n".join([begins, *(unit.fingerprint() for unit in self.pinned_units)])
        )


Slot = Unit | FoldedSlot
"""One place of a window."""


def _remember(slot: Slot, content: bytes) -> bytes:
    """The hash of what a slot shows (`content`), stored in the slot. Two threads would store the same."""
    known = hashlib.blake2b(content, digest_size=16).digest()
    force_setattr(slot, "cached_fingerprint", known)
    return known


def new_unit(key: int, entry: Entry, signed_prefix: str = "", *, messages: int = 1) -> Unit:
    """A unit of one fact: that of `entry`, whose tokens must be counted. If it is a turn with calls, all of them are
    open. `messages`: the number of messages that the fact is sent as. `signed_prefix`: as the field of `Unit`."""
    fact = entry.body
    assert isinstance(fact, Fact)
    size = fact_size(fact, entry.tokens)
    if messages != 1:
        size = replace(size, messages=messages)
    return Unit(
        key=key,
        seqs=(entry.seq,),
        untrimmed_size=size,
        size=size,
        entries=(entry,),
        open_bits=(1 << len(fact.calls)) - 1 if isinstance(fact, Assistant) else 0,
        signed_prefix=signed_prefix,
    )


def with_result(
    unit: Unit, index: int, entry: Entry, extra: Size = ZERO, *, counter: FormatCounter | None = None
) -> Unit:
    """A copy of the unit to which the result `entry` of the call at `index` is added. This call is no longer open.

    `extra`: what the label of the call adds to the size. `counter`: if given, the message with which a dialect sends
    the images of results is counted.
    """
    assert unit.entries is not None
    assert isinstance(entry.body, ToolResult)
    more = fact_size(entry.body, entry.tokens).plus(extra)
    untrimmed_size, size = unit.untrimmed_size.plus(more), unit.size.plus(more)
    if counter is not None and counter.moves_media and any(isinstance(part, Media) for part in entry.body.parts):
        # The turn, a message for each result with this one, and the one that the images of all of them share.
        most = counter.messages(unit.first_fact) + len(unit.seqs) + 1
        untrimmed_size, size = replace(untrimmed_size, messages=most), replace(size, messages=most)
    return replace(
        unit,
        seqs=appended(unit.seqs, entry.seq),
        untrimmed_size=untrimmed_size,
        size=size,
        entries=appended(unit.entries, entry),
        open_bits=unit.open_bits & ~(1 << index),
        answered_calls=appended(unit.answered_calls, index),
        cached_fingerprint=None,
    )


def with_media_message(unit: Unit, entries: Sequence[Entry], counter: FormatCounter) -> Unit:
    """The unit with `size.messages` counted again: the extra message that has the images and files of its results
    counts only while one of them is shown. The same unit if it has no such message. `entries`: those of the unit."""
    turn = entries[0].body
    assert isinstance(turn, Fact)
    messages = counter.messages(turn) + len(unit.seqs) - 1
    if unit.untrimmed_size.messages == messages:
        return unit
    hidden = {trim.place for trim in unit.trims}
    media = (
        (entry.seq, address)
        for entry in reversed(entries)  # trims mostly begin with the oldest: so one that shows is found soon
        if isinstance(entry.body, ToolResult)
        for address, part in addressed_parts(entry.body)
        if isinstance(part, Media)
    )
    messages += any(place not in hidden for place in media)
    return replace(unit, size=replace(unit.size, messages=messages))


def with_open_calls(unit: Unit) -> Unit:
    """A copy of the unit in which exactly the calls without a result are open. Not for a unit that a fold hides."""
    turn = unit.first_fact
    bits = (1 << len(turn.calls)) - 1 if isinstance(turn, Assistant) else 0
    for index in unit.answered_calls:
        bits &= ~(1 << index)
    return replace(unit, open_bits=bits)


def bits_of(number: int) -> Iterator[int]:
    """The indexes of the bits of a number that are set, rising; the lowest bit has index 0. The number must not be
    negative."""
    digits = f"{number:b}"[::-1]
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


def with_trims(unit: Unit, trims: tuple[AppliedTrim, ...], place: Place, entry: Entry) -> Unit:
    """A copy of the unit with these trims, and its new size. They may differ from its trims at `place` only, a part of
    `entry`."""
    was, now = (_shown_size(unit, effective_trim(some, place), place, entry) for some in (unit.trims, trims))
    return replace(unit, trims=trims, size=unit.size.replaced(was, now), cached_fingerprint=None)


def with_signature_stale(
    unit: Unit, entries: tuple[Entry, ...], *, stale: bool, signed_prefix: str | None = None
) -> Unit:
    """A copy of the unit that hides its bound reasoning (`stale`) or shows it. The size of the copy is changed to
    match. If `signed_prefix` is `REFUSED`, the copy hides or shows all reasoning.

    `entries`: those of the unit. `signed_prefix`: a new one; None keeps the unit's.
    """
    prefix = unit.signed_prefix if signed_prefix is None else signed_prefix
    changed = replace(unit, signature_stale=stale, signed_prefix=prefix, cached_fingerprint=None)
    size = unit.size
    for entry in entries:
        fact = entry.body
        thoughts = fact.reasoning if isinstance(fact, Assistant) else ()
        for index, thought in enumerate(thoughts):
            if unit.hides(thought) != changed.hides(thought):
                place: Place = (entry.seq, ("reasoning", index))
                best = effective_trim(unit.trims, place)
                was, now = (_shown_size(one, best, place, entry) for one in (unit, changed))
                size = size.replaced(was, now)
    return replace(changed, size=size)


def _shown_size(unit: Unit, best: AppliedTrim | None, place: Place, entry: Entry) -> Size:
    """The size of a part as the unit shows it. `best`: the trim in effect on it, if any."""
    if best is not None:
        return Size(best.tokens, best.bytes)
    found = find_part(entry, place[1])
    assert found is not None
    part, tokens = found
    if unit.hides(part):
        return ZERO
    return Size(tokens, part_bytes(part), images=int(place[1][0] == "image"))


def pinned_units_in(slot: Slot) -> tuple[Unit, ...]:
    """The pinned units in a slot, the slot itself included, in key order."""
    if isinstance(slot, FoldedSlot):
        return slot.all_pinned
    return (slot,) if slot.pins else ()


def without_excerpted(pinned: tuple[Unit, ...], excerpted: tuple[int, ...]) -> tuple[Unit, ...]:
    """The pinned units whose key is not among `excerpted`."""
    if not excerpted:
        return pinned
    keys = frozenset(excerpted) if len(pinned) > 1 else excerpted
    return tuple([unit for unit in pinned if unit.key not in keys])


def units_in(slot: Slot, least: int = -1) -> Iterator[Unit]:
    """Yield every unit that a slot covers, in key order, from the key `least` on. A slot that is a unit covers itself
    alone. Units that a fold hides have no entries (`Unit.entries` is None)."""
    stack: list[Slot] = [slot] if slot.last >= least else []
    while stack:
        top = stack.pop()
        if isinstance(top, Unit):
            yield top
        else:
            stack.extend(reversed(top.children[bisect_left(top.children, least, key=attrgetter("last")) :]))
