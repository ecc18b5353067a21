"""The strategy of the policy `native`: the provider's own compaction stands in place of old turns.

The fold has a record of the same turns as its text, and names the summary that holds the compaction. In the dialect of
the compaction the window shows the compaction; in any other it shows the record. So search, reading back and undo need
nothing of the provider.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.budget import Budget
from transom.core.edit import Edit, Fold, Undo
from transom.core.log import IndexCache
from transom.core.policy import Target
from transom.core.summary import Summarise, Summary
from transom.core.unit import FoldedSlot
from transom.core.view import View
from transom.strategies.candidates import MERGED, foldable_runs, free_room
from transom.strategies.record.index import Index
from transom.strategies.record.make_record import make_record
from transom.strategies.summary.folds import shows_summary, without_summary
from transom.strategies.summary.when_to_summarise import LEAST_GAIN, MOST_TOKENS

WHY = "compaction"
"""Why a fold is there that shows the provider's own compaction."""


class NativeCompaction(Struct, frozen=True, kw_only=True):
    """Folds the turns that the provider's newest compaction covers.

    It wants a compaction of the whole request, which the provider makes in the background from the messages that are
    sent. When the window is full next, the turns that the compaction covers are folded, and those that came since stay
    whole.

    It does nothing if there is no such compaction, if the provider has compacted the conversation by itself, or if an
    older fold reaches further than the compaction.
    """

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call, in `indexes`, so that a compaction need not do it."""
        Index.of(view, budget.usable, indexes).prepare(view)

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """Yield the want for a compaction of everything in the window, if at least a quarter of F, the free room
        (`free_room`), is new since the last one.

        Nothing if the provider has compacted the conversation by itself, or while a call of its own tools waits for a
        result.
        """
        if view.compaction is not None or view.waiting or not view.slots:
            return
        last, covered = view.slots[-1].last, next((one.last for _, one in compactions(view)), -1)
        new = sum(slot.size.tokens for slot in view.slots if slot.last > covered)
        if new >= LEAST_GAIN * free_room(target.limit.tokens, target.fixed_size.tokens):
            yield Summarise(last=last, turns=(), max_tokens=MOST_TOKENS, by_provider=True)

    def __call__(self, view: View, target: Target) -> Iterator[Edit]:
        found = next(compactions(view), None)
        if found is None or view.compaction is not None or shows_summary(view, view.slots[0], found[0]):
            return
        seq, summary = found
        run = [slot for slot in view.slots if slot.last <= summary.last]
        if not run or run[-1].last != summary.last or foldable_runs(view, target, run) != [run]:
            return
        size = MERGED * free_room(target.limit.tokens, target.fixed_size.tokens)
        record = make_record(view, target, run, run, size)
        # the task is in the compaction; what the model works on now is shown again
        task = (key for key in view.first_task if key != view.newest_user and run[0].first <= key <= summary.last)
        yield Fold(
            first=run[0].first,
            last=summary.last,
            text=record.text,
            excerpted=tuple(task),
            quotes=record.quotes,
            summary=seq,
            why=WHY,
        )


def compactions(view: View) -> Iterator[tuple[int, Summary]]:
    """Yield the compactions that the provider made in the dialect of the view: the summaries that hold them, each with
    its seq, the newest first."""
    for seq, summary in view.newest_summaries():
        if summary.compaction is not None and summary.compaction.dialect == view.counter.dialect:
            yield seq, summary


def without_compaction(view: View, seq: int, why: str) -> Iterator[Edit]:
    """Yield the edits that take the compaction in the summary `seq` out of use: each fold that shows it is replaced by
    one with its record alone, and the summary itself is undone."""
    for slot in view.slots:
        if isinstance(slot, FoldedSlot) and shows_summary(view, slot, seq) and (record := without_summary(view, slot)):
            yield from (Undo(edit=slot.seq, why=why), record)
    if view.is_live(seq):
        yield Undo(edit=seq, why=why)
