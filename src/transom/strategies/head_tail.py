"""Windows made of both ends, or of the last rounds: the middle, or what lies further back, is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import accumulate, groupby, takewhile

from msgspec import Struct

from transom.core.edit import Edit, Fold
from transom.core.message import Note, User
from transom.core.policy import Target
from transom.core.tokens import ZERO, Size
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.strategies.omission import MARKER, freed, left_out, stays


class HeadTail(Struct, frozen=True, kw_only=True):
    """The `first` and the `last` units stay (`tokens`: as many at each end as come to so many tokens), and the newest.
    The middle is left out, an older omission with it, if that brings the pressure down by `least`: else it is not
    worth a break."""

    first: int = 4
    last: int = 20
    tokens: bool = False
    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        start = self._fitting(takewhile(lambda slot: isinstance(slot, Unit), view.slots), self.first)
        stop = len(view.slots) - self._fitting(reversed(view.slots), self.last)
        return _without(view, target, start, stop, self.least)

    def _fitting(self, slots: Iterable[Slot], room: int) -> int:
        """How many of these slots there is room for; notes, which a plan adds at the end, take none (law 8)."""
        used = accumulate(self._cost(slot) for slot in slots)
        return sum(1 for _ in takewhile(lambda size: size <= room, used))

    def _cost(self, slot: Slot) -> int:
        is_note = isinstance(slot, Unit) and isinstance(slot.head, Note)
        return 0 if is_note else slot.size.tokens if self.tokens else 1


class Rounds(Struct, frozen=True, kw_only=True):
    """The `last` rounds stay, a round being a user message and all up to the next one. What is older is left out, if
    that brings the pressure down by `least`."""

    last: int = 4
    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        starts = [at for at, slot in enumerate(view.slots) if isinstance(slot, Unit) and isinstance(slot.head, User)]
        return _without(view, target, 0, starts[-self.last] if self.last <= len(starts) else 0, self.least)


def _without(view: View, target: Target, start: int, stop: int, least: float) -> Iterator[Edit]:
    """Leaves these slots out where that frees something: not the task that leads them, nothing from the newest or an
    open unit on, and what somebody took back only if it must be."""
    stop = max(0, min(stop, view.slot_index(view.newest_unit), *map(view.slot_index, view.open_units)))
    while start < stop and view.slots[start].first in target.required:
        start += 1
    folds, saved = list[Fold](), ZERO
    for free, run in groupby(view.slots[start:stop], lambda slot: target.hard or not view.user_restored(slot)):
        slots = list(run)
        gain = reduce(Size.plus, (freed(view, target, slot) for slot in slots), ZERO.minus(MARKER))
        going = any(isinstance(slot, Unit) and not stays(view, target, slot) for slot in slots)
        if free and going and gain.bytes > 0:
            folds.append(left_out(view, target, slots))
            saved = saved.plus(gain)
    if target.hard or target.pressure(view) - target.pressure(view, saved) >= least:
        yield from folds
