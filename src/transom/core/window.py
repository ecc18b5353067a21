"""The window: what one model call sees, as slots, with the reason for the first difference from the call before."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Self

from msgspec import Struct

from transom.core.entry import Entry, Sent
from transom.core.prefix_digest import prefixes
from transom.core.tokens import Size
from transom.core.unit import Slot
from transom.core.view import View


class Break(Struct, frozen=True):
    """The first slot that differs from the window before, and the entry that changed it. Slot -1: the head."""

    slot: int
    entry: int
    why: str


class Window(Struct, frozen=True, eq=False):
    """What a view shows, decided for one call. `tokens`: calibrated, as the budget compares them."""

    view: View
    digest: str
    tokens: int
    limit: int
    shared_tokens: int
    """Tokens of the prefix that it shares with the window before, head and overhead of the request included."""
    breaks: Break | None = None

    @property
    def head_entry(self) -> Entry | None:
        """The entry of the head, which precedes the slots."""
        return self.view.head_entry

    @property
    def slots(self) -> Sequence[Slot]:
        """What is shown, in order."""
        return self.view.slots

    @property
    def size(self) -> Size:
        """Raw tokens, bytes, images and messages of all of it."""
        return self.view.total

    @classmethod
    def of_request_in_flight(cls, view: View) -> Self:
        """The window of the request in flight of a view: it is what the view shows."""
        assert view.in_flight is not None
        sent = view.in_flight.body
        assert isinstance(sent, Sent)
        broke = None if sent.breaks is None else Break(*sent.breaks)
        return cls(
            view, sent.digest, round(view.total.tokens * view.calibration), sent.limit, sent.shared_tokens, broke
        )


def assemble(view: View, limit: int) -> Window:
    """The window that a view shows; every view has one. `view` is the one before its `Sent` is applied."""
    stable, broke = view.shared_slots, Break(*view.first_break) if view.first_break is not None else None
    if broke is not None:  # unless the change was taken back: then the whole window before still leads this one
        same = (at for at, digest in prefixes(view.head_entry, view.slots) if digest == view.sent_digest)
        stable, broke = next(((at, None) for at in same), (stable, broke))
    return Window(
        view,
        view.digest(),
        round(view.total.tokens * view.calibration),
        limit,
        shared_prefix_tokens(view, stable),
        broke,
    )


def shared_prefix_tokens(view: View, stable: int) -> int:
    """Raw tokens before slot `stable`, the first one that differs from the window sent last."""
    if stable < 0 or not view.sent_tokens:  # the first window shares nothing with one before it
        return 0
    return view.total.tokens - sum(map(attrgetter("size.tokens"), view.slots[stable:]))
