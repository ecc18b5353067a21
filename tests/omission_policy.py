"""A policy without a digest: what is old is stubbed or left out. Its windows are short enough to be compared whole."""

from __future__ import annotations

from transom.core.policy import Policy
from transom.policies.default import OLD_MEDIA, OLD_REASONING
from transom.policies.last_resort import LAST_RESORT
from transom.strategies import Clip, Enough, FreshResults, LargeOldResults, Shorten, Stub
from transom.strategies.actions.tool_table import PLAN_TOOLS
from transom.strategies.fold.omission import Omit
from transom.strategies.keep import KeepTools, KeepUsers

OMISSION = Policy(
    name="omission",
    keep=(KeepTools(PLAN_TOOLS), KeepUsers()),
    arrival=(Shorten(FreshResults(), Clip(), "clip"),),
    pressure=(OLD_MEDIA, OLD_REASONING, Shorten(LargeOldResults(), Stub(60), "stale", Enough()), Omit()),
    last_resort=LAST_RESORT,
    trigger=0.95,
    target=0.4,
)
