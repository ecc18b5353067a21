"""Omission: a fold that leaves units out, with a marker as its text: the oldest units, those between both ends, or all
before the last rounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.budget import fits
from transom.core.edit import Edit, Fold
from transom.core.policy import Target
from transom.core.ranges import Count, Positive, Share
from transom.core.tokens import ZERO, Size
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.view import View
from transom.strategies.candidates import (
    MAX_LEFT_OUT,
    cut_before_user,
    foldable_runs,
    freed_by_folding,
    hides_a_unit,
    how_many_fit,
    is_worth_a_break,
    leading_slots,
    saves_tokens,
    size_behind_fold,
    slots_before_newest,
)
from transom.strategies.text.references import range_reference

MAX_CUT_BEFORE_USER = 0.1
"""How many tokens an omission may leave out beyond what the goal needs, as a share of the goal, so that a user message
follows it (`cut_before_user`)."""

MARKER = Size(60, 300, 0, 1)
"""The size of a marker, about."""


class Omit(Struct, frozen=True, kw_only=True):
    """Leaves out the oldest units behind the first task until the goal is met. The newest unit always stays, and so do
    units that are protected or that a person pinned.

    An older omission becomes part of the new one, so that there is one marker. As long as the window fits, what the
    user restored is left alone, and nothing happens if the omission lowers the pressure by less than `least`.
    """

    least: Share = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        slots = view.slots[leading_slots(view, target) : slots_before_newest(view, target)]
        found, saved = _until_met(view, target, foldable_runs(view, target, slots))
        if is_worth_a_break(view, target, saved, self.least):
            for run in found:
                fold = omission(view, target, run)
                if hides_a_unit(view, target, run) and saves_tokens(view, target, run, fold.text):
                    yield fold


def _until_met(view: View, target: Target, found: Sequence[Sequence[Slot]]) -> tuple[list[list[Slot]], Size]:
    """The oldest slots of these runs that must go to meet the goal, run by run, and what leaving them out saves. A few
    more are taken, so that no call of the provider's own tool loses its result and a user message follows."""
    enough: tuple[list[list[Slot]], Size] | None = None
    hidden = _bound_reasoning(view, found)
    taken, saved, hides = list[list[Slot]](), reduce(Size.plus, hidden.values(), ZERO), False
    for run in found:
        taken.append([])
        saved = saved.minus(MARKER)
        for slot in run:
            taken[-1].append(slot)
            saved = saved.plus(freed_by_folding(view, target, (slot,))).minus(hidden.get(slot.first, ZERO))
            hides = hides or hides_a_unit(view, target, (slot,))
            if not hides or not fits(view.total.minus(saved), target.goal):
                continue
            if not view.is_in_span(view.slot_index(slot.first) + 1):
                more = run[len(taken[-1]) :]
                more = more[: cut_before_user(view, more, MAX_CUT_BEFORE_USER * target.goal.tokens)]
                taken[-1] += more
                return taken, saved.plus(freed_by_folding(view, target, more))
            if enough is None:
                enough = [list(each) for each in taken], saved
            elif len(taken[-1]) - len(enough[0][-1]) > MAX_LEFT_OUT * len(taken[-1]):
                return enough
    return enough or (taken, saved)


def _bound_reasoning(view: View, found: Sequence[Sequence[Slot]]) -> dict[int, Size]:
    """The size of the bound reasoning of each slot from the first run on, by key: a fold there hides all of it."""
    if not found or not view.has_signed:
        return {}
    slots = view.slots[view.slot_index(found[0][0].first) :]
    sizes = {slot.first: slot.size.minus(size_behind_fold(slot)) for slot in slots}
    return {first: size for first, size in sizes.items() if size != ZERO}


def omission(view: View, target: Target, slots: Sequence[Slot]) -> Fold:
    """The fold that leaves these slots out. `slots`: at least one, neighbours in the window. Its text says how many
    units they have, and how many tokens without trims. If a fold with that text does not apply, or saves no tokens, the
    text is only their reference; whether the fold applies and saves anything then is not checked."""
    units = sum(slot.unit_count if isinstance(slot, FoldedSlot) else 1 for slot in slots)
    tokens = sum(slot.untrimmed_size.tokens for slot in slots)
    where = range_reference(view, target, slots)
    fold = Fold(first=slots[0].first, last=slots[-1].last, text=texts.omission(where, units, tokens), why="compaction")
    if view.refusal(fold) is None and saves_tokens(view, target, slots, fold.text):
        return fold
    return replace(fold, text=texts.bare_marker(where))


class HeadTail(Struct, frozen=True, kw_only=True):
    """Keeps the first `first` units of the window, the first task among them, and the last `last`, and always the
    newest and what is protected. It leaves out what is between, an older omission included.

    With `tokens`, `first` and `last` count tokens instead of units: whole units stay as long as they fit. As long as
    the window fits, nothing happens if the omission lowers the pressure by less than `least`.
    """

    first: Count = 4
    last: Count = 20
    tokens: bool = False
    least: Share = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        start = self._how_many(view.slots, self.first, folds=False)
        stop = len(view.slots) - self._how_many(reversed(view.slots), self.last, folds=True)
        return _leave_out(view, target, start, stop, self.least)

    def _how_many(self, slots: Iterable[Slot], room: int, *, folds: bool) -> int:
        return how_many_fit(slots, room, folds=folds) if self.tokens else how_many_fit(slots, units=room, folds=folds)


class Rounds(Struct, frozen=True, kw_only=True):
    """Keeps the last `last` rounds, and what is protected, and leaves out what is older. A round is a user message and
    everything up to the next one. Nothing happens while the window has no more rounds. As long as the window fits,
    nothing happens either if the omission lowers the pressure by less than `least`."""

    last: Positive = 4
    least: Share = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        starts = [at for at, slot in enumerate(view.slots) if isinstance(slot, Unit) and slot.by_user]
        return _leave_out(view, target, 0, starts[-self.last] if self.last <= len(starts) else 0, self.least)


def _leave_out(view: View, target: Target, start: int, stop: int, least: float) -> Iterator[Edit]:
    """Leave out the slots between two places that are neither required nor newest, if that is worth a break."""
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
