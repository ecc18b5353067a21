"""The strategy `RollingRecord`: one record of all old turns, as other systems keep one summary of them, made without a
model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from transom import texts
from transom.core.budget import UNLIMITED, Budget
from transom.core.edit import Edit, Fold
from transom.core.log import IndexCache
from transom.core.policy import Target
from transom.core.ranges import Count, Share
from transom.core.summary import Summarise
from transom.core.tokens import Size
from transom.core.unit import FoldedSlot, Slot, Unit
from transom.core.view import View
from transom.strategies.actions.tool_table import TOOLS, ToolRow
from transom.strategies.candidates import (
    cut_before_user,
    foldable_runs,
    free_room,
    freed_by_folding,
    hides_a_unit,
    how_many_fit,
    is_worth_a_break,
    leading_slots,
    saves_tokens,
    slots_before_newest,
)
from transom.strategies.record.index import Index
from transom.strategies.record.make_record import make_record
from transom.strategies.summary.folds import folded_before, shows_summary, summary_in_place, whole_room, with_summary
from transom.strategies.summary.when_to_summarise import shown_summary, summary_want
from transom.strategies.text.references import range_reference

MAX_CUT_BEFORE_USER = 0.5
"""The greatest share of the newest turns that is given up so that they begin with a user message."""

SPAN_TOKENS = 40
"""Tokens of the line that says which turns a summary stands for, about."""


class RollingRecord(Struct, frozen=True, kw_only=True):
    """Folds everything between both ends of the window into one record. Each compaction makes it again from the
    original entries: an older record goes into the new one, and nothing is summarised twice. (A slot that the user
    restored stays, and divides it into two records, which share its tokens.)

    The record has min(`size`, `share` of F) tokens, and at most half of what it frees. F is the room beside what must
    stay (`free_room`). Nothing happens if the fold would lower the pressure by less than `least`, unless the window
    does not fit. `tools`: the table by which the lines of calls are written.

    Whole turns stay at both ends:

    - at the front, behind the first task, `first` messages, as far as they have no more tokens than the record;
    - at the end, the newest turn, or with `rounds` everything from the `rounds`-th newest user message on; and before
      it the newest turns of min(`tail`, `tail_share` of F) tokens together, at most `last` messages.

    If the conversation has a summarizer, a summary that a model made of the same turns takes the place of the record. A
    summary of fewer turns, or one that no model made, stands in front of the record.
    """

    size: Count = 4_000
    share: Share = 0.15
    first: Count = 0
    tail: Count = 0
    tail_share: Share = 0.25
    last: Count = UNLIMITED
    rounds: Count = 0
    least: Share = 0.05
    tools: tuple[ToolRow, ...] = TOOLS

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call, in `indexes`, so that a compaction need not do it."""
        Index.of(view, budget.usable, indexes, self.tools).prepare(view)

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """Yield the want for the summary that is to take the place of the record, or nothing (see `summary_want`).

        It is a summary of all turns up to the last that would be folded now; if nothing would be, of the turns that are
        folded, to replace their summary.
        """
        found, folded, size, saved = self._choice(view, target)
        if found and is_worth_a_break(view, target, saved, self.least):
            free = free_room(target.limit.tokens, target.fixed_size.tokens)
            yield from summary_want(view, target, folded, free=free, most=size / len(found) - SPAN_TOKENS)
        else:
            old, free = folded_before(view.slots, target), whole_room(view, target)
            yield from summary_want(view, target, old, free=free, most=self._most(free) - SPAN_TOKENS)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        found, folded, size, saved = self._choice(view, target)
        if not is_worth_a_break(view, target, saved, self.least):
            if view.summary is not None and not view.summary[1].degraded:
                most = self._most(whole_room(view, target))
                yield from summary_in_place(view, target, folded_before(view.slots, target), most)
            return
        most = self._most(whole_room(view, target))
        newest = shown_summary(view, folded[-1].last + 1, most, target) if found else None
        for run in found:
            shown = newest if run is found[-1] else None
            is_of_all = shown is not None and not shown.summary.degraded and shown.summary.last >= folded[-1].last
            if shown is not None and is_of_all and shown.tokens <= size / len(found):
                count = sum(slot.unit_count if isinstance(slot, FoldedSlot) else 1 for slot in run)
                tokens = sum(slot.untrimmed_size.tokens for slot in run)
                span = texts.summarised_turns(range_reference(view, target, run), count, tokens)
                fold = Fold(first=run[0].first, last=run[-1].last, text=span)
                fold = with_summary(fold, shown.seq, shown.summary)
                if view.refusal(fold) is None:
                    yield fold
                    continue
            made = make_record(view, target, run, folded, size / len(found))
            fold = Fold(first=run[0].first, last=run[-1].last, text=made.text, quotes=made.quotes, why="digest")
            if shown is not None:
                both = with_summary(fold, shown.seq, shown.summary)
                if saves_tokens(view, target, run, both.text):
                    yield both
                    continue
                if not target.over_limit and any(shows_summary(view, slot, shown.seq) for slot in run):
                    continue  # better no fold than one that loses the summary for a few tokens
            if saves_tokens(view, target, run, made.text):
                yield fold

    def _most(self, free: float) -> float:
        return min(self.size, self.share * free)

    def _choice(self, view: View, target: Target) -> tuple[Sequence[Sequence[Slot]], Sequence[Slot], float, Size]:
        """The runs of slots to fold, all of their slots, the tokens of the record, and about what the fold saves."""
        Index.of(view, target.budget.usable, target.indexes, self.tools)
        free = free_room(target.limit.tokens, target.fixed_size.tokens)
        size = self._most(free)
        found = foldable_runs(view, target, self._between_ends(view, target, size, free))
        found = [run for run in found if hides_a_unit(view, target, run)]
        folded = list(chain(*found))
        freed = freed_by_folding(view, target, folded)
        whole_limit = target.budget.limits(view.calibration).tokens  # the policy's own limit may be lower
        fitting = whole_limit - target.due_notes.tokens - view.total.tokens + freed.tokens
        size = min(size, freed.tokens / 2, fitting)
        return found, folded, size, freed.minus(Size(int(size), 0, 0, len(found)))

    def _between_ends(self, view: View, target: Target, size: float, free: float) -> Sequence[Slot]:
        """The slots between both ends, as the docstring of the class defines these."""
        stop = slots_before_newest(view, target)
        if self.rounds:
            users = [at for at, slot in enumerate(view.slots) if isinstance(slot, Unit) and slot.by_user]
            stop = min(stop, users[-self.rounds] if self.rounds <= len(users) else 0)
        start = min(leading_slots(view, target), stop)
        start += how_many_fit(view.slots[start:stop], int(size), messages=self.first)
        tail = min(self.tail, self.tail_share * free)
        last = self.last
        if target.budget.max_messages is not None:
            after = sum(slot.size.messages for slot in view.slots[stop:] if slot.first not in target.required)
            last = min(last, target.deep_goal.messages - target.fixed_size.messages - 1 - after)
        kept = how_many_fit(reversed(view.slots[start:stop]), int(tail), messages=last, behind_fold=True)
        end = stop - kept
        return view.slots[start : end + cut_before_user(view, view.slots[end : stop + 1], MAX_CUT_BEFORE_USER * tail)]
