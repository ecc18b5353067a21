"""`PlanRequest`: what a plan is asked for with."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.frame import Frame
from transom.core.index_cache import IndexCache
from transom.core.policy import Policy
from transom.core.summary import Summary, SummaryOptions
from transom.core.view import View

Ref = Callable[[int], str]
"""Gives the words by which a text names the entry with a seq."""


def entry_ref(seq: int) -> str:
    """The words by which texts name an entry of a log: "entry 412"."""
    return f"entry {seq}"


class PlanRequest(Struct, frozen=True, eq=False):
    """Everything that a plan depends on. The same request gives the same plan.

    - `view`: what the log shows now. `frame`: the head and the state that the caller wants.
    - `at`: the time of the new entries, in seconds since 1970. `meta`: stored with the facts that the plan adds.
    - `ref`: how texts name an entry. `indexes`: indexes of the log that earlier plans have made.
    - `summary_options`: if given, summaries are wanted too (`Plan.wants`).
    - `summary`: a finished one that the request waited for; it becomes the first entry of the plan.
    """

    view: View
    frame: Frame
    budget: Budget
    policy: Policy
    at: float = 0.0
    ref: Ref = entry_ref
    indexes: IndexCache = field(default_factory=IndexCache)
    meta: Meta | None = None
    summary_options: SummaryOptions | None = None
    summary: Summary | None = None
