"""Applies trims: what a trimmed text, part or fact shows, and which of several trims on one part is in effect. Also
finds the part at an address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from transom.core.edit import Span, Trim
from transom.core.entry import Entry
from transom.core.message import Address, Addressed, Assistant, Call, Fact, Reasoning, Text, addressed_parts
from transom.core.persistent import IdentityKey, appended, index_after, spliced
from transom.texts import gap_mark

Place = tuple[int, Address]
"""One part of a conversation: the seq of its entry, and its address in it."""


Rank = tuple[int, str, tuple[tuple[int, int], ...]]
"""The bytes, note and spans of a trim. Of several trims on one part, that with the lowest rank is in effect."""


def trimmed_text(text: str, keep: Sequence[Span], note: str) -> str:
    """The text as a trim shows it: the pieces `keep` in order, with `note` in the first gap and a short mark in each
    later one. What is missing at the beginning or the end is a gap too. Without pieces, the note alone."""
    if not keep:
        return note
    pieces, at, noted = list[str](), 0, False
    for start, end in (*keep, (len(text), len(text))):
        if start > at:
            pieces.append(gap_mark(pieces[-1]) if noted else note)
            noted = True
        pieces.append(text[start:end])
        at = end
    return "".join(pieces)


def apply_trim(part: Addressed, trim: Trim) -> Addressed | None:
    """The part as a trim shows it: of a text some pieces and the note; of a call the call with the note as its
    arguments; of reasoning None, because it is dropped; of any other part a text, the note. Whether the trim may be
    applied is not checked (see `edit_refusal`)."""
    if isinstance(part, Text):
        return Text(trimmed_text(part.text, trim.keep, trim.note), part.extra)
    if isinstance(part, Call):
        return Call(part.id, part.name, trim.note, part.extra, part.legacy)
    return None if isinstance(part, Reasoning) else Text(trim.note)


class AppliedTrim(Struct, frozen=True, gc=False, array_like=True):
    """A trim that applies: the seq of its entry, the trim, and the tokens and bytes that the part has with it."""

    seq: int
    trim: Trim
    tokens: int
    bytes: int

    @property
    def place(self) -> Place:
        """The entry and the address of the part that it trims."""
        return (self.trim.entry, self.trim.part)

    @property
    def order(self) -> tuple[Place, Rank, int]:
        """The sort key of a unit's trims: the part, then the rank, then the seq. So the first trim of each part is the
        one in effect."""
        return (self.place, self.rank, self.seq)

    @property
    def rank(self) -> Rank:
        """The order of several trims on one part: the lowest is in effect. The fewest bytes first, then by content.

        Tokens do not count, because another calibration or tokenizer would change the order.
        """
        return (self.bytes, self.trim.note, self.trim.keep)


_order, _entry = attrgetter("order"), attrgetter("trim.entry")


def with_trim(trims: tuple[AppliedTrim, ...], new: AppliedTrim) -> tuple[AppliedTrim, ...]:
    """The trims of a unit, which are sorted, with one more at its place in the order."""
    if not trims or trims[-1].order < new.order:
        return appended(trims, new)  # nearly always: plans trim the parts of a unit in order
    at = index_after(trims, new.order, _order)
    return spliced(trims, at, at, [new])


def without_trim(trims: tuple[AppliedTrim, ...], place: Place, seq: int) -> tuple[AppliedTrim, ...]:
    """The sorted trims of a unit without the one at this place with this seq, which must be there."""
    at = index_after(trims, (place,), _order)
    while trims[at].seq != seq:
        at += 1
    return spliced(trims, at, at + 1, ())


def trims_at(trims: Sequence[AppliedTrim], place: Place) -> Sequence[AppliedTrim]:
    """The trims on one part, among the sorted trims of its unit; the first is in effect."""
    start = stop = index_after(trims, (place,), _order)
    while stop < len(trims) and trims[stop].place == place:
        stop += 1
    return trims[start:stop]


def trims_of_entry(trims: Sequence[AppliedTrim], entry: int) -> Sequence[AppliedTrim]:
    """The trims on the parts of one entry, among the sorted trims of its unit."""
    return trims[index_after(trims, entry - 1, _entry) : index_after(trims, entry, _entry)]


def effective_trim(trims: Sequence[AppliedTrim], place: Place) -> AppliedTrim | None:
    """The trim in effect on one part: the one with the lowest rank. None if the part has none."""
    at = index_after(trims, (place,), _order)
    return trims[at] if at < len(trims) and trims[at].place == place else None


def effective_trims(trims: Sequence[AppliedTrim]) -> dict[Place, AppliedTrim]:
    """For each part that has trims, the one in effect: that with the lowest rank."""
    best: dict[Place, AppliedTrim] = {}
    for applied in trims:
        best.setdefault(applied.place, applied)
    return best


def trimmed_fact(entry: Entry, best: Mapping[Place, AppliedTrim], hides: Callable[[Reasoning], bool]) -> Fact:
    """The fact of an entry as the window shows it; the same object if nothing in it changes. `best`: the trims in
    effect, by place. `hides`: says of a reasoning whether it is left out for another reason than a trim."""
    fact = entry.body
    assert isinstance(fact, Fact)
    changed: dict[Address, Any] = {
        address: apply_trim(part, best[entry.seq, address].trim)
        for address, part in addressed_parts(fact)
        if (entry.seq, address) in best
    }
    if isinstance(fact, Assistant):
        changed.update({("reasoning", i): None for i, thought in enumerate(fact.reasoning) if hides(thought)})
    if not changed:
        return fact
    parts = {address: changed.get(address, part) for address, part in addressed_parts(fact)}
    content = tuple(part for (kind, _), part in parts.items() if kind not in {"args", "reasoning"})
    if not isinstance(fact, Assistant):
        return replace(fact, parts=content)
    calls = tuple(part for (kind, _), part in parts.items() if kind == "args")
    thoughts = [part for (kind, _), part in parts.items() if kind == "reasoning"]
    return replace(
        fact,
        parts=content,
        calls=calls,
        reasoning=tuple(thought for thought in thoughts if thought is not None),
        order=_order_without(fact.order, thoughts),
    )


def _order_without(order: str, thoughts: Sequence[Reasoning | None]) -> str:
    """`Assistant.order` without the letters of dropped reasoning. `thoughts`: None for each that is dropped."""
    left = iter(thoughts)
    return "".join(letter for letter in order if letter != "r" or next(left) is not None)


def find_part(entry: Entry, address: Address) -> tuple[Any, int] | None:
    """The part at an address of an entry, and the token count that the entry has of it. None if there is no such
    part."""
    if not isinstance(entry.body, Fact):
        return None
    at, part = _parts_by_address(IdentityKey(entry.body)).get(address, (0, None))
    return None if part is None else (part, entry.tokens[at])


@lru_cache(maxsize=4)
def _parts_by_address(fact: IdentityKey[Fact]) -> dict[Address, tuple[int, Addressed]]:
    """The parts of a fact, each with the index of its count. Cached: a compaction trims one fact part by part."""
    return {address: (at, part) for at, (address, part) in enumerate(addressed_parts(fact.value), start=1)}
