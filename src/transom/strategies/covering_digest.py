"""The covering digest: old turns fold into passages of their own text, chosen so that as many names
as fit stay in the window once, with their surroundings, the weightiest first.

Digests are frozen layers. A compaction adds a layer and leaves the older ones as they are, so that the prefix stays
cached. When the layers are full they become one layer, which is made again from the original entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from transom.core.budget import Budget
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold
from transom.core.policy import Target
from transom.core.unit import Folded, Slot, Unit, units_in
from transom.core.view import View
from transom.strategies.candidates import (
    foldable_runs,
    free_room,
    hides_a_unit,
    how_many_fit,
    leading_slots,
    slots_before_newest,
    stays_visible,
)
from transom.strategies.digest.digest_text import HEADER, digest_text
from transom.strategies.digest.index import Index

WHY = "digest"

MAX_SHARE = 0.85
"""The largest digest, as a share of what it replaces."""

MIN_LAYER = 3 * HEADER
"""Tokens of the smallest layer that can hold anything."""

TALK_RATIO = 3
"""A digest of talk can stand for about this many times its own size."""


class Digest(Struct, frozen=True, kw_only=True):
    """Folds all but the newest turns into a covering digest. Every setting is a share of F, the room beside what must
    stay.

    `tail`: the newest turns, which stay as they are. `quiet`: what a compaction leaves free. `cap`: all layers
    together. `layer`: a new layer, as a share of what is free under the cap. `merge`: the one layer that all of them
    become when a new one would be smaller than `least`.

    Where talk outweighs work with tools, the digest is larger and keeps most of its room for words; it leaves hardly
    anything free as long as it can hold what there is. Where there is more talk than that, the tail grows by up to
    `talk`: the newest turns are then the better guess.
    """

    tail: float = 0.05
    cap: float = 0.8
    layer: float = 0.5
    merge: float = 0.55
    least: float = 0.04
    quiet: float = 0.2
    talk: float = 0.75

    def prepare(self, view: View, budget: Budget, derived: Derived) -> None:
        """Index the entries that came since the last call."""
        Index.of(view, budget.usable, derived).prepare(view)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        limit, fixed = target.limit.tokens, target.fixed_size.tokens + target.due_notes.tokens
        free = free_room(limit, fixed)
        start, stop = leading_slots(view, target), slots_before_newest(view, target)
        first = Index.of(view, target.budget.usable, target.derived).first(view)
        talk, lost = _talk((unit for slot in view.slots[start:stop] for unit in units_in(slot, first)), free)
        tail = self.tail + self.talk * talk * lost
        quiet, merge = self.quiet * (1 - 0.9 * talk * (1 - lost)), self.merge + 0.35 * talk
        in_tail = tail * free - sum(slot.size.tokens for slot in view.slots[stop:])
        stop -= how_many_fit(reversed(view.slots[start:stop]), in_tail, notes=True)
        old = view.slots[start:stop]
        if not hides_a_unit(view, target, old):
            return
        newer = sum(slot.size.tokens for slot in view.slots[stop:] if slot.first not in target.required)
        room = limit - fixed - newer - quiet * free - HEADER
        cap = min(self.cap + 0.15 * talk, 1 - tail - quiet) * free
        layers = 1 + max((at for at, slot in enumerate(old) if isinstance(slot, Folded)), default=-1)
        in_layers = _staying_tokens(view, target, old[:layers], fold_texts=True)
        beside_layers = _staying_tokens(view, target, old[layers:])
        size = self.layer * (min(cap, room - beside_layers) - in_layers)
        if layers and size >= max(self.least * free, MIN_LAYER):
            old = old[layers:]
        else:
            size = min(merge * free, cap, room - _staying_tokens(view, target, old))
        yield from self._folds(view, target, foldable_runs(view, target, old), size, 1 - 0.8 * talk)

    def _folds(
        self, view: View, target: Target, found: Sequence[Sequence[Slot]], size: float, names: float
    ) -> Iterator[Fold]:
        """A digest of each run of slots, all of them together in about `size` tokens."""
        folded = [slot for run in found for slot in run]
        whole = sum(slot.size.tokens for slot in folded)
        for run in found:
            if hides_a_unit(view, target, run) or any(isinstance(slot, Folded) for slot in run):
                tokens = sum(slot.size.tokens for slot in run)
                share = min(size * tokens / whole, MAX_SHARE * tokens)
                text, quotes = digest_text(view, target, run, folded, share, names)
                yield Fold(first=run[0].first, last=run[-1].last, text=text, quotes=quotes, why=WHY)


def _staying_tokens(view: View, target: Target, slots: Sequence[Slot], *, fold_texts: bool = False) -> int:
    """Tokens of the pinned and protected turns among these slots, required ones aside; with the texts of folds, if
    asked for."""
    size = 0
    for slot in slots:
        if isinstance(slot, Folded):
            size += slot.size.tokens if fold_texts else sum(unit.size.tokens for unit in slot.surfaced_units)
        elif slot.key not in target.required and stays_visible(view, target, slot):
            size += slot.size.tokens
    return size


def _talk(units: Iterable[Unit], free: float) -> tuple[float, float]:
    """How far talk outweighs work with tools: 0 if there is as much work, 1 if there is only talk. And the share of
    the talk that no digest can hold."""
    talk = work = 0
    for unit in units:
        if len(unit.seqs) > 1:
            work += unit.untrimmed_size.tokens
        else:
            talk += unit.untrimmed_size.tokens
    return max(0.0, (talk - work) / max(1, talk + work)), 1 - min(1.0, TALK_RATIO * free / max(1, talk))
