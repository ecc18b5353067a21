"""What a replay prints: a table of what the windows came to, and a sawtooth of their sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict
from rich import box
from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Table

from transom.cli.chart import sawtooth
from transom.cli.places import command
from transom.cli.term import one_line, put, put_json, put_whole, terminal
from transom.core.tokens import REQUEST_TOKENS
from transom.measure.tally import Span, Tally

if TYPE_CHECKING:
    from transom.cli.replaying import Outcome

Column = tuple[str, str, Callable[[Tally], str]]
"""A label, the same in two lines for a column's head, and what stands under it."""


def _decimal(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}%"


COLUMNS: tuple[Column, ...] = (
    ("conversations", "conver-\nsations", lambda tally: f"{tally.conversations:,}"),
    ("calls", "calls", lambda tally: f"{tally.calls:,}"),
    ("invalid", "invalid", lambda tally: f"{tally.invalid:,}"),
    ("over budget", "over\nbudget", lambda tally: f"{tally.over:,}"),
    ("refused", "refused", lambda tally: f"{tally.refused:,}"),
    ("skipped", "skipped", lambda tally: f"{tally.skipped:,}"),
    ("tokens sent", "tokens\nsent", lambda tally: f"{tally.tokens:,}"),
    ("passthrough would send", "pass-\nthrough", lambda tally: f"{tally.passthrough:,}"),
    ("share of it sent", "share\nsent", lambda tally: _percent(tally.sent_share)),
    ("cached share", "cached\nshare", lambda tally: _percent(tally.cached_share)),
    ("prefix breaks", "prefix\nbreaks", lambda tally: f"{tally.breaks:,}"),
    ("compactions", "compac-\ntions", lambda tally: f"{tally.compactions:,}"),
    ("ms per call", "ms per\ncall", lambda tally: _decimal(tally.ms_per_call)),
)
QUESTIONS: Column = ("questions", "ques-\ntions", lambda tally: f"{tally.questions:,}")


def print_report(outcome: Outcome, *, aside: bool = False) -> None:
    """Tables and chart, on stdout or `aside` on stderr."""
    console = terminal(aside=aside)
    print_tables(console, outcome)
    print_course(console, outcome)
    if outcome.store != "memory:":
        name = command()
        console.print(f"\nNext: {name} explain ID, or {name} show ID, with a conversation's id or a part of it.")


def print_tables(console: Console, outcome: Outcome) -> None:
    """One line a file if they fit side by side, else one small table a file."""
    columns = (*COLUMNS[:2], QUESTIONS, *COLUMNS[2:]) if outcome.total.questions else COLUMNS
    rows = [(one_line(Path(name).name), tally) for name, tally in outcome.files]
    if len(rows) > 1:
        rows.append(("all files", outcome.total))
    wide = _wide(columns, rows)
    fits = Measurement.get(console, console.options.update(max_width=10_000), wide).maximum <= console.width
    console.print(wide if fits and len(rows) > 1 else Group(*(_tall(columns, *row) for row in rows)))
    _print_refused(console, outcome)
    for problem in outcome.problems:
        put(console, ("wrong: ", "red"), (one_line(problem), ""))


def _print_refused(console: Console, outcome: Outcome) -> None:
    """What budget refused calls would have needed, and that no sum in the table counts them."""
    total, needs = outcome.total, outcome.needs
    if needs is None:
        return
    many = f"{total.refused:,} {'calls and questions' if total.questions else 'calls'} need"
    head = f" (the system prompt alone is {_span(needs.head)})" if needs.head[0] > REQUEST_TOKENS else ""
    line = f"{'1 call needs' if total.refused == 1 else many} at least {_span(needs.need)} tokens{head}"
    put_whole(console, ("refused: ", "yellow"), (line, ""))
    if total.sent:
        sent = "the 1 call that was" if total.sent == 1 else f"the {total.sent:,} calls that were"
        put_whole(console, (f"Tokens and shares, passthrough's too, count {sent} sent, and no other.", ""))


def _span(span: Span) -> str:
    return f"{span[0]:,}" if span[0] == span[1] else f"{span[0]:,} to {span[1]:,}"


def print_course(console: Console, outcome: Outcome) -> None:
    """The sawtooth of the conversation to draw."""
    course = outcome.course
    if course is None or not course.tokens:
        return
    put(console, ("Window size in tokens, ", "bold"), (one_line(course.id), "bold"))
    for line in sawtooth(course.tokens, outcome.budget, width=min(console.width, 100)):
        put(console, (line, ""))


def print_json(outcome: Outcome, *, aside: bool = False) -> None:
    """Everything as one object; shares from 0 to 1, null where nothing was sent.

    Tokens and shares count the calls that were sent; `needs`: the least and the most tokens that refused ones need, and
    the least and the most that stands before their conversations. On stdout, or `aside` on stderr.
    """
    course = outcome.course
    put_json(
        {
            "budget": outcome.budget,
            "policy": outcome.policy,
            "store": outcome.store,
            "files": [{"file": name, **_numbers(tally)} for name, tally in outcome.files],
            "total": _numbers(outcome.total),
            "needs": None if outcome.needs is None else asdict(outcome.needs),
            "problems": outcome.problems,
            "course": None if course is None else {"conversation": course.id, "tokens": course.tokens},
        },
        aside=aside,
    )


def _numbers(tally: Tally) -> dict[str, Any]:
    shares = {"sent_share": tally.sent_share, "cached_share": tally.cached_share, "ms_per_call": tally.ms_per_call}
    return {**asdict(tally), **shares}


def _wide(columns: tuple[Column, ...], rows: list[tuple[str, Tally]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0))
    table.add_column("file", no_wrap=True)
    for _, head, _ in columns:
        table.add_column(head, justify="right", no_wrap=True)
    for name, tally in rows:
        if name == "all files":
            table.add_section()
        table.add_row(name, *(shown(tally) for _, _, shown in columns))
    return table


def _tall(columns: tuple[Column, ...], name: str, tally: Tally) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(name, overflow="fold")
    table.add_column("", justify="right")
    for label, _, shown in columns:
        table.add_row(label, shown(tally))
    return table
