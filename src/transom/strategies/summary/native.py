"""The provider's own compaction in place of old turns, with a record of them beside it.

The fold has the record as its text, and names the summary with the compaction. In the dialect of the compaction the
window shows that; in any other, and once no fold names it any more, the record. So search, reading back and undo need
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
from transom.strategies.digest.digest_text import digest_text
from transom.strategies.digest.index import Index
from transom.strategies.summary.folds import shows_summary, without_summary
from transom.strategies.summary.wants import LEAST_GAIN, MOST_TOKENS

WHY = "compaction"
"""Why a fold is there that shows the provider's own compaction."""


class NativeCompaction(Struct, frozen=True, kw_only=True):
    """Folds everything that the provider's newest compaction stands for.

    It wants one of the whole request, made in the background on the very messages that are sent. Once there is one, the
    first compaction of a full window folds the turns that it covers, and those that came since stay whole. It does
    nothing without one, if the provider has compacted the conversation by itself, or if an older fold reaches further
    than the compaction.
    """

    def prepare(self, view: View, budget: Budget, indexes: IndexCache) -> None:
        """Index the entries that came since the last call."""
        Index.of(view, budget.usable, indexes).prepare(view)

    def wants(self, view: View, target: Target) -> Iterator[Summarise]:
        """A compaction of all that the next request sends, if enough of it is new."""
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
        record = digest_text(view, target, run, run, size)
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
    """The summaries that the provider made itself, in the dialect of the view, each with its seq, the newest first."""
    for seq, summary in view.newest_summaries():
        if summary.compaction is not None and summary.compaction.dialect == view.counter.dialect:
            yield seq, summary


def without_compaction(view: View, seq: int, why: str) -> Iterator[Edit]:
    """The edits after which no fold shows the compaction of the summary with this seq, now or later: a record takes its
    place."""
    for slot in view.slots:
        if isinstance(slot, FoldedSlot) and shows_summary(view, slot, seq) and (record := without_summary(view, slot)):
            yield from (Undo(edit=slot.seq, why=why), record)
    if view.is_live(seq):
        yield Undo(edit=seq, why=why)
