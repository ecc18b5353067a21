"""From slots to messages: what a view shows, in the words of a dialect. Nothing is rendered twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

from transom.core.derived import Derived
from transom.core.entry import Entry
from transom.core.message import Raw
from transom.core.unit import Slot
from transom.core.view import View
from transom.wire.dialect import Dialect
from transom.wire.handed import Seal, handed


def drawn(view: View, dialect: Dialect, derived: Derived) -> list[dict[str, Any]]:
    """What a view shows, in a provider's words. The list is the caller's. Its messages are shared with lists handed out
    before; changing one changes none handed out after."""
    now = _drawing(view, dialect, derived.of(_Drawings))
    return dialect.joined(now.top + now.handed)


def drawn_upto(view: View, dialect: Dialect, slots: int) -> int:
    """How many messages the head and the first so many slots come to."""
    messages = [message for slot in view.slots[:slots] for message in dialect.slot(slot)]
    return len(dialect.joined([*_top(view, dialect), *messages]))


class _Drawing(Struct, frozen=True):
    """What was rendered last in a dialect: the slots, where the messages of each begin, and the messages; and what is
    handed out under a seal: the messages of the head at the top, and copies of the others."""

    head: Entry | None = None
    top: list[Raw] = []
    slots: Sequence[Slot] = []
    starts: list[int] = []
    messages: list[Raw] = []
    handed: list[Raw] = []
    seal: Seal = field(default_factory=Seal)


class _Drawings(dict[Dialect, _Drawing]):
    """The last one of each dialect."""


def _drawing(view: View, dialect: Dialect, drawings: _Drawings) -> _Drawing:
    """All slots' messages. A slot is a value: where it is the same object as last time, so are its messages."""
    last: _Drawing = drawings.pop(dialect, None) or _Drawing()  # its lists are changed: if this stops, nobody has them
    same = _same(last.slots, view.slots)
    new = list(map(dialect.slot, view.slots[same:]))
    top, starts, messages, copies, seal = last.top, last.starts, last.messages, last.handed, last.seal
    if same < len(starts):
        end = starts[same]
        del starts[same:], messages[end:], copies[end:]
    if not seal.whole:
        seal = Seal()
        copies = handed(messages, seal)
    if seal is not last.seal or view.head_entry is not last.head:
        top = handed(_top(view, dialect), seal)
    for rendered in new:
        starts.append(len(messages))
        messages.extend(rendered)
        copies.extend(handed(rendered, seal))
    drawings[dialect] = now = _Drawing(view.head_entry, top, view.slots, starts, messages, copies, seal)
    return now


def _top(view: View, dialect: Dialect) -> list[Raw]:
    return dialect.head(view.head) if view.head_entry is not None else []


def _same(old: Sequence[Slot], new: Sequence[Slot]) -> int:
    """How many leading slots are the very same objects (slots are compared by identity)."""
    if new[: len(old)] == old:
        return len(old)
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other:
            return at
    return min(len(old), len(new))
