"""The plainest fold: a range of old units is left out, behind one marker. One deep cut, then quiet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from transom import texts
from transom.core.budget import fits
from transom.core.edit import Edit, Fold, Pin
from transom.core.policy import Target
from transom.core.tokens import ZERO, Size
from transom.core.unit import Folded, Slot, Unit
from transom.core.view import View

MARKER = Size(60, 300, 0, 1)
"""What the marker itself costs, about."""


class Omit(Struct, frozen=True, kw_only=True):
    """Folds the oldest units behind the leading task until the goal is met; at least the newest unit stays.

    An older omission is folded in with them, so there is one marker. Places somebody took back are left alone until
    the limit itself is passed. A cut that brings the pressure down by less than `least` is not worth its break.
    """

    least: float = 0.1

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        start, stop = self._range(view, target)
        runs: list[list[int]] = [[]]
        saved, some = ZERO, False
        for at in range(start, stop):
            slot = view.slots[at]
            if not target.hard and view.user_restored(slot):
                runs.append([])
                continue
            if not runs[-1]:
                saved = saved.minus(MARKER)
            saved = saved.plus(freed(view, target, slot))
            runs[-1].append(at)
            some = some or (isinstance(slot, Unit) and not stays(view, target, slot))
            if some and fits(view.total.minus(saved), target.goal):  # a fold alone is not folded again
                break
        if not target.hard and not self._pays(view, target, saved):
            return
        for run in runs:
            slots = [view.slots[at] for at in run]
            if any(isinstance(slot, Unit) and not stays(view, target, slot) for slot in slots):
                yield left_out(view, target, slots)

    def _range(self, view: View, target: Target) -> tuple[int, int]:
        return leading(view, target), before(view, target)

    def _pays(self, view: View, target: Target, saved: Size) -> bool:
        return target.pressure(view) - target.pressure(view, saved) >= self.least


def freed(view: View, target: Target, slot: Slot) -> Size:
    """What folding a slot frees: all but the units in it that surface."""
    shown = (slot,) if isinstance(slot, Unit) else slot.surfaced_units
    return reduce(Size.minus, (unit.size for unit in shown if stays(view, target, unit)), slot.size)


def stays(view: View, target: Target, unit: Unit) -> bool:
    """Whether a fold leaves a unit standing: it is kept, or somebody pinned it. A plan's own pins go with the fold."""
    return unit.key in target.protected or pinned(view, unit)


def pinned(view: View, unit: Unit) -> bool:
    """Whether somebody pinned a unit, and not only a plan."""
    pins = (view.fetch(seq).body for seq in unit.pins)
    return any(isinstance(pin, Pin) and not pin.implied for pin in pins)


def before(view: View, target: Target) -> int:
    """How many slots stand before the newest unit; none where there are only notes."""
    return max(0, view.slot_index(target.newest_unit))


def leading(view: View, target: Target) -> int:
    """How many slots in front must stay: the task that leads them."""
    stop = before(view, target)
    return next((at for at in range(stop) if view.slots[at].first not in target.required), stop)


def runs(view: View, target: Target, slots: Sequence[Slot]) -> list[list[Slot]]:
    """Slots that stand together; places that somebody took back are left alone until the limit itself is passed."""
    found: list[list[Slot]] = [[]]
    for slot in slots:
        if not target.hard and view.user_restored(slot):
            found.append([])
        else:
            found[-1].append(slot)
    return [run for run in found if run]


def left_out(view: View, target: Target, slots: Sequence[Slot]) -> Fold:
    """The fold that leaves these slots out."""
    units = sum(slot.unit_count if isinstance(slot, Folded) else 1 for slot in slots)
    tokens = sum(slot.untrimmed_size.tokens for slot in slots)
    where = span(view, target, slots)
    fold = Fold(first=slots[0].first, last=slots[-1].last, text=texts.omission(where, units, tokens), why="compaction")
    # where messages are short and few, a marker may be longer than what it stands for
    return fold if view.refusal(fold) is None else replace(fold, text=texts.bare(where))


def span(view: View, target: Target, slots: Sequence[Slot]) -> str:
    """The entries that slots stand for, named."""
    first, last = (
        target.reference(view.unit(slots[0].first).seqs[0]),
        target.reference(view.unit(slots[-1].last).seqs[-1]),
    )
    return first if first == last else f"{first} to {last}"
