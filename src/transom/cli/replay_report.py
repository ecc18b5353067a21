"""Prints figures as tables, and the result of a replay with a chart of the sizes of its windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Column, Table

from transom.cli.input_files import short_name, summary_lines
from transom.cli.next_commands import command_for, print_next
from transom.cli.streams import one_line
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.core.tokens import REQUEST_TOKENS
from transom.evaluation.replay_stats import Needs, ReplayStats, Span
from transom.reports.policy_figures import REPLAY, Figure

ALL = "all files"
"""The name of the row with the sums. The table has a line above it."""

Row = tuple[str, Mapping[str, float | None]]
"""A row of a table: its name, and the values of the figures by their names."""

WRONG = 1
"""The exit code if a window is invalid or over its budget, or if every call was refused."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The figures of a chart, as data: for each call of a conversation, in order, the tokens of its window; None where
    the call was refused. `print_timeline` draws it."""

    conversation: str
    tokens: tuple[int | None, ...]


class FileStats(Struct, frozen=True, kw_only=True):
    """The figures of one file or folder that was replayed. `file`: its path, or "stdin". `formats`: how many
    conversations of each format it has, by the name of the format."""

    file: str
    stats: ReplayStats
    formats: dict[str, int]


class Outcome(Struct, frozen=True, kw_only=True):
    """The result of a replay.

    `budget`: in tokens; `policy`: its name, with settings; `store`: the URL without a password, or "memory:";
    `files`: the figures of each file; `timeline`: that of the conversation whose chart is drawn, None if there is none;
    `needs`: the budget that the refused calls need, None if no call was refused; `problems`: the first windows that
    break a rule or the budget, one line each.
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
        all_refused = total.refused and total.refused == total.calls
        return WRONG if total.invalid or total.over or all_refused else 0

    @property
    def total(self) -> ReplayStats:
        """The sums over all files."""
        return reduce(ReplayStats.plus, (file.stats for file in self.files), ReplayStats())


def print_report(outcome: Outcome, *, aside: bool = False) -> None:
    """Print the result of a replay for people: what was read, the tables, the chart, and the commands to go on with. On
    stdout; with `aside`, on stderr."""
    console = terminal(aside=aside)
    for line in summary_lines([(file.file, file.formats) for file in outcome.files]):
        print_line(console, line)
    print_tables(console, outcome)
    print_timeline(console, outcome)
    if outcome.store != "memory:":
        shown = "ID" if outcome.timeline is None else outcome.timeline.conversation
        commands = {"explain": "what its window has, and why", "log": "a line for each entry"}
        print_next(console, [(command_for(name, shown, store=None), about) for name, about in commands.items()])


def print_tables(console: Console, outcome: Outcome) -> None:
    """Print the figures of each file, the budget that refused calls need, and the first wrong windows."""
    rows: list[Row] = [(short_name(file.file), numbers(file.stats)) for file in outcome.files]
    if len(rows) > 1:
        rows.append((ALL, numbers(outcome.total)))
    print_figures(console, "file", rows, REPLAY)
    _print_refused(console, outcome)
    for problem in outcome.problems:
        print_line(console, ("wrong: ", "red"), one_line(problem))


def _print_refused(console: Console, outcome: Outcome) -> None:
    """Print the budget that the refused calls need, if there are any; the sums in the table do not count them."""
    total, needs = outcome.total, outcome.needs
    if needs is None:
        return
    calls = "1 call needs" if total.refused == 1 else f"{total.refused:,} calls need"
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
    """Return the figures of a replay by name: the counts, and the shares computed from them; a share is None if there
    is nothing to share."""
    shares = {"sent_share": stats.sent_share, "cached_share": stats.cached_share, "ms_per_call": stats.ms_per_call}
    return {**asdict(stats), **shares}


def print_figures(console: Console, title: str, rows: Sequence[Row], figures: Sequence[Figure]) -> None:
    """Print a table with a row for each of `rows`, which must not be empty. `title`: the head of the column of names.

    A single row is printed as a line for each figure. A table that is too wide for the terminal is printed as several.
    """
    for part in _tall(rows[0], figures) if len(rows) == 1 else _wide(console, title, rows, figures):
        console.print(part)


def _tall(row: Row, figures: Sequence[Figure]) -> Iterator[Table]:
    name, values = row
    out = Table(Column(name, overflow="fold"), Column(justify="right"), box=box.SIMPLE_HEAD, pad_edge=False)
    for figure in figures:
        out.add_row(figure.label, figure.text(values[figure.name]))
    yield out


def _wide(console: Console, title: str, rows: Sequence[Row], figures: Sequence[Figure]) -> Iterator[Table]:
    """Yield one table if it fits the terminal, else two with half of the columns each, and so on."""
    heads = (Column(figure.head, justify="right", no_wrap=True) for figure in figures)
    out = Table(Column(title, no_wrap=True), *heads, box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for name, values in rows:
        if name == ALL:
            out.add_section()
        out.add_row(name, *(figure.text(values[figure.name]) for figure in figures))
    half = len(figures) // 2
    if not half or Measurement.get(console, console.options.update(max_width=10_000), out).maximum <= console.width:
        yield out
        return
    yield from _wide(console, title, rows, figures[:half])
    yield from _wide(console, title, rows, figures[half:])


EIGHTHS = " ▁▂▃▄▅▆▇█"
"""A cell of the chart by how many eighths of it are filled."""
REFUSED_CALL = "×"

Sizes = Sequence[int | None]
"""The size of the window at each call, in tokens; None if the call was refused."""


def sawtooth(sizes: Sizes, budget: int, *, width: int, height: int = 9) -> list[str]:
    """Return the lines of a chart with a bar for the window of each call, and a "×" for a call that was refused. A line
    has at most `width` columns, unless that leaves fewer than 8 for the bars.

    `sizes`: tokens; None for a refused call. `budget`: tokens; the line at the top stands for it, unless a window is
    larger: then for that window. `height`: the rows of the bars. If there are more calls than columns, a column shows
    the largest window of its calls.
    """
    top = max([budget, *(size for size in sizes if size is not None)])
    label = f"{top:,}"
    margin = len(label)
    columns = _columns(sizes, max(8, width - margin - 2))
    heights = [None if size is None else max(1, size * height * 8 // top) for size in columns]
    lines = [f"{label} ┬{'─' * len(columns)}"]
    for row in range(height - 1, -1, -1):
        lines.append(f"{'':{margin}} │{''.join(_cell(eighths, row) for eighths in heights)}".rstrip())
    last = f"call {len(sizes):,}"
    axis = f"call 1{last:>{max(1, len(columns) - 6)}}" if len(columns) > 8 + len(last) else last
    return [*lines, f"{0:>{margin}} ┴{'─' * len(columns)}", f"{'':{margin}}  {axis}"]


def _cell(eighths: int | None, row: int) -> str:
    """Return the character of a bar in a row, from 0 at the bottom. `eighths`: its height; None for a refused call."""
    if eighths is None:
        return REFUSED_CALL if row == 0 else " "
    return EIGHTHS[min(8, max(0, eighths - 8 * row))]


def _columns(sizes: Sizes, width: int) -> list[int | None]:
    """Return the size that each column shows, of at most `width` columns: a call has up to four columns, or a column
    has several calls and shows the largest."""
    if len(sizes) <= width:
        return [size for size in sizes for _ in range(min(4, width // max(1, len(sizes))))]
    edges = [column * len(sizes) // width for column in range(width + 1)]
    groups = (sizes[a:b] for a, b in pairwise(edges))
    return [max((size for size in group if size is not None), default=None) for group in groups]
