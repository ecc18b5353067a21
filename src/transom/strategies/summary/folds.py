"""A record that begins with the rolling summary: how one is made, how the summary leaves it again, and how another
one takes its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from transom import texts
from transom.core.draft import Draft
from transom.core.edit import Edit, Fold, Undo
from transom.core.policy import Target
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter
from transom.core.unit import FoldedSlot, Slot
from transom.core.view import View
from transom.strategies.candidates import free_room, stands_for_turns
from transom.strategies.summary.wants import WHY, ShownSummary, shown_summary

RECORD_ONLY = "digest"
"""Why a fold is there whose text is a record alone."""

SPARE = 1.6
"""The end of a run that begins with the summary has turns of this many times its tokens, beside what their record
takes."""


def with_summary(fold: Fold, seq: int, summary: Summary) -> Fold:
    """The fold of a record, with the summary with this seq in front of it."""
    text = texts.summary_and_record(summary.text, fold.text)
    return replace(fold, text=text, summary=seq, summary_end=len(summary.text), why=WHY)


def without_summary(view: View, slot: Slot) -> Fold | None:
    """A fold with the same record and without its summary; None if it has no summary, or no record."""
    fold = fold_of(view, slot)
    if fold is None or fold.summary is None or not (record := _record_of(fold)):
        return None
    return Fold(first=slot.first, last=slot.last, text=record, quotes=fold.quotes, why=RECORD_ONLY)


def fold_of(view: View, slot: Slot) -> Fold | None:
    """The fold that made a slot; None for a unit, and for what the provider has compacted."""
    body = view.fetch(slot.seq).body if isinstance(slot, FoldedSlot) else None
    return body if isinstance(body, Fold) else None


def shows_summary(view: View, slot: Slot, seq: int) -> bool:
    """Whether a fold begins with the summary with this seq."""
    fold = fold_of(view, slot)
    return fold is not None and fold.summary == seq


def _record_of(fold: Fold) -> str:
    """The record of a fold, without its summary; empty if it has none, but an omission or the line of a summary that
    stands in place of its turns."""
    text = fold.text[fold.summary_end :].removeprefix("\n")
    return text if texts.is_record(text) else ""


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
    """The slots that could show a summary, each with its fold if it does, the best first: those that show an older one,
    the newest of these first; then records."""
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
    """A fold and those right under it that stand for the same turns, by their seqs."""
    while isinstance(slot, FoldedSlot):
        yield slot.seq
        slot, *others = slot.children
        if others:
            return


def tokens_of_summaries(view: View, slots: Sequence[Slot], counter: TokenCounter) -> int:
    """Tokens of the summaries with which the records among these slots begin."""
    tokens = 0
    for slot in slots:
        if isinstance(slot, FoldedSlot) and (fold := fold_of(view, slot)) is not None and fold.summary is not None:
            tokens += max(0, slot.tokens - counter.count(_record_of(fold)))
    return tokens


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


def why_not_shown(view: View) -> str:
    """Why the window does not show the newest summary, as a sentence for people; empty if it does, or there is none."""
    if (newest := view.summary) is None or any(shows_summary(view, slot, newest[0]) for slot in view.slots):
        return ""
    seq, summary = newest
    is_late = any(isinstance(slot, FoldedSlot) and slot.seq > seq and slot.last >= summary.last for slot in view.slots)
    why = "the last compaction had no fold with room for it" if is_late else "the next compaction will show it"
    return f"the newest summary, entry {seq}, is not in the window: {why}"
