"""The window: what one model call sees, as slots, with the reason for every difference from the call before."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from transom.core.digest import prefixes
from transom.core.entry import Entry
from transom.core.message import Head, Raw
from transom.core.tokens import Size
from transom.core.unit import Slot
from transom.core.view import View


class Dialect(Protocol):
    """Turns a head and a slot into the messages of one provider API. Pure; a slot's messages depend on it alone."""

    @property
    def name(self) -> str: ...

    def head(self, head: Head) -> list[Raw]: ...

    def slot(self, slot: Slot) -> list[Raw]: ...


class Break(Struct, frozen=True):
    """The first slot that is not what the window before had there, and the entry that changed it. Slot -1: the head."""

    slot: int
    entry: int
    why: str


class Drawn(Struct, frozen=True):
    """What was rendered last in a dialect: the head and its messages at the top, the slots, where the messages of each
    begin, the messages, and those handed out.

    The messages handed out are other dicts than ours. While they are equal, nobody has changed them, and they can be
    handed out again: comparing is faster than copying.
    """

    head: Entry | None = None
    top: list[Raw] = []
    slots: tuple[Slot, ...] = ()
    starts: list[int] = []
    messages: list[Raw] = []
    handed: list[Raw] = []


class Window(Struct, frozen=True, eq=False):
    """Slots in order behind a head. `size` is raw; `tokens` is what the budget compares (calibrated)."""

    head: Entry | None
    slots: tuple[Slot, ...]
    digest: str
    size: Size
    tokens: int
    limit: int
    kept: int
    """Tokens of the leading slots it shares with the window before."""
    breaks: Break | None = None
    drawn: dict[str, Drawn] | None = None
    """What earlier windows of the same conversation rendered: a turn renders only its new slots."""

    def messages(self, dialect: Dialect) -> list[dict[str, Any]]:
        """The window in a provider's words. The list is yours. Its messages are shared with windows handed out before;
        changing one changes no window handed out after."""
        drawn = self._draw(dialect)
        return [*(message.copy() for message in drawn.top), *drawn.handed]

    def _draw(self, dialect: Dialect) -> Drawn:
        """All slots' messages. A slot is a value: where it is the same object as last time, so are its messages."""
        cache = self.drawn if self.drawn is not None else {}
        last = cache.get(dialect.name) or Drawn()
        same = _same(last.slots, self.slots)
        new = [dialect.slot(slot) for slot in self.slots[same:]]
        top = last.top if self.head is last.head else self._top(dialect)
        starts, messages, handed = last.starts, last.messages, last.handed  # the cache's own: nobody else has them
        if same < len(starts):
            end = starts[same]
            del starts[same:], messages[end:], handed[end:]
        if handed != messages:
            handed = [message.copy() for message in messages]
        for rendered in new:
            starts.append(len(messages))
            messages.extend(rendered)
            handed.extend([message.copy() for message in rendered])
        drawn = cache[dialect.name] = Drawn(self.head, top, self.slots, starts, messages, handed)
        return drawn

    def _top(self, dialect: Dialect) -> list[Raw]:
        return dialect.head(self.head.body) if self.head is not None and isinstance(self.head.body, Head) else []


def _same(old: tuple[Slot, ...], new: tuple[Slot, ...]) -> int:
    """How many leading slots are the very same objects (slots are compared by identity)."""
    if new[: len(old)] == old:
        return len(old)
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other:
            return at
    return min(len(old), len(new))


def assemble(view: View, limit: int) -> Window:
    """The window a view shows. Total: every view has one. `view` is the one before its `Sent` is applied."""
    stable, broke = view.stable, Break(*view.broke) if view.broke is not None else None
    if broke is not None:  # unless it was taken back again: then the whole window before is still in front
        same = (at for at, digest in prefixes(view.head, view.slots) if digest == view.sent_digest)
        stable, broke = next(((at, None) for at in same), (stable, broke))
    kept = 0
    if stable >= 0 and view.sent_tokens:  # the first window shares nothing with one before it
        kept = view.total.tokens
        for slot in view.slots[stable:]:
            kept -= slot.size.tokens
    tokens = round(view.total.tokens * view.ratio)
    return Window(view.head, tuple(view.slots), view.digest(), view.total, tokens, limit, kept, broke, view.drawn)
