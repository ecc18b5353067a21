"""Adds up the tokens and costs of requests to models, by conversation and by run, from the entries of stored logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from transom.core.entry import Entry, Forked
from transom.core.log import owner_of
from transom.core.usage import TotalUsage
from transom.errors import StoreDamaged, UnknownLog
from transom.stores.base import Store
from transom.stores.urls import store_in_use


def usage_of(entries: Iterable[Entry], *, agents: bool = True) -> TotalUsage:
    """Add up the tokens and costs of the requests that these entries record, for example of a whole log:
    `usage_of(log.read())`.

    `agents`: whether the requests of the sub-agents that the conversation called count too. In a fork, only what
    follows the copied entries counts.
    """
    total = TotalUsage()
    for entry in entries:
        total = total.plus_entry(entry, agents=agents)
    return total


def usage_by_run(entries: Iterable[Entry]) -> dict[str, TotalUsage]:
    """Add up the tokens and costs of the requests that these entries record, for each run. The keys are the ids that
    runs have in `Meta.evaluation_id`.

    Summaries, and replies that were logged with `observe`, belong to no run: they are under the empty text. The
    requests of sub-agents count for the run that called them. In a fork, only what follows the copied entries counts.
    """
    totals: dict[str, TotalUsage] = {}
    for entry in entries:
        if isinstance(entry.body, Forked):  # what was copied was billed to another conversation
            totals.clear()
        run = "" if entry.meta is None else entry.meta.evaluation_id
        before = totals.get(run, TotalUsage())
        if (after := before.plus_entry(entry)) != before:
            totals[run] = after
    return totals


def usage_by_conversation(
    store: str | os.PathLike[str] | Store,
    *,
    user_id: str | None = None,
    on_damaged: Callable[[str], object] | None = None,
    on_progress: Callable[[float, str], object] | None = None,
) -> dict[str, TotalUsage]:
    """Add up what the requests of each conversation of a store took. All entries are read.

    The requests of a sub-agent count for its own conversation and not for its caller's: so the sum over all
    conversations is what was billed.

    `store`: a URL, a path, or a store object. `user_id`: only the conversations of this user; "" for those of nobody,
    None for all. `on_damaged`: called with the name of each conversation that cannot be read, which is left out;
    without it, StoreDamaged is raised. `on_progress`: called with the share of the work that is done, from 0 to 1, and
    the name of the next conversation. Raises what opening the store raises, and StoreUnavailable if it cannot be read
    now.
    """
    totals: dict[str, TotalUsage] = {}
    with store_in_use(store) as opened:
        names = opened.names()
        for number, name in enumerate(names):
            if on_progress is not None:
                on_progress(number / len(names), name)
            try:
                log = opened.open(name)
                if user_id in (None, owner_of(log).user_id):
                    totals[name] = usage_of(log.read(), agents=False)
            except StoreDamaged:
                if on_damaged is None:
                    raise
                on_damaged(name)
            except UnknownLog:  # forgotten meanwhile
                continue
    return totals
