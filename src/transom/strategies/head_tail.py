"""Windows of both ends, or of the last rounds: what is between or before is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from transom.core.edit import Edit, Fold
from transom.core.policy import Target
from transom.core.tokens import ZERO
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.strategies.candidates import (
    foldable_runs,
    freed_by_folding,
    hides_a_unit,
    how_many_fit,
    is_worth_a_break,
    saves_tokens,
    slots_before_newest,
)
from transom.strategies.omission import MARKER, omission


class HeadTail(Struct, frozen=True, kw_only=True):
    """Keeps the `first` and the `last` units, and the newest; leaves out what is between, an older omission included.

    With `tokens`, `first` and `last` are tokens, and as many units stay as fit into them. Nothing happens if that
    lowers the pressure by less than `least`.
    """

    first: int = 4
    last: int = 20
    tokens: bool = False
    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        start = self._how_many(view.slots, self.first, folds=False)
        stop = len(view.slots) - self._how_many(reversed(view.slots), self.last, folds=True)
        return _leave_out(view, target, start, stop, self.least)

    def _how_many(self, slots: Iterable[Slot], room: int, *, folds: bool) -> int:
        return how_many_fit(slots, room, folds=folds) if self.tokens else how_many_fit(slots, units=room, folds=folds)


class Rounds(Struct, frozen=True, kw_only=True):
    """Keeps the `last` rounds and leaves out what is older. A round is a user message and everything up to the next
    one. Nothing happens if that lowers the pressure by less than `least`."""

    last: int = 4
    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        starts = [at for at, slot in enumerate(view.slots) if isinstance(slot, Unit) and slot.by_user]
        return _leave_out(view, target, 0, starts[-self.last] if self.last <= len(starts) else 0, self.least)


def _leave_out(view: View, target: Target, start: int, stop: int, least: float) -> Iterator[Edit]:
    """Omissions of these slots, but for the leading task, the newest unit and what follows it."""
    start, stop = max(start, view.fixed_slots), max(0, min(stop, slots_before_newest(view, target)))
    while start < stop and view.slots[start].first in target.required:
        start += 1
    folds, saved = list[Fold](), ZERO
    for run in foldable_runs(view, target, view.slots[start:stop]):
        saving = freed_by_folding(view, target, run).minus(MARKER)
        fold = omission(view, target, run)
        if hides_a_unit(view, target, run) and saving.bytes > 0 and saves_tokens(view, target, run, fold.text):
            folds.append(fold)
            saved = saved.plus(saving)
    if is_worth_a_break(view, target, saved, least):
        yield from folds
