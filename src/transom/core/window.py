"""The window: what one model call sees, as slots, with the reason for every difference from the call before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeVar

from msgspec import Struct

from transom.core.digest import prefixes
from transom.core.entry import Entry, Sent
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

    def joined(self, messages: list[Raw]) -> list[Raw]:
        """A window's messages as one list, neighbours joined where the API wants it. It may take the list it is given,
        but not change the messages in it; what comes out for a prefix is a prefix."""
        ...


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
    slots: Sequence[Slot] = []
    starts: list[int] = []
    messages: list[Raw] = []
    handed: list[Raw] = []


class Window(Struct, frozen=True, eq=False):
    """What a view shows, decided for one call. `tokens` is what the budget compares (calibrated)."""

    view: View
    digest: str
    tokens: int
    limit: int
    kept: int
    """Tokens of the leading slots it shares with the window before."""
    breaks: Break | None = None

    @property
    def head(self) -> Entry | None:
        """What stands before the slots."""
        return self.view.head

    @property
    def slots(self) -> Sequence[Slot]:
        """What is shown, in order."""
        return self.view.slots

    @property
    def size(self) -> Size:
        """Raw tokens, bytes, images and messages of all of it."""
        return self.view.total

    @classmethod
    def sent(cls, view: View) -> Self:
        """The window of the request in flight of a view: it is what the view shows."""
        assert view.sent is not None
        sent = view.sent.body
        assert isinstance(sent, Sent)
        broke = None if sent.breaks is None else Break(*sent.breaks)
        return cls(view, sent.digest, round(view.total.tokens * view.ratio), sent.limit, sent.kept, broke)

    def messages(self, dialect: Dialect) -> list[dict[str, Any]]:
        """The window in a provider's words. The list is yours. Its messages are shared with windows handed out before;
        changing one changes no window handed out after."""
        drawn = self._draw(dialect)
        return dialect.joined([*(message.copy() for message in drawn.top), *drawn.handed])

    def _draw(self, dialect: Dialect) -> Drawn:
        """All slots' messages. A slot is a value: where it is the same object as last time, so are its messages."""
        slots, cache = self.view.slots, self.view.drawn
        last = cache.get(dialect.name) or Drawn()
        same = _same(last.slots, slots)
        new = [dialect.slot(slot) for slot in slots[same:]]
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
        drawn = cache[dialect.name] = Drawn(self.head, top, slots, starts, messages, handed)
        return drawn

    def _top(self, dialect: Dialect) -> list[Raw]:
        return dialect.head(self.head.body) if self.head is not None and isinstance(self.head.body, Head) else []


def _same(old: Sequence[Slot], new: Sequence[Slot]) -> int:
    """How many leading slots are the very same objects (slots are compared by identity)."""
    if new[: len(old)] == old:
        return len(old)
    for at, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other:
            return at
    return min(len(old), len(new))


W = TypeVar("W", bound=Window)


def assemble(view: View, limit: int, kind: type[W]) -> W:
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
    return kind(view, view.digest(), round(view.total.tokens * view.ratio), limit, kept, broke)
