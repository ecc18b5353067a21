"""The rolling digest: the one summary that many systems keep, made without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from transom.core.budget import UNLIMITED, Budget
from transom.core.derived import Derived
from transom.core.edit import Edit, Fold
from transom.core.message import User
from transom.core.policy import Target
from transom.core.tokens import Size
from transom.core.unit import Slot, Unit
from transom.core.view import View
from transom.strategies.candidates import (
    foldable_runs,
    free_room,
    freed_by_folding,
    hides_a_unit,
    how_many_fit,
    is_worth_a_break,
    leading_slots,
    slots_before_newest,
)
from transom.strategies.digest.digest_text import digest_text
from transom.strategies.digest.index import Index
from transom.strategies.digest.tool_lines import TOOL_LINES, ToolLine


class Rolling(Struct, frozen=True, kw_only=True):
    """Folds everything between both ends into one covering digest. Each compaction makes it again from the original
    entries: an older digest goes into the new one, and nothing is summarised twice.

    The digest has min(`size`, `share` of F) tokens, and at most half of what it frees. F is the room beside what must
    stay. Whole turns stay at both ends. At the front, behind the leading task: `first` messages, within the size of
    the digest. At the end: the newest turn, or everything from the `rounds`-th newest user message on, and before it
    the newest turns of min(`tail`, `tail_share` of F) tokens and `last` messages. Nothing happens if that lowers the
    pressure by less than `least`. `tools`: the table by which the lines of calls are written.
    """

    size: int = 4_000
    share: float = 0.15
    first: int = 0
    tail: int = 0
    tail_share: float = 0.25
    last: int = UNLIMITED
    rounds: int = 0
    least: float = 0.05
    tools: tuple[ToolLine, ...] = TOOL_LINES

    def prepare(self, view: View, budget: Budget, derived: Derived) -> None:
        """Index the entries that came since the last call."""
        Index.of(view, budget.usable, derived, self.tools).prepare(view)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        Index.of(view, target.budget.usable, target.derived, self.tools)
        limit = target.limit.tokens
        free = free_room(limit, target.fixed_size.tokens + target.due_notes.tokens)
        size = min(self.size, self.share * free)
        found = foldable_runs(view, target, self._between_ends(view, target, size, free))
        found = [run for run in found if hides_a_unit(view, target, run)]
        folded = list(chain(*found))
        freed = freed_by_folding(view, target, folded)
        whole_limit = target.budget.limits(view.calibration).tokens  # the policy's own limit may be lower
        fitting = whole_limit - target.due_notes.tokens - view.total.tokens + freed.tokens
        size = min(size, freed.tokens / 2, fitting)
        saved = freed.minus(Size(int(size), 0, 0, len(found)))
        if is_worth_a_break(view, target, saved, self.least):
            for run in found:
                digest = digest_text(view, target, run, folded, size / len(found), 1.0)
                yield Fold(first=run[0].first, last=run[-1].last, text=digest.text, quotes=digest.quotes, why="digest")

    def _between_ends(self, view: View, target: Target, size: float, free: float) -> Sequence[Slot]:
        """The slots between both ends."""
        stop = slots_before_newest(view, target)
        if self.rounds:
            users = [at for at, slot in enumerate(view.slots) if isinstance(slot, Unit) and isinstance(slot.head, User)]
            stop = min(stop, users[-self.rounds] if self.rounds <= len(users) else 0)
        start = min(leading_slots(view, target), stop)
        start += how_many_fit(view.slots[start:stop], int(size), messages=self.first)
        tail = min(self.tail, self.tail_share * free)
        last = self.last
        if target.budget.max_messages is not None:
            after = sum(slot.size.messages for slot in view.slots[stop:] if slot.first not in target.required)
            last = min(last, target.deep_goal.messages - target.fixed_size.messages - 1 - after)
        return view.slots[start : stop - how_many_fit(reversed(view.slots[start:stop]), int(tail), messages=last)]
