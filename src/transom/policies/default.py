"""The policies that behave like no other system: `default` and its variants, `sliding` and `passthrough`."""

from __future__ import annotations

from msgspec.structs import replace

from transom.core.policy import Choice, Policy
from transom.policies.last_resort import LAST_RESORT
from transom.recall import DropRecalled, Recall
from transom.strategies.arrival import ClipNew, unfitting_turn
from transom.strategies.fold.layered_records import Digest, NewSummary, OldSummary
from transom.strategies.fold.omission import Omit
from transom.strategies.shorten.forms import Stub, gone, marker
from transom.strategies.shorten.selectors import LargeOldResults, Media, OldReasoning
from transom.strategies.shorten.shorten import Enough, Shorten, Together
from transom.strategies.summary.native_compaction import NativeCompaction

PASSTHROUGH = Policy(name="passthrough", trigger=float("inf"))
"""Sends everything. A window that does not fit is refused with BudgetImpossible."""

OLD_MEDIA = Shorten(Media(old=True), marker, "media")
"""The first step of most policies, for windows with too many images or bytes: old images and files."""

OLD_REASONING = Shorten(OldReasoning(), gone, "old reasoning", Together(0.05))
"""The second step: drops the reasoning of old turns, if all of it together frees enough."""

SLIDING = Policy(name="sliding", pressure=(Omit(least=0.0),), last_resort=LAST_RESORT, trigger=1.0, target=0.9)
"""Sends the newest units that fit, as most libraries do: it leaves out a few old ones each time the window is full."""

DEFAULT = Policy(
    name="default",
    arrival=(ClipNew(), unfitting_turn),
    pressure=(OLD_MEDIA, OLD_REASONING, Digest()),
    last_resort=LAST_RESORT,
    trigger=1.0,
)
"""When the window is full, it first clips long results that no request has carried yet. If that is not enough, it folds
all but the newest turns into a record of what happened, with quotes (docs/record.md). Later compactions leave a record
as it is, until all records are merged into one.

`policy_named("default", keep_recent=0.3)` has other sizes.
"""

RECALL = replace(
    DEFAULT,
    name="recall",
    pressure=(DropRecalled(), *DEFAULT.pressure),
    last_resort=(DropRecalled(), *LAST_RESORT),
    recall=(Recall(),),
)
"""`DEFAULT`, which also brings back old entries that the user's message refers to and the window lacks
(docs/recall.md)."""

_WITH_SUMMARY = Digest(summary=0.06)
_DEEP = Digest(summary=0.03, keep_recent=0.2, cap=0.325, merge=0.25, quiet=0.5, least_quiet=0.5)

SUMMARY = replace(
    DEFAULT,
    name="summary",
    pressure=(OLD_MEDIA, OLD_REASONING, _WITH_SUMMARY),
    soft_trigger=0.8,
    choices=(
        Choice(
            name="stub old results",
            strategies=(OLD_MEDIA, OLD_REASONING, Shorten(LargeOldResults(), Stub(60), "stale", Enough())),
        ),
        Choice(name="digest", strategies=(OLD_MEDIA, OLD_REASONING, OldSummary(_WITH_SUMMARY))),
        Choice(name="summary", strategies=(OLD_MEDIA, OLD_REASONING, NewSummary(_DEEP))),
    ),
)
"""`DEFAULT`, with a rolling summary in front of the newest record, within the same room (docs/summaries.md).

The conversation's summarizer makes it in the background when the window is nearly full.
"""

NATIVE = replace(DEFAULT, name="native", pressure=(NativeCompaction(), *DEFAULT.pressure), soft_trigger=0.8)
"""`DEFAULT`, with the provider's own compaction in place of old turns (docs/summaries.md).

The provider makes it in the background when the window is nearly full. The fold has a record too, which takes over
where the provider has no compaction, or another model or provider goes on.
"""
