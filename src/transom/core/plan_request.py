"""Everything that a plan depends on, as values: `PlanRequest`, and in it `WindowOptions`, which the caller gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.log import IndexCache
from transom.core.message import Assistant, Head
from transom.core.policy import Policy
from transom.core.redact_derived_text import Redact
from transom.core.summary import Summary, SummaryOptions
from transom.core.view import View

Ref = Callable[[int], str]
"""Gives the words by which a text names the entry with a seq."""


def entry_ref(seq: int) -> str:
    """The words by which texts name an entry of a log: "entry 412"."""
    return f"entry {seq}"


_NO_STATE: Mapping[str, str] = {}


class WindowOptions(Struct, frozen=True, kw_only=True):
    """What the caller wants in a window beside the conversation.

    - `head`: system prompt and tools, before everything else, as they were given.
    - `state`: texts by key (mode, goal, todo). Each is announced in a note when it changes, and again when its note is
      not visible any more. When a key is gone, a note says so.
    - `redact`: applied to the text of every fold, summary request and recalled text; None redacts nothing.
    - `required_user_turn`: for providers that refuse a window that ends with a turn of the model. It is called with
      that turn, and returns the text of the user turn to add; an empty text if none is needed. None: never needed.
    """

    head: Head = Head()
    state: Mapping[str, str] = _NO_STATE
    redact: Redact | None = None
    required_user_turn: Callable[[Assistant], str] | None = None


class PlanRequest(Struct, frozen=True, eq=False):
    """Everything that a plan depends on. The same request gives the same plan.

    - `view`: what the log shows now. `options`: what the caller wants beside it.
    - `budget`: the limits of the window. `policy`: how the window is kept within them.
    - `is_model_limit`: the context window of `budget` is the model's, known or learned, and smaller than the caller's.
    - `model`: the model that it is planned for, as "provider:model"; empty if none was named.
    - `at`: the time of the new entries, in seconds since 1970. `meta`: stored with the facts that the plan adds.
    - `ref`: how texts name an entry. `indexes`: what earlier plans have computed from the log, to save work.
    - `summary_options`: None if nobody can make a summary; then `Plan.wants` is empty.
    - `summary`: a finished one that the request waited for; it becomes the first entry of the plan. None: there is
      none.
    """

    view: View
    options: WindowOptions
    budget: Budget
    policy: Policy
    at: float = 0.0
    ref: Ref = entry_ref
    indexes: IndexCache = field(default_factory=IndexCache)
    meta: Meta | None = None
    summary_options: SummaryOptions | None = None
    summary: Summary | None = None
    model: str = ""
    is_model_limit: bool = False
