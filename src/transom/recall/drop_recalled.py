"""Folds recalled text before anything else: what it repeats is in the log, and can be recalled again."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom import texts
from transom.core.edit import Edit, Fold
from transom.core.message import Recalled
from transom.core.policy import Target
from transom.core.unit import Unit
from transom.core.view import View
from transom.strategies.candidates import RECALLED, is_user_pinned


class DropRecalled(Struct, frozen=True, kw_only=True):
    """A strategy that folds text recalled for earlier turns; that of the newest turn only if the window does not fit.

    Recalled text without references is the caller's own and may be nowhere else, so it stays. So does what the user
    pinned.
    """

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        for slot in view.slots:
            if not isinstance(slot, Unit) or not isinstance(slot.first_fact, Recalled) or not slot.first_fact.refs:
                continue
            is_spared = slot.key > target.newest_unit or view.user_restored(slot)
            if not is_user_pinned(view, slot) and (target.over_limit or not is_spared):
                text = texts.recalled_before(target.reference(slot.key))
                yield Fold(first=slot.key, last=slot.key, text=text, why=RECALLED)
