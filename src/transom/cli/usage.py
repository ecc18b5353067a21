"""The command `transom usage`: tokens and cost of one conversation, or of those of a store or a user."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import msgspec
from rich.table import Column, Table

from transom.cli.commands.stored import Usage
from transom.cli.progress import ProgressBar
from transom.cli.stores import existing_store, find_name, store_url
from transom.cli.streams import counted, one_line, print_notice
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.core.usage import TotalUsage
from transom.errors import InvalidSetting
from transom.stores import usage_by_conversation, usage_by_run, usage_of
from transom.stores.postgres_url import without_password

HEADS = ("requests", "failed", "input", "cached", "output", "cost")
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
            with ProgressBar() as bar:
                read = usage_by_conversation(
                    store, user_id=options.user, on_damaged=damaged.append, on_progress=bar.update
                )
            totals = {name: usage for name, usage in read.items() if usage != TotalUsage()}
            total = reduce(TotalUsage.plus, totals.values(), TotalUsage())
            count = counted(len(read), what)
            if len(totals) < len(read):
                count = f"requests of {len(totals):,} of {count}"
        else:
            log = store.open(find_name(store, options.id, url))
            about, what = f"{one_line(log.name)}, ", "run"
            totals = {run or NO_RUN: usage for run, usage in usage_by_run(log.read()).items()}
            total = usage_of(log.read())
            count = counted(len(totals), what)
    if options.json:
        parts = {name: _fields(usage) for name, usage in totals.items()}
        print_json({"store": without_password(url), f"{what}s": parts, "total": _fields(total), "damaged": damaged})
    else:
        _print(f"{about}{one_line(without_password(url))}: {count}", what, totals, total)
    for name in damaged:
        print_notice(f"{one_line(name)}: damaged, does not count")
    return 1 if damaged else 0


def _fields(usage: TotalUsage) -> dict[str, Any]:
    """Return the fields of a total for JSON, with the sums that are its properties."""
    fields = msgspec.structs.asdict(usage)
    return {**fields, "all_tokens": usage.all_tokens, "total": usage.total, "cost": usage.cost}


def _print(title: str, what: str, totals: Mapping[str, TotalUsage], total: TotalUsage) -> None:
    """Print a table with a row for each name, and one for the total. `what`: what the names are of."""
    console = terminal()
    print_wrapped(console, (title, "bold"))
    figures = (Column(justify="right", no_wrap=True) for _ in HEADS)
    table = Table(*figures, Column(overflow="fold"), box=None, show_header=False, padding=(0, 1, 0, 0))
    table.add_row(*HEADS, what, style="bold")
    for name, usage in totals.items():
        table.add_row(*_figures(usage), one_line(name))
    table.add_row(*_figures(total), "all", style="bold")
    console.print(table)
    if total.recorded:
        print_wrapped(
            console,
            f"{counted(total.recorded, 'reply', 'replies')} imported, replayed or appended: their usage is not kept "
            "and does not count",
        )
    if any(_says_nothing(usage) for usage in totals.values()):
        print_wrapped(console, "?: the provider reported no tokens for these requests")
    beside = {"failed requests": total.failed, "summaries": total.summaries, "sub-agents": total.agents}
    for kind, tokens in beside.items():
        if used := tokens.prompt + tokens.output:
            print_line(console, f"of the tokens, {used:,} are of {kind}")


def _figures(usage: TotalUsage) -> list[str]:
    """Return what stands below `HEADS`."""
    tokens = usage.all_tokens
    cost = f"${usage.dollars:,.4f}" if usage.dollars or usage.cost is not None else "?"
    if (usage.unpriced or usage.recorded) and usage.dollars:
        cost += "+"
    counts = [f"{number:,}" for number in (tokens.prompt, tokens.cached, tokens.output)]
    shown = ["?"] * len(counts) if _says_nothing(usage) or (usage.is_unknown and not usage.total) else counts
    return [f"{usage.requests:,}", f"{usage.failures:,}", *shown, cost]


def _says_nothing(usage: TotalUsage) -> bool:
    """Whether there were requests, and no provider has reported tokens for any of them."""
    return bool(usage.requests or usage.failures) and not usage.total
