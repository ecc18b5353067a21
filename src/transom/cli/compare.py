"""`transom compare`: recorded conversations under several policies, side by side."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table

from transom.cli.commands import Compare
from transom.cli.figures import COMPARE, Figure
from transom.cli.inputs import check_files, file_name, read_input, readable_conversations, summary_lines, tools_for
from transom.cli.locate import command
from transom.cli.picture import Point, draw_picture, picture_paths
from transom.cli.progress import ProgressBar
from transom.cli.replay import timed_steps
from transom.cli.report import WRONG, Column, fits, number_text, table
from transom.cli.terminal import print_json, print_line, terminal
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.prices import Prices
from transom.errors import InvalidSetting
from transom.importers import LabelledQuestion, Recorded
from transom.importers.chat import as_openai_chat
from transom.measure.compare import Compared, Label, Seen, compared, tokens_of
from transom.policies import POLICIES, policy_named
from transom.stores import MemoryStore
from transom.tokenizer import o200k

MEASURES: dict[str, tuple[str, Callable[[Compared], float | None]]] = {
    "calls": (",", lambda one: one.stats.calls),
    "invalid": (",", lambda one: one.stats.invalid),
    "over": (",", lambda one: one.stats.over),
    "refused": (",", lambda one: one.stats.refused),
    "sent_share": (".0%", lambda one: one.stats.sent_share),
    "cost_anthropic": (".2f", lambda one: one.anthropic.share),
    "cost_openai": (".2f", lambda one: one.openai.share),
    "cached_share": (".0%", lambda one: one.stats.cached_share),
    "append_only": (".0%", lambda one: one.append_only),
    "consecutive_breaks": (",", lambda one: one.consecutive_breaks),
    "grounding_beyond": (".0%", lambda one: one.grounding.shares[1]),
    "grounding_beyond_wide": (".0%", lambda one: one.grounding.shares[2]),
    "grounding_all": (".0%", lambda one: one.grounding.shares[0]),
    "evidence_recall": (".0%", lambda one: one.evidence_recall),
    "ms_per_call": (".2f", lambda one: one.stats.ms_per_call),
}
"""How each figure is computed and printed; None where there is nothing to measure."""

SETTINGS = ("budget", "prices", "min_messages", "max_messages", "min_tokens", "every")
"""What the results depend on beside the files and the policy."""

NOTES = """\
names: paths, ids, numbers and quoted strings that the next message uses
old names: those that were last mentioned further back than the budget
found: in the window, with 40 characters on either side; in context: with 240
cost: with prompt caching, relative to sending the whole history (1.00)
append-only: calls whose window begins with the whole window before
breaks in a row: calls that break the cached prefix right after another one"""
"""What the heads of the columns leave open."""

REFUSED = "Refused calls are counted in no other column."

Results = dict[str, Compared]
"""What each policy made of the same conversations."""


def run(options: Compare) -> int:
    """Compare, print, draw, and say by the exit code whether every window was right."""
    names = _names(options.policies)
    budget = Budget(context=options.budget, prices=Prices.named(options.prices))
    paths = () if options.chart is None else picture_paths(options.chart)
    chosen, files = choose(options)
    if not chosen:
        narrowed = options.min_messages or options.min_tokens or options.max_messages is not None
        raise InvalidSetting(f"no conversation in these files{' is as long as asked for' if narrowed else ''}")
    with ProgressBar() as bar:
        results = compare(chosen, names, budget, jobs=options.jobs, bar=bar)
    if options.json:
        settings = {name: getattr(options, name) for name in SETTINGS}
        found = [{"file": name, "formats": formats} for name, formats in files]
        print_json(
            {**settings, "files": found, "policies": [{"policy": n, **numbers(one)} for n, one in results.items()]}
        )
    else:
        for line in summary_lines(files):
            print_line(terminal(), line)
        print_table(results)
    if paths:
        _draw(results, paths, _title(options, len(chosen)))
    return WRONG if any(one.stats.invalid or one.stats.over for one in results.values()) else 0


def choose(options: Compare) -> tuple[list[Recorded], list[tuple[str, Counter[str]]]]:
    """The conversations of the length that was asked for, in OpenAI Chat's words so that their figures compare, and
    how many of them each file held in which format. Raises OSError, InvalidMessage."""
    check_files(options.files)
    chosen: list[Recorded] = []
    files: list[tuple[str, Counter[str]]] = []
    fitting = 0
    for file in options.files:
        formats = Counter[str]()
        records = read_input(file, format_name=options.format, questions=True)
        for recorded, _, _ in readable_conversations(records, file):
            record = as_openai_chat(recorded)
            if _fits(options, record):
                if fitting % options.every == 0:
                    chosen.append(record)
                    formats[record.format] += 1
                fitting += 1
        files.append((file_name(file), formats))
    return chosen, files


def _fits(options: Compare, record: Recorded) -> bool:
    """Whether it is long enough, and short enough."""
    many, most = len(record.messages), options.max_messages
    if many < options.min_messages or (most is not None and many > most):
        return False
    return not options.min_tokens or sum(tokens_of(one, o200k()) for one in record.messages) >= options.min_tokens


def compare(
    chosen: Sequence[Recorded],
    names: Sequence[str],
    budget: Budget,
    *,
    jobs: int | None = None,
    bar: ProgressBar | None = None,
) -> Results:
    """What each policy makes of these conversations; `jobs` processes are at work, by default one for each core."""
    o200k().count("loaded before the others begin, who have it then, and before anything is timed")
    work = [(record, name, budget) for name in names for record in chosen]
    results = dict.fromkeys(names, Compared())
    done = _played(work, min(jobs or os.cpu_count() or 1, len(work)))
    for number, ((record, name, _), one) in enumerate(zip(work, done, strict=True), start=1):
        results[name] = results[name].plus(one)
        if bar is not None:
            bar.update(number / len(work), f"{name}, {record.source}")
    return results


Job = tuple[Recorded, str, Budget]


def _played(work: Sequence[Job], jobs: int) -> Iterator[Compared]:
    """The results, in order. Ctrl-C is for this process alone: the others go when it does."""
    if jobs < 2:
        yield from map(play, work)
        return
    with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield from pool.map(play, work)
        finally:
            pool.shutdown(cancel_futures=True)


def play(job: Job) -> Compared:
    """One conversation under one policy."""
    record, name, budget = job
    head, facts = record.facts()
    conversation = Conversation(
        MemoryStore().open(record.id), budget=budget, policy=policy_named(name), counter=o200k(), system=head
    )
    labels = {one.index: label for one in record.questions if (label := _label(one)) is not None}
    questions = [one for one in record.questions if one.index in labels]
    steps = timed_steps(conversation, facts, questions, tools=tools_for(record, conversation.dialect.name))
    seen = (
        Seen(step.at, step.window, request, seconds, labels.get(-1 if step.question is None else step.question))
        for step, request, seconds in steps
    )
    return compared(record.messages, seen, budget=budget.usable, counter=o200k())


def _label(question: LabelledQuestion) -> Label | None:
    """What is known of a question; None without an answer, or without evidence before it."""
    known = question.answer is not None and question.evidence
    return Label(question.answer or "", question.evidence) if known else None


def _names(policies: str) -> list[str]:
    """The policies asked for, each once. Raises InvalidSetting for one that is unknown."""
    names = list(POLICIES) if policies == "all" else [name.strip() for name in policies.split(",")]
    return [policy_named(name).name for name in dict.fromkeys(names)]


def _title(options: Compare, many: int) -> str:
    prices = "" if options.prices is None else f", prices: {options.prices}"
    return f"{many:,} conversation{'' if many == 1 else 's'}, a budget of {options.budget:,} tokens{prices}"


def _draw(results: Results, paths: Sequence[Path], title: str) -> None:
    """Grounding beyond the budget, or all of it where nothing was further back. Raises OSError, InvalidSetting."""
    far = any(one.grounding.far_needed for one in results.values())
    least = min(one.stats.refused for one in results.values())
    shares = ((name, one, one.grounding.shares[1 if far else 0]) for name, one in results.items())
    points = [
        Point(name=name, cost=one.anthropic.share, grounding=share, refused=one.stats.refused > least)
        for name, one, share in shares
        if one.anthropic.share is not None and share is not None
    ]
    if not points:
        raise InvalidSetting("--chart: nothing to draw: no call that was sent uses a name that stood before it")
    draw_picture(points, paths, title, f"grounding{' beyond the budget' if far else ''}: names present of names needed")


def columns_of(results: Results) -> list[Column[Compared]]:
    """The columns of a table; evidence only where questions are labelled."""
    questions = any(one.stats.questions for one in results.values())
    return [_column(figure) for figure in COMPARE if questions or figure.name != "evidence_recall"]


def _column(figure: Figure) -> Column[Compared]:
    form, measure = MEASURES[figure.name]
    return figure, lambda one: number_text(measure(one), form)


def print_table(results: Results) -> None:
    """A row for each policy, and what the columns mean; in as many tables as it takes."""
    console = terminal()
    for part in _tables(console, list(results.items()), columns_of(results)):
        console.print(part)
    console.print(NOTES, style="dim")
    if any(one.stats.refused for one in results.values()):
        console.print(REFUSED, style="dim")
    console.print(f"Each column is explained by `{command()} compare --help`.", style="dim")


def _tables(
    console: Console, rows: Sequence[tuple[str, Compared]], columns: Sequence[Column[Compared]]
) -> Iterator[Table]:
    """One table, or two with half of the columns each, and so on until every head has room."""
    whole, half = table("policy", rows, columns), len(columns) // 2
    if not half or fits(console, whole):
        yield whole
        return
    yield from _tables(console, rows, columns[:half])
    yield from _tables(console, rows, columns[half:])


def numbers(one: Compared) -> dict[str, Any]:
    """A result for programs: its sums, and every measure."""
    sums = {"grounding": one.grounding, "anthropic": one.anthropic, "openai": one.openai}
    return {**asdict(one.stats), **{name: measure(one) for name, (_, measure) in MEASURES.items()}, **sums}
