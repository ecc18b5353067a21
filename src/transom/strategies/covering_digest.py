"""The covering digest: old turns fold into passages of their own text, chosen so that every name that may be needed
again stands somewhere, once, in its surroundings.

Digests are kept in frozen layers: a cut appends a layer and leaves the older ones as they are, so that the prefix is
kept; when the layers are full they become one, made again from the originals.
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
from transom.strategies.digest.digest_text import HEADER, quoting
from transom.strategies.digest.index import Index
from transom.strategies.omission import before, leading, runs, stays

WHY = "digest"

SHRINKS = 0.85
"""The largest digest, as a share of what it stands for."""

SMALLEST = 3 * HEADER
"""Tokens of a layer that can hold anything."""

HOLDS = 3
"""How many times its size a digest of talk can stand for, about."""


class Digest(Struct, frozen=True, kw_only=True):
    """Folds all but the newest turns. Shares are of F, the room beside what must stand.

    `tail`: what stays as it is. `quiet`: what a cut leaves free. `cap`: all layers together; `layer`: a new one, of
    what is free under the cap; `merge`: the one that they become, if a new one would be under `least`.

    Of talk without tools a digest is larger and keeps most of its room for words. As long as it can hold what there is,
    it leaves hardly anything free; where there is more, the tail grows by up to `talk`: the newest is then the better
    guess.
    """

    tail: float = 0.05
    cap: float = 0.8
    layer: float = 0.5
    merge: float = 0.55
    least: float = 0.04
    quiet: float = 0.2
    talk: float = 0.75

    def prepare(self, view: View, budget: Budget, derived: Derived) -> None:
        """Index what came since."""
        Index.of(view, budget.usable, derived).ready(view)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        limit, fixed = target.limit.tokens, target.fixed_size.tokens + target.due_notes.tokens
        free = max(0.25 * limit, limit - fixed)
        start = leading(view, target)
        stop = before(view, target)
        first = Index.of(view, target.budget.usable, target.derived).first(view)
        talk, lost = _talk((unit for slot in view.slots[start:stop] for unit in units_in(slot, first)), free)
        tail = self.tail + self.talk * talk * lost
        quiet, merge = self.quiet * (1 - 0.9 * talk * (1 - lost)), self.merge + 0.35 * talk
        stop = _behind(view, target, start, tail * free)
        old = view.slots[start:stop]
        if not any(isinstance(slot, Unit) and not stays(view, target, slot) for slot in old):
            return
        newer = sum(slot.size.tokens for slot in view.slots[stop:] if slot.first not in target.required)
        room = limit - fixed - newer - quiet * free - HEADER
        cap = min(self.cap + 0.15 * talk, 1 - tail - quiet) * free
        layers = 1 + max((at for at, slot in enumerate(old) if isinstance(slot, Folded)), default=-1)
        used, kept = _shown(view, target, old[:layers], texts=True), _shown(view, target, old[layers:])
        size = self.layer * (min(cap, room - kept) - used)
        if layers and size >= max(self.least * free, SMALLEST):
            old = old[layers:]
        else:
            size = min(merge * free, cap, room - _shown(view, target, old))
        found = runs(view, target, old)
        gone = [slot for run in found for slot in run]
        whole = sum(slot.size.tokens for slot in gone)
        for run in found:
            if any(isinstance(slot, Folded) or not stays(view, target, slot) for slot in run):
                mine = sum(slot.size.tokens for slot in run)
                share = min(size * mine / whole, SHRINKS * mine)
                text, quotes = quoting(view, target, run, gone, share, 1 - 0.8 * talk)
                yield Fold(first=run[0].first, last=run[-1].last, text=text, quotes=quotes, why=WHY)


def _behind(view: View, target: Target, start: int, tail: float) -> int:
    """Where a tail of so many tokens begins: the newest turn is in it, and no fold."""
    stop = before(view, target)
    left = tail - sum(slot.size.tokens for slot in view.slots[stop:])
    while stop > start and isinstance(slot := view.slots[stop - 1], Unit) and slot.size.tokens <= left:
        stop, left = stop - 1, left - slot.size.tokens
    return stop


def _shown(view: View, target: Target, slots: Sequence[Slot], *, texts: bool = False) -> int:
    """Tokens of what stays of these slots beside what is required: pinned and kept turns; with the `texts` of folds."""
    size = 0
    for slot in slots:
        if isinstance(slot, Folded):
            size += slot.size.tokens if texts else sum(unit.size.tokens for unit in slot.surfaced_units)
        elif slot.key not in target.required and stays(view, target, slot):
            size += slot.size.tokens
    return size


def _talk(units: Iterable[Unit], free: float) -> tuple[float, float]:
    """How much more of the old is talk than work with tools, from 0, where there is as much work, to 1, where there is
    nothing but talk; and what share of it a digest cannot hold."""
    talk = work = 0
    for unit in units:
        if len(unit.seqs) > 1:
            work += unit.untrimmed_size.tokens
        else:
            talk += unit.untrimmed_size.tokens
    return max(0.0, (talk - work) / max(1, talk + work)), 1 - min(1.0, HOLDS * free / max(1, talk))
