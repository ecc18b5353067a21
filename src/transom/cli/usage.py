"""The command `transom usage`: tokens and cost of one conversation, or of those of a store or a user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from transom.cli.commands import Usage
from transom.cli.locate import existing_store, find_name, store_url
from transom.cli.progress import ProgressBar
from transom.cli.streams import counted, one_line, print_notice
from transom.cli.terminal import print_json, print_line, terminal
from transom.core.usage import TotalUsage
from transom.errors import InvalidSetting
from transom.stores import Store, usage_by_conversation, usage_by_run, usage_of
from transom.stores.postgres_url import without_password

DAMAGED = 1
NO_RUN = "(no run)"
"""Names what belongs to no run: summaries, and replies that were logged with `observe`."""


def run(options: Usage) -> int:
    """Print what was used. Exit code 1 if a conversation is damaged and does not count."""
    if options.id is not None and options.user is not None:
        raise InvalidSetting("usage: give the id of a conversation or --user, not both")
    url = store_url(options.store)
    damaged: list[str] = []
    with existing_store(url) as store:
        if options.id is None:
            about, what = ("" if options.user is None else f"user {one_line(options.user)}, "), "conversation"
            totals = _by_conversation(store, options.user, damaged)
            total = _sum(totals)
        else:
            log = store.open(find_name(store.names(), options.id, url))
            about, what = f"{one_line(log.name)}, ", "run"
            totals = {run or NO_RUN: usage for run, usage in usage_by_run(log.read()).items()}
            total = usage_of(log.read())
    if options.json:
        parts = {name: _fields(usage) for name, usage in totals.items()}
        print_json({"store": without_password(url), f"{what}s": parts, "total": _fields(total), "damaged": damaged})
    else:
        _print(f"{about}{one_line(without_password(url))}: {counted(len(totals), what)}", what, totals, total)
    for name in damaged:
        print_notice(f"{one_line(name)}: damaged, does not count")
    return DAMAGED if damaged else 0


def _by_conversation(store: Store, user: str | None, damaged: list[str]) -> dict[str, TotalUsage]:
    """Read every conversation of a store, or of a user, that has used anything."""
    with ProgressBar() as progress:
        totals = usage_by_conversation(store, user_id=user, on_damaged=damaged.append, on_progress=progress.update)
    return {name: usage for name, usage in totals.items() if usage != TotalUsage()}


def _sum(totals: Mapping[str, TotalUsage]) -> TotalUsage:
    total = TotalUsage()
    for usage in totals.values():
        total = total.plus(usage)
    return total


def _fields(usage: TotalUsage) -> dict[str, Any]:
    """The fields of a total, and the sums that are properties of it."""
    fields = msgspec.structs.asdict(usage)
    return {**fields, "all_tokens": usage.all_tokens, "total": usage.total, "cost": usage.cost}


def _print(title: str, what: str, totals: Mapping[str, TotalUsage], total: TotalUsage) -> None:
    console = terminal()
    print_line(console, (title, "bold"))
    head = f"{'requests':>8} {'failed':>6} {'input':>12} {'cached':>12} {'output':>10} {'cost':>10}"
    print_line(console, (f"{head}  {what}", "bold"))
    for name, usage in totals.items():
        print_line(console, f"{_figures(usage)}  {one_line(name)}")
    print_line(console, (f"{_figures(total)}  all", "bold"))
    beside = {"failed requests": total.failed, "summaries": total.summaries, "sub-agents": total.agents}
    for kind, tokens in beside.items():
        if used := tokens.prompt + tokens.output:
            print_line(console, f"of the tokens, {used:,} are of {kind}")


def _figures(usage: TotalUsage) -> str:
    tokens = usage.all_tokens
    cost = f"${usage.dollars:,.4f}" if usage.dollars or not usage.unpriced else "?"
    if usage.unpriced and usage.dollars:
        cost += "+"
    return (
        f"{usage.requests:>8,} {usage.failures:>6,} {tokens.prompt:>12,} {tokens.cached:>12,} {tokens.output:>10,}"
        f" {cost:>10}"
    )
