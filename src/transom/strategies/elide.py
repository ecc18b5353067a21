"""Shortening inside units: results first, then arguments, then text, then reasoning; images and files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit, Trim
from transom.core.message import Address, Addressed, Call, Fact, Media, Reasoning, addressed_parts
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import may_trim
from transom.strategies.text.parts import text_parts
from transom.strategies.text.truncation import shrink

What = Literal["results", "arguments", "text", "reasoning"]
Where = Literal["newest", "required", "others"]

EXCERPT = 200
"""Tokens that a deep compaction leaves of a message that must stay."""


class Elide(Struct, frozen=True):
    """Shortens one kind of part in some of the units, only as far as the goal asks.

    Results and texts: the longest first, each as far as it must. Arguments: a marker in place of each, the longest
    first. Reasoning: the whole of each, in the order of the window.

    `where`: the newest unit, the required ones (first task, newest user message), or all the others. `deep`: down to
    excerpts at once, so that the next request need not shorten them again.
    """

    what: What
    """The kind of part."""
    where: Where
    deep: bool = False

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        if view.total.tokens <= target.goal.tokens and view.total.bytes <= target.goal.bytes:
            return iter(())  # too many messages or images: shorter texts do not help
        units = _units(view, target, self.where)
        if self.what == "arguments":
            return _arguments(view, target, units)
        if self.what == "reasoning":
            return _reasoning(view, units)
        parts = [part for unit in units for part in text_parts(view, unit, of_results=self.what == "results")]
        if self.deep:
            return iter(list(shrink(target, view.total, target.deep_goal, parts, "elide", least=EXCERPT)))
        return shrink(target, view.total, target.goal, parts, "elide")


class DropMedia(Struct, frozen=True):
    """Replaces images and files by placeholders, oldest first, until the target is reached.

    `only_as_needed`: only if there are too many images or bytes, and not those of the newest, protected or pinned
    units.
    """

    only_as_needed: bool = False

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        if self.only_as_needed and view.total.images <= target.goal.images and view.total.bytes <= target.goal.bytes:
            return
        for unit in view.visible_units():
            if not self.only_as_needed or may_trim(view, target, unit):
                for seq, address, part, _ in _parts(view, (unit,)):
                    if isinstance(part, Media):
                        note = texts.media_marker(target.reference(seq), part.media)
                        yield Trim(entry=seq, part=address, note=note, why="media")


def _units(view: View, target: Target, where: Where) -> list[Unit]:
    if where == "newest":
        slot = view.slots[view.slot_index(target.newest_unit)]
        return [slot] if isinstance(slot, Unit) else []
    if where == "required":
        return [unit for unit in view.visible_units() if unit.key in target.required]
    return [unit for unit in view.visible_units() if unit.key != target.newest_unit and unit.key not in target.required]


def _arguments(view: View, target: Target, units: list[Unit]) -> Iterator[Edit]:
    """First a marker that is still JSON for each call, the longest first; then the shortest marker there is."""
    calls = [(tokens, seq, address) for seq, address, part, tokens in _parts(view, units) if isinstance(part, Call)]
    calls.sort(key=lambda call: (-call[0], call[1:]))
    for tokens, seq, part in calls:
        yield Trim(entry=seq, part=part, note=texts.trimmed_arguments(target.reference(seq), tokens), why="elide")
    for _, seq, part in calls:
        yield Trim(entry=seq, part=part, note=texts.bare_arguments(target.reference(seq)), why="elide")


def _reasoning(view: View, units: list[Unit]) -> Iterator[Edit]:
    for seq, address, part, _ in _parts(view, units):
        if isinstance(part, Reasoning):
            yield Trim(entry=seq, part=address, why="elide")


def _parts(view: View, units: list[Unit] | tuple[Unit, ...]) -> Iterator[tuple[int, Address, Addressed, int]]:
    """Each part that no trim has shortened yet, with its entry and tokens; arguments also if one has, since there is a
    shorter marker for them."""
    for unit in units:
        trimmed = unit.effective_trims()
        for entry in view.entries_of(unit):
            if isinstance(entry.body, Fact):
                for position, (address, part) in enumerate(addressed_parts(entry.body), start=1):
                    if (entry.seq, address) not in trimmed or isinstance(part, Call):
                        yield entry.seq, address, part, entry.tokens[position]
