"""The window: what the model sees in one call, and where it first differs from the call before."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Self

from msgspec import Struct

from transom.core.entry import Entry, Sent
from transom.core.prefix_fingerprint import prefixes
from transom.core.tokens import Size
from transom.core.unit import Slot
from transom.core.view import View


class Break(Struct, frozen=True):
    """Where a window first differs from the window of the request before. `slot`: the index of the slot (-1: the head).
    `entry`: the seq of the entry that changed it. `why`: the reason."""

    slot: int
    entry: int
    why: str


class Window(Struct, frozen=True, eq=False):
    """What the model sees in one call: a view, and how it compares with the window of the request before.

    `fingerprint`: the hash of all that it shows. `tokens`: its tokens, calibrated, as the budget compares them.
    `limit`: the maximum number of tokens for which it was planned. `breaks`: where it first differs from the window
    before; None if it begins with the whole of that window, or if there is none.
    """

    view: View
    """The view that it shows."""
    fingerprint: str
    tokens: int
    limit: int
    shared_tokens: int
    """The raw tokens of the prefix that it shares with the window before, head and request overhead included."""
    breaks: Break | None = None

    @property
    def head_entry(self) -> Entry | None:
        """The entry of the head, which precedes the slots; None if there is none."""
        return self.view.head_entry

    @property
    def slots(self) -> Sequence[Slot]:
        """The units and `FoldedSlot`s that it shows, in order."""
        return self.view.slots

    @property
    def size(self) -> Size:
        """Its raw tokens, bytes, images and messages."""
        return self.view.total

    @classmethod
    def of_request_in_flight(cls, view: View) -> Self:
        """The window of the request in flight, made again from its `Sent`. `view`: what the log shows right after this
        `Sent`, so it has a request in flight (AssertionError otherwise)."""
        assert view.in_flight is not None
        sent = view.in_flight.body
        assert isinstance(sent, Sent)
        broke = None if sent.breaks is None else Break(*sent.breaks)
        return cls(view, sent.fingerprint, view.tokens, sent.limit, sent.shared_tokens, broke)


def assemble(view: View, limit: int) -> Window:
    """The window of the next request. `view`: what the log shows just before the `Sent` of that request. `limit`: the
    tokens for which the window was planned."""
    stable, broke = view.shared_slots, Break(*view.first_break) if view.first_break is not None else None
    if broke is not None:  # unless the change was taken back: then the whole window before still leads this one
        sent = view.sent_fingerprint
        same = (at for at, fingerprint in prefixes(view.head_entry, view.slots) if fingerprint == sent)
        stable, broke = next(((at, None) for at in same), (stable, broke))
    return Window(view, view.fingerprint(), view.tokens, limit, shared_prefix_tokens(view, stable), broke)


def shared_prefix_tokens(view: View, stable: int) -> int:
    """The raw tokens of the prefix that the view shares with the last window that was sent, head and request overhead
    included. `stable`: the index of the first slot that differs; -1 if the head differs.

    0 if the head differs, or if nothing was sent before.
    """
    if stable < 0 or not view.sent_tokens:  # the first window shares nothing with one before it
        return 0
    return view.total.tokens - sum(map(attrgetter("size.tokens"), view.slots[stable:]))
