"""Keeps units out of folds: the pins that a plan places for required units and for those of keep rules. Pins of a
person stay as they are."""

from __future__ import annotations

from collections.abc import Container, Mapping

from transom.core.draft import Draft
from transom.core.edit import Fold, Pin, Undo
from transom.core.locate import unit_key
from transom.core.policy import KeptUnit
from transom.core.required import required_keys
from transom.core.unit import Unit
from transom.core.view import View

REQUIRED = "required"
"""The `why` of the pins that keep the first task and the newest user message out of folds."""


def pin_by_hand(view: View, entry: int) -> int | None:
    """The seq of the pin that a person has set on the unit of an entry; None if there is none."""
    key = unit_key(view, entry)
    if key < 0:
        return None
    return next((seq for seq in view.unit(key).pins if not _is_implied(view, seq)), None)


def pin_required(draft: Draft) -> None:
    """Pin the first task and the newest user message where a fold of somebody else hides them."""
    for key in required_keys(draft.view):
        if not draft.view.is_present(key):
            draft.propose(Pin(entry=key, why=REQUIRED, implied=True))


def pin_before_fold(draft: Draft, fold: Fold, named: Mapping[int, KeptUnit]) -> None:
    """Prepare for a fold: pin the required units and those that keep rules named that it would hide, and take back the
    pins of earlier plans on other units in its range.

    Kept units beside the fold that are sent again because of it are shortened in the same break.
    """
    view, excerpted = draft.view, frozenset(fold.excerpted)
    staying = dict.fromkeys((*required_keys(view), *named))
    for key in staying:
        if fold.first <= key <= fold.last and key not in excerpted:
            _pin(draft, view.unit(key), named.get(key) or KeptUnit(key, REQUIRED))
        elif (kept := named.get(key)) is not None and _is_rewritten(draft.view, key, fold, staying):
            _shorten(draft, view.unit(key), kept)
    for unit in tuple(draft.view.visible_units()):
        if fold.first <= unit.key <= fold.last and unit.key not in staying and unit.key not in excerpted:
            _unpin(draft, unit)


def _pin(draft: Draft, unit: Unit, kept: KeptUnit) -> None:
    """Pin a kept unit with its reason, and shorten it. A plan's older pin that says only `required` is replaced by one
    with the rule's reason. A pin that the user set is left as it is, and so is its unit."""
    pins = [pin for seq in unit.pins if isinstance(pin := draft.view.fetch(seq).body, Pin)]
    if not all(pin.implied for pin in pins):
        return
    if all(pin.why == REQUIRED != kept.why for pin in pins):
        draft.propose(Pin(entry=unit.seqs[0], why=kept.why, implied=True))
        _unpin(draft, unit)
    _shorten(draft, unit, kept)


def _shorten(draft: Draft, unit: Unit, kept: KeptUnit) -> None:
    """Propose the trim of a kept unit, unless the user has restored the unit."""
    if kept.trim is not None and not draft.view.user_restored(unit):
        draft.propose(kept.trim)


def _is_rewritten(view: View, key: int, fold: Fold, staying: Container[int]) -> bool:
    """Whether shortening this unit costs nothing more in the cache: it stands behind the fold's beginning, or only
    units that stay stand between the two."""
    start = min(view.slot_index(fold.first), max(0, view.shared_slots))
    while start > 0 and view.slots[start - 1].first in staying:
        start -= 1
    return view.slot_index(key) >= start


def _unpin(draft: Draft, unit: Unit) -> None:
    """Take back the pins on a unit that plans have placed; those of the user stay."""
    for seq in unit.pins:
        if _is_implied(draft.view, seq):
            draft.propose(Undo(edit=seq, why="compaction"))


def _is_implied(view: View, seq: int) -> bool:
    """Whether a plan has placed the pin with this seq."""
    pin = view.fetch(seq).body
    return isinstance(pin, Pin) and pin.implied
