"""One rolling digest: the summarising step of systems that keep a single summary, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain

from msgspec import Struct

from transom.core.budget import UNLIMITED, Budget, fits
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold
from transom.core.message import Note, User
from transom.core.policy import Target
from transom.core.tokens import ZERO, Size
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.strategies.digest.digest_text import quoting
from transom.strategies.digest.index import Index
from transom.strategies.omission import before, freed, leading, runs, stays


class Rolling(Struct, frozen=True, kw_only=True):
    """Folds all between both ends into one covering digest, made again from the originals at each cut: an older digest
    goes into the new one, and nothing is summarised twice.

    It has min(`size`, `share` of F) tokens, F being the room beside what must stand, and at most half of what it frees.
    Whole turns stay: in front, behind the leading task, `first` messages that come to no more than the digest may; at
    the end the newest turn, or everything from the `rounds`-th newest user message on, and before it as much as comes
    to min(`tail`, `tail_share` of F) tokens and `last` messages. A cut that brings the pressure down by less than
    `least` is not worth its break.
    """

    size: int = 4_000
    share: float = 0.15
    first: int = 0
    tail: int = 0
    tail_share: float = 0.25
    last: int = UNLIMITED
    rounds: int = 0
    least: float = 0.05

    def prepare(self, view: View, budget: Budget, derived: Derived) -> None:
        """Index what came since."""
        Index.of(view, budget.usable, derived).ready(view)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        limit, whole = target.limit.tokens, target.budget.limits(view.calibration).tokens
        free = max(0.25 * limit, limit - target.fixed_size.tokens - target.due_notes.tokens)
        size = min(self.size, self.share * free)
        found = runs(view, target, self._between(view, target, size, free))
        old = [run for run in found if any(isinstance(s, Unit) and not stays(view, target, s) for s in run)]
        gone = list(chain(*old))
        gain = reduce(Size.plus, (freed(view, target, slot) for slot in gone), ZERO)
        size = min(size, gain.tokens / 2, whole - target.due_notes.tokens - view.total.tokens + gain.tokens)
        saved = gain.minus(Size(int(size), 0, 0, len(old)))
        if target.hard or target.pressure(view) - target.pressure(view, saved) >= self.least:
            for run in old:
                text, quotes = quoting(view, target, run, gone, size / len(old), 1.0)
                yield Fold(first=run[0].first, last=run[-1].last, text=text, quotes=quotes, why="digest")

    def _between(self, view: View, target: Target, size: float, free: float) -> Sequence[Slot]:
        """The slots between both ends."""
        stop = before(view, target)
        if self.rounds:
            users = [at for at, slot in enumerate(view.slots) if isinstance(slot, Unit) and isinstance(slot.head, User)]
            stop = min(stop, users[-self.rounds] if self.rounds <= len(users) else 0)
        start = min(leading(view, target), stop)
        start += _fitting(view.slots[start:stop], size, self.first)
        tail = min(self.tail, self.tail_share * free)
        return view.slots[start : stop - _fitting(reversed(view.slots[start:stop]), tail, self.last)]


def _fitting(slots: Iterable[Slot], tokens: float, messages: int) -> int:
    """How many turns from here on there is room for, up to a fold; notes, which a plan adds, take none (law 8)."""
    count, left = 0, Size(int(tokens), UNLIMITED, UNLIMITED, messages)
    for slot in slots:
        size = ZERO if isinstance(slot, Unit) and isinstance(slot.head, Note) else slot.size
        if not isinstance(slot, Unit) or not fits(size, left):
            break
        count, left = count + 1, left.minus(size)
    return count
