"""What a replay prints: a table of what the windows came to, and a sawtooth of their sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import asdict
from rich import box
from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Column as Heading
from rich.table import Table

from transom.cli.chart import sawtooth
from transom.cli.inputs import found_lines, short_name
from transom.cli.locate import command
from transom.cli.streams import one_line
from transom.cli.terminal import put, put_json, put_whole, terminal
from transom.core.tokens import REQUEST_TOKENS
from transom.measure.replay_stats import Needs, ReplayStats, Span

T = TypeVar("T")
Column = tuple[str, str, Callable[[T], str]]
"""A label, the same in two lines for a column's head, and what stands under it."""


def figure(number: float | None, form: str) -> str:
    return "–" if number is None else format(number, form)


COLUMNS: tuple[Column[ReplayStats], ...] = (
    ("conversations", "conver-\nsations", lambda tally: f"{tally.conversations:,}"),
    ("calls", "calls", lambda tally: f"{tally.calls:,}"),
    ("invalid", "invalid", lambda tally: f"{tally.invalid:,}"),
    ("over budget", "over\nbudget", lambda tally: f"{tally.over:,}"),
    ("refused", "refused", lambda tally: f"{tally.refused:,}"),
    ("skipped", "skipped", lambda tally: f"{tally.skipped:,}"),
    ("tokens sent", "tokens\nsent", lambda tally: f"{tally.tokens:,}"),
    ("passthrough would send", "pass-\nthrough", lambda tally: f"{tally.passthrough:,}"),
    ("share of it sent", "share\nsent", lambda tally: figure(tally.sent_share, ".1%")),
    ("cached share", "cached\nshare", lambda tally: figure(tally.cached_share, ".1%")),
    ("prefix breaks", "prefix\nbreaks", lambda tally: f"{tally.breaks:,}"),
    ("compactions", "compac-\ntions", lambda tally: f"{tally.compactions:,}"),
    ("ms per call", "ms per\ncall", lambda tally: figure(tally.ms_per_call, ".2f")),
)
QUESTIONS: Column[ReplayStats] = ("questions", "ques-\ntions", lambda tally: f"{tally.questions:,}")
ALL = "all files"

WRONG = 1
"""The exit code if a window is invalid or over its budget, or if nothing but refusals came of it."""


class Course(Struct, frozen=True, kw_only=True):
    """A conversation's windows over its calls: their tokens, None where a call was refused."""

    conversation: str
    tokens: tuple[int | None, ...]


class FileStats(Struct, frozen=True, kw_only=True):
    """What came of one file or folder, and how many conversations it held in which format."""

    file: str
    stats: ReplayStats
    formats: dict[str, int]


class Outcome(Struct, frozen=True, kw_only=True):
    """All of a replay: a tally for each file, the course to draw, what refused calls need, the first wrong windows."""

    budget: int
    policy: str
    store: str
    files: tuple[FileStats, ...]
    course: Course | None = None
    needs: Needs | None = None
    problems: tuple[str, ...] = ()

    @property
    def code(self) -> int:
        """The exit code: whether every window was right, and there was any."""
        total = self.total
        wrong = total.invalid or total.over or (total.refused and total.refused == total.calls + total.questions)
        return WRONG if wrong else 0

    @property
    def total(self) -> ReplayStats:
        """Everything together."""
        return reduce(ReplayStats.plus, (file.stats for file in self.files), ReplayStats())


def print_report(outcome: Outcome, *, aside: bool = False) -> None:
    """Tables and chart, on stdout or `aside` on stderr."""
    console = terminal(aside=aside)
    for line in found_lines([(file.file, file.formats) for file in outcome.files]):
        put(console, (line, ""))
    print_tables(console, outcome)
    print_course(console, outcome)
    if outcome.store != "memory:":
        name = command()
        console.print(f"\nNext: {name} explain ID, or {name} show ID, with a conversation's id or a part of it.")


def print_tables(console: Console, outcome: Outcome) -> None:
    """One line a file if they fit side by side, else one small table a file."""
    columns = (*COLUMNS[:2], QUESTIONS, *COLUMNS[2:]) if outcome.total.questions else COLUMNS
    rows = [(short_name(file.file), file.stats) for file in outcome.files]
    if len(rows) > 1:
        rows.append((ALL, outcome.total))
    wide = table("file", rows, columns)
    console.print(wide if fits(console, wide) and len(rows) > 1 else Group(*(_tall(columns, *row) for row in rows)))
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
    put(console, ("Window size in tokens, ", "bold"), (one_line(course.conversation), "bold"))
    for line in sawtooth(course.tokens, outcome.budget, width=min(console.width, 100)):
        put(console, (line, ""))


def print_json(outcome: Outcome, *, aside: bool = False) -> None:
    """Everything as one object; shares from 0 to 1, null where nothing was sent.

    Tokens and shares count the calls that were sent; `needs`: the least and the most tokens that refused ones need, and
    the least and the most that stands before their conversations. On stdout, or `aside` on stderr.
    """
    put_json(
        {
            "budget": outcome.budget,
            "policy": outcome.policy,
            "store": outcome.store,
            "files": [{"file": file.file, "formats": file.formats, **numbers(file.stats)} for file in outcome.files],
            "total": numbers(outcome.total),
            "needs": outcome.needs,
            "problems": outcome.problems,
            "course": outcome.course,
        },
        aside=aside,
    )


def numbers(tally: ReplayStats) -> dict[str, Any]:
    """A tally for programs: its counts, and the shares that follow from them."""
    shares = {"sent_share": tally.sent_share, "cached_share": tally.cached_share, "ms_per_call": tally.ms_per_call}
    return {**asdict(tally), **shares}


def table(title: str, rows: Sequence[tuple[str, T]], columns: Sequence[Column[T]]) -> Table:
    """A row for each result behind its name; `title` says what the names are. A row for all files stands apart."""
    heads = (Heading(head, justify="right", no_wrap=True) for _, head, _ in columns)
    out = Table(Heading(title, no_wrap=True), *heads, box=box.SIMPLE_HEAD, pad_edge=False, padding=0)
    for name, result in rows:
        if name == ALL:
            out.add_section()
        out.add_row(name, *(shown(result) for _, _, shown in columns))
    return out


def fits(console: Console, wide: Table) -> bool:
    """Whether a table can be printed without anything cut off."""
    return Measurement.get(console, console.options.update(max_width=10_000), wide).maximum <= console.width


def _tall(columns: Sequence[Column[ReplayStats]], name: str, tally: ReplayStats) -> Table:
    """One tally, a figure a line, for where a row has no room."""
    heads = Heading(name, overflow="fold"), Heading(justify="right")
    out = Table(*heads, box=box.SIMPLE_HEAD, pad_edge=False)
    for label, _, shown in columns:
        out.add_row(label, shown(tally))
    return out
