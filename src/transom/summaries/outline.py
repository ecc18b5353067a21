"""A summary as data: items in sections, each with a status, and the changes that bring it up to date.

A model never rewrites the whole. It names changes (`Delta`), and code merges them. So what a model does not mention
stays as it is, and a damaged answer cannot lose what earlier summaries held.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from transom import quoting
from transom.core.message import Raw
from transom.strategies.text.one_line import one_line

Status = Literal["active", "blocked", "done"]

ITEM_CHARACTERS, DONE_CHARACTERS = 600, 120
"""The most characters of an item, and of an item that was done in an earlier round already."""

DONE_ROUNDS = 3
"""Rounds after which a done item leaves."""

MAX_ITEMS = 40
"""The most items of a section. Done items leave first, then the oldest."""


class Section(Struct, frozen=True):
    """A part of a summary: the key that a model names it by, its heading, and what belongs in it.

    `is_current`: it says how things are now. An answer that adds to it replaces all of it, so that nothing stale stays.
    Only items that the same answer updates, and not to "done", stay.
    """

    key: str
    """Its name in the model's answer."""
    heading: str
    """The line above its items."""
    about: str
    """What belongs in it, as the model reads it."""
    is_current: bool = False
    """Whether each answer replaces it whole."""


class Item(Struct, frozen=True, omit_defaults=True):
    """One line of a summary. `section`: the key of its section. `status`: "active", "blocked" or "done". `rounds`: how
    many summaries have been made since it was done; 0 while it is not."""

    id: str
    section: str
    text: str
    status: Status = "active"
    rounds: int = 0


class Outline(Struct, frozen=True, omit_defaults=True):
    """The items of a summary, the oldest first, and the values that its text must hold to the letter (`exact`).
    `typed`: those of the values that the user wrote by hand. `next_id`: the number of the next new item; an id of an
    item that has left is not given again."""

    items: tuple[Item, ...] = ()
    next_id: int = 1
    exact: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()

    def of(self, section: str) -> tuple[Item, ...]:
        """The items in this section, the oldest first."""
        return tuple(item for item in self.items if item.section == section)


class Addition(Struct, frozen=True):
    """A new item: its section, text and status. It gets its id when the delta is applied."""

    section: str
    text: str
    status: Status = "active"


class Update(Struct, frozen=True):
    """A change of the item with this id: its new status and text. None leaves the field as it is."""

    id: str
    status: Status | None = None
    text: str | None = None


class Delta(Struct, frozen=True):
    """What changes in an outline: items to add, to update, and to remove (by id). `replaced`: the keys of sections
    that `add` gives anew; the items that they had before are removed."""

    add: tuple[Addition, ...] = ()
    update: tuple[Update, ...] = ()
    remove: tuple[str, ...] = ()
    replaced: frozenset[str] = field(default_factory=frozenset[str])


def outline_of(stored: Mapping[str, object] | None) -> Outline:
    """The outline in `Summary.state`. An empty one if `stored` is None, or is no outline that this version reads."""
    try:
        return msgspec.convert(stored or {}, Outline)
    except msgspec.ValidationError:
        return Outline()


def stored(outline: Outline) -> Raw:
    """An outline as plain data, as `Summary.state` keeps it."""
    return msgspec.to_builtins(outline)


def item_text(text: str) -> str:
    """The text of an item: one line of about 600 characters at most (`ITEM_CHARACTERS`), with a backslash before what
    could pass for a marker of ours. Empty for a blank text."""
    return quoting.disarmed(_shortened(text, ITEM_CHARACTERS))


def _shortened(text: str, most: int) -> str:
    """A text in one line of at most about `most` characters. A quote that is cut ends with the item."""
    line = one_line(text, most)
    return line + quoting.CLOSE if line.rfind(quoting.OPEN) > line.rfind(quoting.CLOSE) else line


def age(outline: Outline) -> Outline:
    """The outline with which the next summary begins: one round older. Items that are done are shortened to about 120
    characters (`DONE_CHARACTERS`); those that three summaries have had as done (`DONE_ROUNDS`) leave."""
    kept: list[Item] = []
    for item in outline.items:
        if item.status != "done":
            kept.append(item)
        elif item.rounds + 1 < DONE_ROUNDS:
            kept.append(replace(item, rounds=item.rounds + 1, text=_shortened(item.text, DONE_CHARACTERS)))
    return replace(outline, items=tuple(kept))


def apply_delta(outline: Outline, delta: Delta, sections: Sequence[Section]) -> Outline:
    """The outline with the changes of a delta. A new item gets the id "s" with the next number.

    Without effect are an id that is not there, an empty text, and an addition that is there already. If the delta adds
    nothing to a section, and would remove all of its items that are not done, these items stay. An item of an unknown
    section goes to the second section (the first is the required one), so that nothing is lost if the sections of a
    summary change. When the delta adds to a section that `is_current`, all items that were in it leave, except those
    that the delta also updates, and not to "done".

    A section keeps at most 40 items (`MAX_ITEMS`): done ones leave first, then the oldest, but its very first item
    stays.
    """
    keys = [section.key for section in sections]
    gains = {_known(added.section, keys) for added in delta.add if added.text.strip()}
    current = gains.intersection(section.key for section in sections if section.is_current)
    still = {change.id for change in delta.update if change.status != "done"}
    removed = {item.id for item in outline.items if item.section in current and item.id not in still}
    removed |= {item.id for item in outline.items if item.section in delta.replaced} | set(delta.remove)
    for key in {item.section for item in outline.items} - gains:
        here = {item.id for item in outline.of(key) if item.status != "done"}
        if here and here <= removed:
            removed -= here
    changes = {change.id: change for change in delta.update}
    items = [_changed(item, changes.get(item.id)) for item in outline.items if item.id not in removed]
    items = [replace(item, section=_known(item.section, keys)) for item in items]
    seen, number = {(item.section, item.text) for item in items}, outline.next_id
    for added in delta.add:
        section, text = _known(added.section, keys), item_text(added.text)
        if text and (section, text) not in seen:
            seen.add((section, text))
            items.append(Item(id=f"s{number}", section=section, text=text, status=added.status))
            number += 1
    return replace(outline, items=tuple(_bounded(items, keys)), next_id=number)


def _known(section: str, keys: Sequence[str]) -> str:
    return section if section in keys else keys[min(1, len(keys) - 1)]


def _changed(item: Item, change: Update | None) -> Item:
    if change is None:
        return item
    status = change.status or item.status
    text = item_text(change.text or "") or item.text
    return replace(item, status=status, text=text, rounds=item.rounds if status == "done" == item.status else 0)


def _bounded(items: Sequence[Item], keys: Iterable[str]) -> list[Item]:
    """The items, at most `MAX_ITEMS` of each section: done ones leave first, then the oldest."""
    gone: set[str] = set()
    for key in keys:
        here = [item for item in items if item.section == key]
        leaving = sorted(here[1:], key=lambda item: item.status != "done")
        gone.update(item.id for item in leaving[: max(0, len(here) - MAX_ITEMS)])
    return [item for item in items if item.id not in gone]
