"""A record that begins with the rolling summary: how one is made, and how the summary leaves it again."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from transom import texts
from transom.core.edit import Fold
from transom.core.summary import Summary
from transom.core.tokens import TokenCounter
from transom.core.unit import Folded, Slot
from transom.core.view import View
from transom.strategies.digest.changes import quoted_by
from transom.strategies.summary_wants import WHY

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
    record = texts.record_in(slot.text) if isinstance(slot, Folded) and slot.why == WHY else ""
    if not record or not isinstance(slot, Folded):
        return None
    return Fold(first=slot.first, last=slot.last, text=record, quotes=quoted_by(view, slot), why=RECORD_ONLY)


def shows_summary(slot: Slot, summary: Summary) -> bool:
    """Whether a fold begins with this summary."""
    return isinstance(slot, Folded) and slot.why == WHY and slot.text.startswith(summary.text + "\n")


def tokens_of_summaries(slots: Sequence[Slot], counter: TokenCounter) -> int:
    """Tokens of the summaries with which the records among these slots begin."""
    found = (slot for slot in slots if isinstance(slot, Folded) and slot.why == WHY)
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
