"""Inside a unit: what may go first goes first. Results, then arguments, then text, then reasoning; media by age."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.message import Address, Addressed, Call, Fact, Media, Reasoning, addressed
from transom.core.policy import Aim
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.truncation import shrink, text_spots

What = Literal["results", "arguments", "text", "reasoning"]
Where = Literal["newest", "required", "others"]

EXCERPT = 200
"""Tokens left of a message that must stay, in a deep cut."""


class Elide(Struct, frozen=True):
    """Shortens one kind of part in some of the units, the longest first, only as far as the goal asks.

    `where`: the newest unit, the required ones (first task, newest user message), or what shows beside them. `deep`:
    down to excerpts at once, so that the next call need not cut again.
    """

    what: What
    where: Where
    deep: bool = False

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        if view.total.tokens <= aim.goal.tokens and view.total.bytes <= aim.goal.bytes:
            return iter(())  # too many messages or images: shortening texts does not help
        units = _units(view, aim, self.where)
        if self.what == "arguments":
            return _arguments(view, aim, units)
        if self.what == "reasoning":
            return _reasoning(view, units)
        spots = [spot for unit in units for spot in text_spots(view, unit, of_results=self.what == "results")]
        if self.deep:
            return iter(list(shrink(aim, view.total, aim.deep, spots, "elide", least=EXCERPT)))
        return shrink(aim, view.total, aim.goal, spots, "elide")


class DropMedia(Struct, frozen=True):
    """Images and files become placeholders, oldest first. `old`: not the newest unit's nor a pinned one's, and only
    for their own sake, under pressure of images or bytes."""

    old: bool = False

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        if self.old and view.total.images <= aim.goal.images and view.total.bytes <= aim.goal.bytes:
            return
        for unit in view.units():
            if not self.old or not (unit.key == aim.newest or unit.key in aim.kept or unit.pins or view.held(unit)):
                for seq, address, part, _ in _parts(view, (unit,)):
                    if isinstance(part, Media):
                        yield Trim(entry=seq, part=address, note=texts.media(aim.ref(seq), part.media), why="media")


def _units(view: View, aim: Aim, where: Where) -> list[Unit]:
    if where == "newest":
        slot = view.slots[view.index(aim.newest)]
        return [slot] if isinstance(slot, Unit) else []
    if where == "required":
        return [unit for unit in view.units() if unit.key in aim.required]
    return [unit for unit in view.units() if unit.key != aim.newest and unit.key not in aim.required]


def _arguments(view: View, aim: Aim, units: list[Unit]) -> Iterator[Edit]:
    """A marker that is still JSON, the longest first; then the shortest one."""
    calls = [(tokens, seq, address) for seq, address, part, tokens in _parts(view, units) if isinstance(part, Call)]
    calls.sort(key=lambda call: (-call[0], call[1:]))
    for tokens, seq, part in calls:
        yield Trim(entry=seq, part=part, note=texts.arguments(aim.ref(seq), tokens), why="elide")
    for _, seq, part in calls:
        yield Trim(entry=seq, part=part, note=texts.bare_arguments(aim.ref(seq)), why="elide")


def _reasoning(view: View, units: list[Unit]) -> Iterator[Edit]:
    for seq, address, part, _ in _parts(view, units):
        if isinstance(part, Reasoning):
            yield Trim(entry=seq, part=address, why="elide")


def _parts(view: View, units: list[Unit] | tuple[Unit, ...]) -> Iterator[tuple[int, Address, Addressed, int]]:
    """Each part that no edit has shortened yet, with its entry and tokens; arguments also if one has."""
    for unit in units:
        gone = unit.winning()
        for entry in view.entries_of(unit):
            if isinstance(entry.body, Fact):
                for position, (address, part) in enumerate(addressed(entry.body), start=1):
                    if (entry.seq, address) not in gone or isinstance(part, Call):
                        yield entry.seq, address, part, entry.tokens[position]
