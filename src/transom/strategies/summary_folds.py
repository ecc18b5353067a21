"""A record that begins with the rolling summary: how one is made, how the summary leaves it again, and how another
one takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from transom import texts
from transom.core.choices import STAND_IN
from transom.core.draft import Draft
from transom.core.edit import Edit, Fold, Undo
from transom.core.policy import Target
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter
from transom.core.unit import FoldedSlot, Slot
from transom.core.view import View
from transom.strategies.candidates import free_room, stands_for_turns
from transom.strategies.digest.changes import quoted_by
from transom.strategies.summary_wants import WHY, shown_summary

RECORD_ONLY = "digest"
"""Why a fold is there whose text is a record alone."""

SPARE = 1.6
"""The end of a run that begins with the summary has turns of so many times its tokens, beside what their record
takes."""


def with_summary(fold: Fold, summary: Summary) -> Fold:
    """The fold of a record, with the summary in front of it."""
    return replace(fold, text=texts.summary_and_record(summary.text, fold.text), why=WHY)


def without_summary(view: View, slot: Slot) -> Fold | None:
    """A fold with the same record and without its summary; None if it is no such fold."""
    record = texts.record_in(slot.text) if isinstance(slot, FoldedSlot) and slot.why == WHY else ""
    if not record or not isinstance(slot, FoldedSlot):
        return None
    return Fold(first=slot.first, last=slot.last, text=record, quotes=quoted_by(view, slot), why=RECORD_ONLY)


def shows_summary(slot: Slot, summary: Summary) -> bool:
    """Whether a fold begins with this summary."""
    return isinstance(slot, FoldedSlot) and slot.why == WHY and slot.text.startswith(summary.text + "\n")


def must_show(summary: Summary) -> bool:
    """Whether a summary is shown whatever a record would hold in its place: it has notes, which are kept to the letter,
    or it only stands in for one that is to be made."""
    return bool(summary.notes) or summary.made_by == STAND_IN


def is_left_out(view: View) -> bool:
    """Whether the newest summary is in no fold, though its turns were folded when it was there already."""
    if (newest := view.summary) is None:
        return False
    seq, summary = newest
    later = any(isinstance(slot, FoldedSlot) and slot.seq > seq and slot.last >= summary.last for slot in view.slots)
    return later and not any(shows_summary(slot, summary) for slot in view.slots)


def folded_before(slots: Sequence[Slot], target: Target) -> Sequence[Slot]:
    """The slots up to the last fold: the turns whose summary may be made again, if the target says so."""
    if not target.may_replace_summary:
        return ()
    return slots[: 1 + max((at for at, slot in enumerate(slots) if stands_for_turns(slot)), default=-1)]


def whole_room(view: View, target: Target) -> float:
    """F as the budget has it. A compaction that was asked for has the limit where the window ends now, but the next
    request has the whole room."""
    limit = target.budget.limits(view.calibration).tokens
    return free_room(limit, target.fixed_size.tokens)


def summary_in_place(view: View, target: Target, slots: Sequence[Slot], most: float) -> Iterator[Edit]:
    """The edits after which these folds show the newest summary of their turns: in the place of the one that shows now,
    or in front of the newest record that has room for it. None if it shows already.

    A fold must be shorter than what it stands for, and a newer summary may be longer than the older one. So the folds
    of the same turns are taken back, and the new one stands for the turns themselves.
    """
    found = shown_summary(view, slots[-1].last + 1, most, target) if slots else None
    folds = [slot for slot in slots if isinstance(slot, FoldedSlot)]
    if found is None or any(shows_summary(slot, found[0]) for slot in folds):
        return
    for slot, text in _texts_with(view, found[0], folds[::-1]):
        others = [fold for other in folds if other is not slot and (fold := without_summary(view, other)) is not None]
        fold = Fold(
            first=slot.first, last=slot.last, text=text, quotes=quoted_by(view, slot), excerpted=slot.excerpted, why=WHY
        )
        edits = [*others, *(Undo(edit=seq, why=WHY) for seq in _folds_of_same_turns(slot)), fold]
        draft = Draft(view, 0.0)
        if all(draft.propose(target.as_logged(draft.view, edit)) for edit in edits):
            yield from edits
            return


def _texts_with(view: View, summary: Summary, folds: Sequence[FoldedSlot]) -> Iterator[tuple[FoldedSlot, str]]:
    """The folds that could show a summary, the best first, each with its text if it does."""
    for _, older in view.newest_summaries():
        for slot in folds:
            if shows_summary(slot, older):
                yield slot, summary.text + slot.text[len(older.text) :]
    for slot in folds:
        if texts.is_record(slot.text):
            yield slot, texts.summary_and_record(summary.text, slot.text)


def _folds_of_same_turns(slot: Slot) -> Iterator[int]:
    """A fold and those right under it that stand for the same turns, by their seqs."""
    while isinstance(slot, FoldedSlot):
        yield slot.seq
        slot, *others = slot.children
        if others:
            return


def tokens_of_summaries(slots: Sequence[Slot], counter: TokenCounter) -> int:
    """Tokens of the summaries with which the records among these slots begin."""
    found = (slot for slot in slots if isinstance(slot, FoldedSlot) and slot.why == WHY)
    return sum(max(0, slot.tokens - counter.count(texts.record_in(slot.text))) for slot in found)


def short_end(run: Sequence[Slot], of_summary: int, share: float, least: int) -> tuple[int, float]:
    """Where the end of a run begins that is long enough for the summary, and the part of the run's tokens it has. The
    turns before it become a record that stays when the summary changes. (0, 1) if nothing would be left before it.

    `share`: the tokens of the run's record, as a share of its turns, untrimmed. `least`: tokens of a record.
    """
    at, left = len(run), SPARE * of_summary / (1 - min(share, 0.5)) + least
    while at > 0 and left > 0:
        at -= 1
        left -= run[at].size.tokens
    if sum(slot.size.tokens for slot in run[:at]) < least:
        return 0, 1.0
    whole = sum(slot.untrimmed_size.tokens for slot in run)
    return at, sum(slot.untrimmed_size.tokens for slot in run[at:]) / max(1, whole)
