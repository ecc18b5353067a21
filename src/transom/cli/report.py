"""Prints the result of a replay: a table of figures for each file, and a chart of window sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict
from rich import box
from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Column as Heading
from rich.table import Table

from transom.cli.figures import REPLAY, Figure
from transom.cli.inputs import short_name, summary_lines
from transom.cli.locate import command
from transom.cli.streams import one_line
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.core.tokens import REQUEST_TOKENS
from transom.evaluation.replay_stats import Needs, ReplayStats, Span

T = TypeVar("T")
Column = tuple[Figure, Callable[[T], str]]
"""A figure, and a function that formats it for one row."""

FORMS = {"sent_share": ".1%", "cached_share": ".1%", "ms_per_call": ".2f"}


def number_text(number: float | None, form: str) -> str:
    """Format a number; a dash for None, where there is nothing to measure."""
    return "–" if number is None else format(number, form)


def _column(figure: Figure) -> Column[ReplayStats]:
    return figure, lambda stats: number_text(getattr(stats, figure.name), FORMS.get(figure.name, ","))


COLUMNS = tuple(map(_column, REPLAY))
ALL = "all files"

WRONG = 1
"""The exit code if a window is invalid or over its budget, or if every call was refused."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The tokens of a conversation's window at each call; None where a call was refused."""

    conversation: str
    tokens: tuple[int | None, ...]


class FileStats(Struct, frozen=True, kw_only=True):
    """The figures of one file or folder. `formats`: how many conversations of each format it has."""

    file: str
    stats: ReplayStats
    formats: dict[str, int]


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of a replay.

    `files`: the figures of each file; `timeline`: the one to draw; `needs`: what refused calls need; `problems`: the
    first wrong windows, one line each.
    """

    budget: int
    policy: str
    store: str
    files: tuple[FileStats, ...]
    timeline: Timeline | None = None
    needs: Needs | None = None
    problems: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code: 0 if every window is valid and within the budget, and not every call was refused; else 1."""
        total = self.total
        all_refused = total.refused and total.refused == total.calls + total.questions
        return WRONG if total.invalid or total.over or all_refused else 0

    @property
    def total(self) -> ReplayStats:
        """The sums over all files."""
        return reduce(ReplayStats.plus, (file.stats for file in self.files), ReplayStats())


def print_report(outcome: Outcome, *, aside: bool = False) -> None:
    """Print tables and chart on stdout; with `aside`, on stderr."""
    console = terminal(aside=aside)
    for line in summary_lines([(file.file, file.formats) for file in outcome.files]):
        print_line(console, line)
    print_tables(console, outcome)
    print_timeline(console, outcome)
    if outcome.store != "memory:":
        name = command()
        console.print(f"\nNext: {name} explain ID, or {name} log ID. ID is the id of a conversation, or a part of it.")


def print_tables(console: Console, outcome: Outcome) -> None:
    """Print one table with a row for each file if that fits, else a small table for each file."""
    columns = [column for column in COLUMNS if outcome.total.questions or column[0].name != "questions"]
    rows = [(short_name(file.file), file.stats) for file in outcome.files]
    if len(rows) > 1:
        rows.append((ALL, outcome.total))
    wide = table("file", rows, columns)
    console.print(wide if fits(console, wide) and len(rows) > 1 else Group(*(_tall(columns, *row) for row in rows)))
    _print_refused(console, outcome)
    for problem in outcome.problems:
        print_line(console, ("wrong: ", "red"), one_line(problem))


def _print_refused(console: Console, outcome: Outcome) -> None:
    """Print the budget that the refused calls need. The sums in the table do not count these calls."""
    total, needs = outcome.total, outcome.needs
    if needs is None:
        return
    calls = f"{total.refused:,} {'calls and questions' if total.questions else 'calls'} need"
    if total.refused == 1:
        calls = "1 call needs"
    head = f" ({_span(needs.head)} without messages)" if needs.head[0] > REQUEST_TOKENS else ""
    line = f"{calls} at least {_span(needs.need)} tokens{head}"
    print_wrapped(console, ("refused: ", "yellow"), line)
    if total.sent:
        sent = "1 call that was" if total.sent == 1 else f"{total.sent:,} calls that were"
        print_wrapped(console, f"Tokens and shares cover only the {sent} sent.")


def _span(span: Span) -> str:
    return f"{span[0]:,}" if span[0] == span[1] else f"{span[0]:,} to {span[1]:,}"


