"""Inside a unit: what may go first goes first. Results, then arguments, then text, then reasoning; media by age."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from transom.core import texts
from transom.core.edit import Edit, Trim
from transom.core.message import Assistant, Call, Fact, Media, Reasoning, addressed
from transom.core.policy import Aim
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.cutting import shrink, text_spots

Choose = Callable[[View, Aim], Iterator[Unit]]


def newest(view: View, aim: Aim) -> Iterator[Unit]:
    """The newest unit, unless it is a fold by now."""
    slot = view.slots[view.index(aim.newest)]
    if isinstance(slot, Unit):
        yield slot


def others(view: View, aim: Aim) -> Iterator[Unit]:
    """What shows beside it: pinned units, held ones."""
    return (unit for unit in view.units() if unit.key != aim.newest and unit.key not in aim.required)


def required(view: View, aim: Aim) -> Iterator[Unit]:
    """First task and newest user message, where they show."""
    return (unit for unit in view.units() if unit.key in aim.required)


def old_media(view: View, aim: Aim) -> Iterator[Edit]:
    """Under pressure of bytes or images, media of all but the newest unit become placeholders, oldest first."""
    if view.total.images <= aim.goal.images and view.total.bytes <= aim.goal.bytes:
        return
    for unit in view.units():
        if unit.key != aim.newest and (aim.hard or not view.held(unit)):
            yield from _media(view, aim, unit)


def media(view: View, aim: Aim) -> Iterator[Edit]:
    """All images and files, oldest first."""
    for unit in view.units():
        yield from _media(view, aim, unit)


def results(choose: Choose) -> Callable[[View, Aim], Iterator[Edit]]:
    """The longest results of the chosen units are levelled."""

    def strategy(view: View, aim: Aim) -> Iterator[Edit]:
        if _long(view, aim):
            spots = [spot for unit in choose(view, aim) for spot in text_spots(view, unit, of_results=True)]
            yield from shrink(aim, view.total, aim.goal, spots, "elide")

    return strategy


def arguments(choose: Choose) -> Callable[[View, Aim], Iterator[Edit]]:
    """Arguments give way to a marker that is still JSON, the longest first; then to an empty object."""

    def strategy(view: View, aim: Aim) -> Iterator[Edit]:
        if not _long(view, aim):
            return
        calls = [
            (entry.tokens[position], entry.seq, address)
            for unit in choose(view, aim)
            for entry in view.entries_of(unit)
            for position, (address, part) in enumerate(_parts(entry.body), start=1)
            if isinstance(part, Call)
        ]
        calls.sort(key=lambda call: (-call[0], call[1:]))
        for tokens, seq, part in calls:
            yield Trim(entry=seq, part=part, note=texts.arguments(aim.ref(seq), tokens), why="elide")
        for _, seq, part in calls:
            yield Trim(entry=seq, part=part, note=texts.bare_arguments(), why="elide")

    return strategy


def text(choose: Choose, *, deep: bool = False) -> Callable[[View, Aim], Iterator[Edit]]:
    """The chosen units' own words are levelled; `deep`: so far that the next call need not do it again."""

    def strategy(view: View, aim: Aim) -> Iterator[Edit]:
        if not _long(view, aim):
            return
        spots = [spot for unit in choose(view, aim) for spot in text_spots(view, unit, of_results=False)]
        if deep:
            yield from list(shrink(aim, view.total, aim.deep, spots, "elide", least=200))
        else:
            yield from shrink(aim, view.total, aim.goal, spots, "elide")

    return strategy


def reasoning(choose: Choose) -> Callable[[View, Aim], Iterator[Edit]]:
    """Reasoning is dropped, whole."""

    def strategy(view: View, aim: Aim) -> Iterator[Edit]:
        if not _long(view, aim):
            return
        for unit in choose(view, aim):
            if isinstance(unit.head, Assistant):
                for address, part in addressed(unit.head):
                    if isinstance(part, Reasoning):
                        yield Trim(entry=unit.seqs[0], part=address, why="elide")

    return strategy


def _long(view: View, aim: Aim) -> bool:
    """Whether shortening texts helps: too many tokens or bytes, not only too many messages or images."""
    return view.total.tokens > aim.goal.tokens or view.total.bytes > aim.goal.bytes


def _parts(fact: object) -> Iterator[tuple[tuple[str, int], object]]:
    return addressed(fact) if isinstance(fact, Fact) else iter(())


def _media(view: View, aim: Aim, unit: Unit) -> Iterator[Edit]:
    gone = unit.winning()
    for entry in view.entries_of(unit):
        for address, part in _parts(entry.body):
            if isinstance(part, Media) and (entry.seq, address) not in gone:
                note = texts.media(aim.ref(entry.seq), part.media)
                yield Trim(entry=entry.seq, part=address, note=note, why="media")
