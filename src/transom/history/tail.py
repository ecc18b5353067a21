"""The two steps of a configured summarisation that need no model: references for large results, one cut before the
tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from transom.core.edit import Edit
from transom.core.policy import Aim
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.strategies.arrival import results_of, stubbed
from transom.strategies.omission import left_out

PREVIEW = 40
"""Tokens that are left of a result beside its reference."""


class CompactResults(Struct, frozen=True, kw_only=True):
    """Results of more than `threshold` tokens show as a reference, but for those in the newest `messages` messages."""

    threshold: int
    messages: int

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        for slot in view.slots[: _newest(view, self.messages)]:
            if isinstance(slot, Unit) and len(slot.seqs) > 1 and not slot.pins and not view.held(slot):
                for spots in results_of(view, slot):
                    if sum(spot.shown for spot in spots) > max(self.threshold, 4 * PREVIEW):
                        yield from (stubbed(view, slot, aim, spot, PREVIEW, "compaction") for spot in spots)


class KeepTail(Struct, frozen=True, kw_only=True):
    """One cut: the newest turns within `tokens` tokens stay, at least the newest `messages` messages and the newest
    turn; what is before them is left out, first task and newest user message apart.

    In small windows the tail has at most `fraction` of what is usable. Places somebody took back are left alone.
    """

    tokens: int
    messages: int
    fraction: float = 0.4

    def __call__(self, view: View, aim: Aim) -> Iterator[Edit]:
        stop, room = len(view.slots), aim.budget.share(self.tokens, self.fraction)
        while stop and view.slots[stop - 1].size.tokens <= room:
            stop -= 1
            room -= view.slots[stop].size.tokens
        stop = min(stop, _newest(view, self.messages), max(0, view.index(view.newest)))
        for run in _runs(view, aim, view.slots[:stop]):
            if any(isinstance(slot, Unit) and slot.key not in aim.required for slot in run):
                yield left_out(view, aim, run)


def _runs(view: View, aim: Aim, slots: Sequence[Slot]) -> Iterator[list[Slot]]:
    """Neighbours that may go, none of them begun by what must stay."""
    run: list[Slot] = []
    for slot in slots:
        if view.held(slot):
            yield run
            run = []
        elif run or slot.first not in aim.required:
            run.append(slot)
    yield run


def _newest(view: View, messages: int) -> int:
    """The slot from which on the newest so many messages stand, whole turns taken."""
    at = len(view.slots)
    while at and messages > 0:
        at -= 1
        messages -= view.slots[at].size.messages
    return at