def print_timeline(console: Console, outcome: Outcome) -> None:
    """Print the chart of one conversation, if there is one."""
    timeline = outcome.timeline
    if timeline is None or not timeline.tokens:
        return
    print_line(console, ("Window size in tokens, ", "bold"), (one_line(timeline.conversation), "bold"))
    for line in sawtooth(timeline.tokens, outcome.budget, width=min(console.width, 100)):
        print_line(console, line)


def print_json_report(outcome: Outcome, *, aside: bool = False) -> None:
    """Print everything as one JSON object on stdout; with `aside`, on stderr.

    Shares are from 0 to 1, null where nothing was sent. Tokens and shares cover the calls that were sent. `needs`: the
    least and the most tokens that refused calls need, and the least and the most of these that the system prompt takes.
    """
    print_json(
        {
            "budget": outcome.budget,
            "policy": outcome.policy,
            "store": outcome.store,
            "files": [{"file": file.file, "formats": file.formats, **numbers(file.stats)} for file in outcome.files],
            "total": numbers(outcome.total),
            "needs": outcome.needs,
            "problems": outcome.problems,
            "timeline": outcome.timeline,
        },
        aside=aside,
    )


def numbers(stats: ReplayStats) -> dict[str, Any]:
    """Return the figures as JSON values: the counts, and the shares computed from them."""
    shares = {"sent_share": stats.sent_share, "cached_share": stats.cached_share, "ms_per_call": stats.ms_per_call}
    return {**asdict(stats), **shares}


def table(title: str, rows: Sequence[tuple[str, T]], columns: Sequence[Column[T]]) -> Table:
    """Make a table with a row for each result. `title`: the head of the column of names.

    The row for all files has a line above it.
    """
    heads = (Heading(figure.head, justify="right", no_wrap=True) for figure, _ in columns)
    out = Table(Heading(title, no_wrap=True), *heads, box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for name, result in rows:
        if name == ALL:
            out.add_section()
        out.add_row(name, *(text(result) for _, text in columns))
    return out


def fits(console: Console, wide: Table) -> bool:
    """True if the terminal is wide enough for every cell of the table."""
    return Measurement.get(console, console.options.update(max_width=10_000), wide).maximum <= console.width


def _tall(columns: Sequence[Column[ReplayStats]], name: str, stats: ReplayStats) -> Table:
    """Make a table of one file with a line for each figure, for a terminal on which a row has no room."""
    heads = Heading(name, overflow="fold"), Heading(justify="right")
    out = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False)
    for figure, text in columns:
        out.add_row(figure.label, text(stats))
    return out


EIGHTHS = " ▁▂▃▄▅▆▇█"
REFUSED = "×"

Sizes = Sequence[int | None]
"""The size of the window at each call, in tokens; None if the call was refused."""


def sawtooth(sizes: Sizes, budget: int, *, width: int, height: int = 9) -> list[str]:
    """Draw the chart as lines of at most `width` columns. `height`: rows of the bars.

    If there are more calls than columns, a column shows the largest of its calls.
    """
    label = f"{budget:,}"
    margin = len(label)
    columns = _columns(sizes, max(8, width - margin - 2))
    top = max(budget, *(size or 0 for size in columns))
    heights = [None if size is None else max(1, size * height * 8 // top) for size in columns]
    lines = [f"{label} ┬{'─' * len(columns)}"]
    for row in range(height - 1, -1, -1):
        lines.append(f"{'':{margin}} │{''.join(_cell(eighths, row) for eighths in heights)}".rstrip())
    last = f"call {len(sizes):,}"
    axis = f"call 1{last:>{max(1, len(columns) - 6)}}" if len(columns) > 8 + len(last) else last
    return [*lines, f"{0:>{margin}} ┴{'─' * len(columns)}", f"{'':{margin}}  {axis}"]


def _cell(eighths: int | None, row: int) -> str:
    if eighths is None:
        return REFUSED if row == 0 else " "
    return EIGHTHS[min(8, max(0, eighths - 8 * row))]


def _columns(sizes: Sizes, width: int) -> list[int | None]:
    """Distribute the sizes over at most `width` columns: several columns for each call, or several calls in each
    column.
    """
    if len(sizes) <= width:
        return [size for size in sizes for _ in range(min(4, width // max(1, len(sizes))))]
    edges = [column * len(sizes) // width for column in range(width + 1)]
    groups = (sizes[a:b] for a, b in pairwise(edges))
    return [max((size for size in group if size is not None), default=None) for group in groups]
