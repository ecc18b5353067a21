"""Folds that show a summary in front of their record: how such a fold is made, how it loses the summary again, and how
another summary takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from transom import texts
from transom.core.edit import Edit, Fold, Undo
from transom.core.plan_draft import Draft
from transom.core.policy import Target
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter
from transom.core.unit import FoldedSlot, Slot
from transom.core.view import View
from transom.strategies.candidates import free_room, stands_for_turns
from transom.strategies.summary.when_to_summarise import WHY, ShownSummary, shown_summary

RECORD_ONLY = "digest"
"""Why a fold is there whose text is a record alone."""

SPARE = 1.6
"""How many times the tokens of the summary the turns of a short end must have (`short_end`), without the tokens of
their record."""


def with_summary(fold: Fold, seq: int, summary: Summary) -> Fold:
    """A copy of the fold, whose text is a record alone, with the summary in front of the record. `seq`: of the summary
    in the log."""
    text = texts.summary_and_record(summary.text, fold.text)
    return replace(fold, text=text, summary=seq, summary_end=len(summary.text), why=WHY)


def without_summary(view: View, slot: Slot) -> Fold | None:
    """The fold with the record of this slot and without its summary; None for a unit, and if the fold of the slot has
    no summary or no record."""
    fold = fold_of(view, slot)
    if fold is None or fold.summary is None or not (record := _record_of(fold)):
        return None
    return Fold(first=slot.first, last=slot.last, text=record, quotes=fold.quotes, why=RECORD_ONLY)


def fold_of(view: View, slot: Slot) -> Fold | None:
    """The fold that made a slot; None for a unit, and for a slot that holds what the provider has compacted."""
    body = view.fetch(slot.seq).body if isinstance(slot, FoldedSlot) else None
    return body if isinstance(body, Fold) else None


def shows_summary(view: View, slot: Slot, seq: int) -> bool:
    """Whether the fold of this slot begins with the summary with this seq. False for a unit."""
    fold = fold_of(view, slot)
    return fold is not None and fold.summary == seq


def _record_of(fold: Fold) -> str:
    """The record of a fold, without its summary; empty if the rest of its text is no record."""
    text = fold.text[fold.summary_end :].removeprefix("\n")
    return text if texts.is_record(text) else ""


def folded_before(slots: Sequence[Slot], target: Target) -> Sequence[Slot]:
    """The slots up to the last fold of turns: their summary may be made again. Empty if the target does not allow it,
    or if nothing is folded."""
    if not target.may_replace_summary:
        return ()
    return slots[: 1 + max((at for at, slot in enumerate(slots) if stands_for_turns(slot)), default=-1)]


def whole_room(view: View, target: Target) -> float:
    """F, the free room (`free_room`), under the limit of the whole budget, in tokens.

    The limit of the target may be lower: because of the policy's `own_limits`, because of prices, or because somebody
    asks for a compaction, which takes the present size of the window as its limit. The next request has the limit of
    the budget.
    """
    limit = target.budget.limits(view.calibration).tokens
    return free_room(limit, target.fixed_size.tokens)


def summary_in_place(view: View, target: Target, slots: Sequence[Slot], most: float) -> Iterator[Edit]:
    """Yield the edits after which one of these slots, folds among them, shows the newest summary of their turns: in
    place of an older summary, else in front of the newest record that has room for it. The other folds lose their
    summaries. Nothing if one shows it already, if it has more than `most` tokens, or if no fold can show it.

    A fold must be shorter than what it stands for, and a newer summary may be longer than the older one. So the folds
    of the same turns are undone first, and the new one stands for the turns themselves.
    """
    found = shown_summary(view, slots[-1].last + 1, most, target) if slots else None
    folds = [(slot, fold) for slot in reversed(slots) if (fold := fold_of(view, slot)) is not None]
    if found is None or any(fold.summary == found.seq for _, fold in folds):
        return
    for slot, fold in _that_could_show(view, found, folds):
        others = [one for other, _ in reversed(folds) if other is not slot and (one := without_summary(view, other))]
        edits = [*others, *(Undo(edit=seq, why=WHY) for seq in _folds_of_same_turns(slot)), fold]
        draft = Draft(view, 0.0)
        if all(draft.propose(target.as_logged(draft.view, edit)) for edit in edits):
            yield from edits
            return


def _that_could_show(view: View, new: ShownSummary, folds: Sequence[tuple[Slot, Fold]]) -> Iterator[tuple[Slot, Fold]]:
    """Yield the slots that could show a summary, each with its fold: newest older summaries, then records."""
    seq, summary, _ = new
    for older, _ in view.newest_summaries():
        for slot, fold in folds:
            if fold.summary == older:
                text = summary.text + fold.text[fold.summary_end :]
                yield slot, replace(fold, text=text, summary=seq, summary_end=len(summary.text), why=WHY)
    for slot, fold in folds:
        if record := _record_of(fold):
            yield slot, with_summary(replace(fold, text=record), seq, summary)


def _folds_of_same_turns(slot: Slot) -> Iterator[int]:
    """Yield the seqs of the fold that made a slot, and of those under it that stand for the same turns."""
    while isinstance(slot, FoldedSlot):
        yield slot.seq
        slot, *others = slot.children
        if others:
            return


def tokens_of_summaries(view: View, slots: Sequence[Slot], counter: TokenCounter) -> int:
    """The tokens of the summaries that the folds among these slots show, together, about."""
    tokens = 0
    for slot in slots:
        if isinstance(slot, FoldedSlot) and (fold := fold_of(view, slot)) is not None and fold.summary is not None:
            tokens += max(0, slot.tokens - counter.count(_record_of(fold)))
    return tokens


def short_end(run: Sequence[Slot], of_summary: int, share: float, least: int) -> tuple[int, float]:
    """Find the short end of a run that is long enough for a fold with the summary: the index where it begins, and the
    part of the run's tokens that it has. (0, 1), all of the run, if too little would be left before it for a record.

    `of_summary`: tokens of the summary. `share`: the tokens of the run's record, as a share of its turns, untrimmed.
    `least`: tokens of the smallest record.
    """
    at, left = len(run), SPARE * of_summary / (1 - min(share, 0.5)) + least
    while at > 0 and left > 0:
        at -= 1
        left -= run[at].size.tokens
    if sum(slot.size.tokens for slot in run[:at]) < least:
        return 0, 1.0
    whole = sum(slot.untrimmed_size.tokens for slot in run)
    return at, sum(slot.untrimmed_size.tokens for slot in run[at:]) / max(1, whole)


def why_not_shown(view: View) -> str:
    """Say, in a sentence for people, why the window does not show the newest summary; empty if it does, or if there is
    none."""
    if (newest := view.summary) is None or any(shows_summary(view, slot, newest[0]) for slot in view.slots):
        return ""
    seq, summary = newest
    is_late = any(isinstance(slot, FoldedSlot) and slot.seq > seq and slot.last >= summary.last for slot in view.slots)
    why = "the last compaction had no fold with room for it" if is_late else "the next compaction will show it"
    return f"the newest summary, entry {seq}, is not in the window: {why}"
