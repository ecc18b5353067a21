"""A policy without a digest: what is old is stubbed or left out. Its windows are short enough to be compared whole."""

from __future__ import annotations

from transom.core.policy import Policy
from transom.policies.plain import LAST_RESORT
from transom.strategies.arrival import Clip
from transom.strategies.digest.tool_lines import PLAN_TOOLS
from transom.strategies.elide import DropMedia
from transom.strategies.keep import KeepTools, KeepUsers
from transom.strategies.omission import Omit
from transom.strategies.reasoning import DropReasoning
from transom.strategies.stale_results import StubStale

OMISSION = Policy(
    name="omission",
    keep=(KeepTools(PLAN_TOOLS), KeepUsers()),
    arrival=(Clip(),),
    pressure=(DropMedia(only_as_needed=True), DropReasoning(), StubStale(), Omit()),
    last_resort=LAST_RESORT,
    trigger=0.95,
    target=0.4,
)
