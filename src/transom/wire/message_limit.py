"""`max_messages` as the provider counts: the messages of a window once it is rendered."""

from __future__ import annotations

from msgspec.structs import replace

from transom.core.budget import Budget
from transom.core.entry import Meta
from transom.core.frame import Frame
from transom.core.index_cache import IndexCache
from transom.core.plan import Plan, Ref, entry_ref, plan
from transom.core.policy import Policy
from transom.core.summary import Summary, SummaryOptions
from transom.core.view import View
from transom.errors import BudgetImpossible
from transom.wire.dialect import Dialect
from transom.wire.rendering import render_messages


def plan_rendered(
    view: View,
    frame: Frame,
    limits: Budget,
    policy: Policy,
    dialect: Dialect,
    *,
    at: float,
    ref: Ref = entry_ref,
    indexes: IndexCache | None = None,
    meta: Meta | None = None,
    summary_options: SummaryOptions | None = None,
    summary: Summary | None = None,
) -> Plan:
    """As `plan`, within `max_messages` also after rendering.

    A dialect may split a turn into several messages, or add some that its API insists on. Then the plan is made again
    with as many messages fewer. Raises BudgetImpossible, with the bill.
    """
    budget = limits
    while True:
        done = plan(
            view,
            frame,
            budget,
            policy,
            at=at,
            ref=ref,
            indexes=indexes,
            meta=meta,
            summary_options=summary_options,
            summary=summary,
        )
        if limits.max_messages is None or budget.max_messages is None:
            return done
        over = len(render_messages(done.window.view, dialect, indexes)) - limits.max_messages
        if over <= 0:
            return done
        if budget.max_messages == 1:
            raise BudgetImpossible({"need": limits.max_messages + over, "limit": limits.max_messages}, "messages")
        budget = replace(budget, max_messages=max(1, budget.max_messages - over))
