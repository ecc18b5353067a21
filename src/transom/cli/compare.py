"""The command `transom compare`: replays recorded conversations under several policies, and compares the results."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import asdict
from rich.console import Console
from rich.table import Table

from transom.cli.commands import Compare
from transom.cli.compare_summaries import WITH_MODEL, rows_of, settings_for, summaries_line, with_summaries
from transom.cli.figures import COMPARE, INVALID, OVER
from transom.cli.inputs import check_files, file_name, read_input, readable_conversations, summary_lines
from transom.cli.locate import command
from transom.cli.picture import Point, draw_picture, picture_paths
from transom.cli.progress import ProgressBar
from transom.cli.report import WRONG, Column, fits, number_text, table
from transom.cli.streams import counted
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.core.budget import Budget
from transom.core.message import Assistant
from transom.core.policy import Policy
from transom.errors import InvalidSetting
from transom.evaluation.compare import Compared, tokens_of
from transom.evaluation.cost import share
from transom.importers import Recorded
from transom.importers.as_openai_chat import as_openai_chat
from transom.policies import POLICIES, policy_named
from transom.prices import Prices
from transom.providers.models import TokenPrices, listed_prices
from transom.reports.figures import VERDICT, Figure
from transom.reports.policy_replay import PolicyReplay
from transom.reports.verdict import figures, verdict
from transom.tokenizer import o200k

REASONING = "reasoning_lost"
"""The figure that means something only if a conversation has reasoning."""

MEASURES: dict[str, tuple[str, Callable[[Compared], float | None]]] = {
    "calls": (",", lambda one: one.stats.calls),
    "invalid": (",", lambda one: one.stats.invalid),
    "over": (",", lambda one: one.stats.over),
    "refused": (",", lambda one: one.stats.refused),
    "sent_share": (".0%", lambda one: one.stats.sent_share),
    "requests_kept_share": (".0%", lambda one: one.requests_share),
    "cost_anthropic": (".2f", lambda one: one.anthropic.share),
    "cost_openai": (".2f", lambda one: one.openai.share),
    "cached_share": (".0%", lambda one: one.stats.cached_share),
    "append_only": (".0%", lambda one: one.append_only),
    "consecutive_breaks": (",", lambda one: one.consecutive_breaks),
    REASONING: (".0%", lambda one: one.reasoning_lost),
    "grounding_beyond": (".0%", lambda one: one.grounding.shares[1]),
    "grounding_beyond_wide": (".0%", lambda one: one.grounding.shares[2]),
    "grounding_all": (".0%", lambda one: one.grounding.shares[0]),
    "evidence_recall": (".0%", lambda one: one.evidence_recall),
    "ms_per_call": (".2f", lambda one: one.stats.ms_per_call),
}
"""The format and the function of each figure; a function returns None where there is nothing to measure."""

SETTINGS = ("budget", "prices", "priced_by", "model", "min_messages", "max_messages", "min_tokens", "every")
"""The options that the results depend on, beside the files and the policy."""

_NOTES = """\
names: paths, ids, numbers and quoted strings that the next message uses
old names: those whose last mention is further back than the budget reaches
found: in the window, with 40 characters on either side; in context: with 240
cost: with prompt caching, relative to sending the whole history (1.00)
append-only: calls whose window begins with the whole window of the last call
breaks in a row: calls that break the cached prefix when the last call did, too"""
"""Notes below the table that explain the heads of its columns."""

_REASONING_NOTE = "reasoning lost: turns since the user's last message behind a prefix that has changed"
"""The note about the column that is there only if there is reasoning."""

REFUSED = "Refused calls are counted in no other column but calls."

Results = dict[str, Compared]
"""The result of each policy, all over the same conversations."""


def run(options: Compare) -> int:
    """Compare, print and draw. Exit code 1 if a window is invalid or over the budget, or if every call was refused."""
    names = rows_of(_names(options.policies), options.model)
    budget = Budget(context=options.budget, prices=Prices.named(options.prices))
    paths = () if options.chart is None else picture_paths(options.chart)
    with ProgressBar() as bar:
        chosen = choose(options, bar)
    if not chosen.conversations:
        has_limits = options.min_messages or options.min_tokens or options.max_messages is not None
        raise InvalidSetting(
            f"no conversation in these files{' has the length that the options ask for' if has_limits else ''}"
        )
    prices = priced_by(options.priced_by)
    with ProgressBar() as bar:
        results = compare(
            chosen.conversations,
            names,
            budget,
            model=options.model,
            prices=None if prices is None else prices.relative(),
            jobs=options.jobs,
            bar=bar,
        )
    found = verdict(results)
    if options.json:
        settings = {name: getattr(options, name) for name in SETTINGS}
        file_formats = [{"file": name, "formats": formats} for name, formats in chosen.files]
        print_json(
            {
                **settings,
                "files": file_formats,
                "policies": [{"policy": n, **numbers(one), **in_dollars(one, prices)} for n, one in results.items()],
                "verdict": found,
            }
        )
    else:
        for line in summary_lines(chosen.files):
            print_line(terminal(), line)
        if options.all:
            print_table(results, has_reasoning=chosen.has_reasoning)
        else:
            print_verdict_table(results, prices, has_reasoning=chosen.has_reasoning)
        if options.model is not None:
            print_line(terminal(), summaries_line(results, options.model))
        print_wrapped(terminal(), ("\nWhich to take: ", "bold"), found.sentence)
    if paths:
        _draw(results, paths, _title(options, len(chosen.conversations)))
    all_stats = [one.stats for one in results.values()]
    is_wrong = any(stats.invalid or stats.over for stats in all_stats)
    all_refused = all(stats.refused and not stats.sent for stats in all_stats)
    return WRONG if is_wrong or all_refused else 0


class Chosen(NamedTuple):
    """The conversations that are compared."""

    conversations: list[Recorded]
    files: list[tuple[str, Counter[str]]]
    """For each file, how many of them it has, by format."""
    has_reasoning: bool
    """Whether any of them has reasoning of the model."""


def choose(options: Compare, bar: ProgressBar | None = None) -> Chosen:
    """Read the conversations that the options choose.

    All are translated to OpenAI Chat, so that their figures can be compared. Raises OSError, InvalidMessage.
    """
    check_files(options.files)
    chosen: list[Recorded] = []
    files: list[tuple[str, Counter[str]]] = []
    matching, has_reasoning = 0, False
    for number, file in enumerate(options.files):
        formats = Counter[str]()
        records = read_input(file, format_name=options.format, questions=True)
        for recorded, _, facts in readable_conversations(records, file):
            if bar is not None:
                bar.update((number + records.progress) / len(options.files), f"reading {file_name(file)}")
            record = as_openai_chat(recorded)
            if _has_length(options, record):
                if matching % options.every == 0:
                    thoughts = (fact.reasoning for _, fact in facts if isinstance(fact, Assistant))
                    has_reasoning = has_reasoning or any(thoughts)
                    chosen.append(record)
                    formats[record.format] += 1
                matching += 1
        files.append((file_name(file), formats))
    return Chosen(chosen, files, has_reasoning)


def _has_length(options: Compare, record: Recorded) -> bool:
    """True if a conversation is neither too short nor too long for the options."""
    messages, most = len(record.messages), options.max_messages
    if messages < options.min_messages or (most is not None and messages > most):
        return False
    return not options.min_tokens or sum(tokens_of(one, o200k()) for one in record.messages) >= options.min_tokens


def compare(
    chosen: Sequence[Recorded],
    names: Sequence[str],
    budget: Budget,
    *,
    model: str | None = None,
    prices: Prices | None = None,
    jobs: int | None = None,
    bar: ProgressBar | None = None,
) -> Results:
    """Replay the conversations under each policy, in `jobs` processes (default: one for each core). Return, for each of
    `names`, the figures of all conversations together.

    `names`: the rows of the table (`rows_of`). `prices`: for `Compared.model_cost`. `model`: writes the summaries in
    the rows that end with `WITH_MODEL`.
    """
    o200k().count("x")  # loads the tokenizer before other processes are forked, and before anything is timed
    work = [(record, name, budget, model, prices) for name in names for record in chosen]
    results = dict.fromkeys(names, Compared())
    done = _results(work, min(jobs or os.cpu_count() or 1, len(work)))
    for number, ((record, name, *_), one) in enumerate(zip(work, done, strict=True), start=1):
        results[name] = results[name].plus(one)
        if bar is not None:
            bar.update(number / len(work), f"{name}, {record.source}")
    return results


Job = tuple[Recorded, str, Budget, str | None, Prices | None]


def _results(work: Sequence[Job], jobs: int) -> Iterator[Compared]:
    """Yield the results in the order of `work`, from `jobs` processes.

    Only this process handles Ctrl-C; the others end with it.
    """
    if jobs < 2:
        yield from map(replay_one, work)
        return
    with ProcessPoolExecutor(jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            yield from pool.map(replay_one, work)
        finally:
            pool.shutdown(cancel_futures=True)


def replay_one(job: Job) -> Compared:
    """Replay one conversation under one policy, in memory, and judge its windows."""
    record, name, budget, model, prices = job
    policy = policy_named(name.removesuffix(WITH_MODEL))
    return replayed(record, policy, budget, model=model if name.endswith(WITH_MODEL) else None, prices=prices)


def replayed(
    record: Recorded, policy: Policy, budget: Budget, *, model: str | None = None, prices: Prices | None = None
) -> Compared:
    """Replay one conversation under one policy, and measure every window. `model`: who writes its summaries."""
    summarizer = None if model is None else settings_for(model)
    run = PolicyReplay(record, policy, budget, summarizer=summarizer, prices=prices)
    for _ in run:
        pass
    found = run.result()
    return found if model is None else with_summaries(found, run.entries(), prices)


def _names(policies: str) -> list[str]:
    """Split the value of --policies into policies, each once; "all" means every policy.

    Raises InvalidSetting for an unknown one.
    """
    names = list(POLICIES) if policies == "all" else [name.strip() for name in policies.split(",")]
    return list(dict.fromkeys(policy_named(name).name for name in names))


def _title(options: Compare, conversations: int) -> str:
    prices = "" if options.prices is None else f", prices: {options.prices}"
    return f"{counted(conversations, 'conversation')}, a budget of {options.budget:,} tokens{prices}"


def _draw(results: Results, paths: Sequence[Path], title: str) -> None:
    """Draw the cost of each policy against the old names found, or against all names found if there are no old ones.

    Raises InvalidSetting if no policy has both figures, OSError.
    """
    has_old_names = any(one.grounding.far_needed for one in results.values())
    least = min(one.stats.refused for one in results.values())
    rows = ((name, one, one.grounding.shares[1 if has_old_names else 0]) for name, one in results.items())
    points = [
        Point(name=name, cost=one.anthropic.share, grounding=found, refused=one.stats.refused > least)
        for name, one, found in rows
        if one.anthropic.share is not None and found is not None
    ]
    if not points:
        raise InvalidSetting("--chart: nothing to draw: no call that was sent uses a name that occurred before")
    draw_picture(
        points, paths, title, f"{'old ' if has_old_names else ''}names found, of the names that the next message uses"
    )


def columns_of(results: Results, *, has_reasoning: bool) -> list[Column[Compared]]:
    """Return the columns of the table. The one for evidence is only there if questions are labelled, and the one for
    reasoning if there is any."""
    questions = any(one.stats.questions for one in results.values())
    left_out = {*(() if questions else ("evidence_recall",)), *(() if has_reasoning else (REASONING,))}
    return [_column(figure) for figure in COMPARE if figure.name not in left_out]


def category_columns(results: Results) -> list[Column[Compared]]:
    """Return a column for each category of questions; none if the questions have no categories."""
    # every policy was asked the same questions, so any of them has the counts
    counts = {name: count for one in results.values() for name, (count, _) in one.evidence_by_category.items()}
    return [_category_column(name, counts[name]) for name in sorted(counts)]


def _category_column(name: str, count: int) -> Column[Compared]:
    def found(one: Compared) -> float | None:
        questions, evidence = one.evidence_by_category.get(name, (0, 0.0))
        return share(evidence, questions)

    words = name.replace("_", " ")
    text = "The usable share of the evidence of these questions, on average."
    return Figure(name, words, f"{words}\n({count:,})", text), lambda one: number_text(found(one), ".0%")


def _column(figure: Figure) -> Column[Compared]:
    form, measure = MEASURES[figure.name]
    return figure, lambda one: number_text(measure(one), form)


def priced_by(model: str | None) -> TokenPrices | None:
    """The prices of --priced-by. Raises InvalidSetting if they are not known."""
    try:
        return None if model is None else listed_prices(model)
    except InvalidSetting as why:
        raise InvalidSetting(f"--priced-by: {why}") from None


def in_dollars(one: Compared, prices: TokenPrices | None) -> dict[str, float | None]:
    """What the input of all requests costs, in US dollars, and what the whole history would cost; None if no prices
    are given."""
    if prices is None:
        return {"dollars": None, "dollars_of_everything": None}
    unit = prices.input / 1_000_000
    return {"dollars": one.model_cost.paid * unit, "dollars_of_everything": one.model_cost.everything * unit}


def _verdict_text(name: str, prices: TokenPrices | None, one: Compared) -> str:
    """A figure of the verdict, as its table has it."""
    dollars = in_dollars(one, prices)["dollars"]
    if name == "cost" and dollars is not None:
        return f"${dollars:,.2f}"
    forms = {"cost": ".2f", "refused": ","}
    return number_text(figures(one)[name], forms.get(name, ".0%"))


def print_verdict_table(results: Results, prices: TokenPrices | None, *, has_reasoning: bool) -> None:
    """Print the figures that people ask for first, a row for each policy. A column for
    invalid or too large windows is there only if there are any, and the one for reasoning if the model's is there."""
    console, rows = terminal(), list(results.values())
    shown = [figure for figure in VERDICT if has_reasoning or figure.name != REASONING]
    columns = [(figure, partial(_verdict_text, figure.name, prices)) for figure in shown]
    columns += [_column(figure) for figure in (INVALID, OVER) if any(MEASURES[figure.name][1](one) for one in rows)]
    for part in _tables(console, list(results.items()), columns):
        console.print(part)
    console.print(f"More figures: --all. Each is explained by `{command()} compare --help`.", style="dim")


def print_table(results: Results, *, has_reasoning: bool) -> None:
    """Print a row for each policy, and notes about the columns. A table that is too wide is printed as several."""
    console = terminal()
    for part in _tables(console, list(results.items()), columns_of(results, has_reasoning=has_reasoning)):
        console.print(part)
    console.print(f"{_NOTES}\n{_REASONING_NOTE}" if has_reasoning else _NOTES, style="dim")
    if any(one.stats.refused for one in results.values()):
        console.print(REFUSED, style="dim")
    if columns := category_columns(results):
        console.print("\nEvidence found, by category of question", style="bold")
        for part in _tables(console, list(results.items()), columns):
            console.print(part)
    console.print(f"Each column is explained by `{command()} compare --help`.", style="dim")


def _tables(
    console: Console, rows: Sequence[tuple[str, Compared]], columns: Sequence[Column[Compared]]
) -> Iterator[Table]:
    """Yield one table if it fits the terminal, else two with half of the columns each, and so on."""
    whole, half = table("policy", rows, columns), len(columns) // 2
    if not half or fits(console, whole):
        yield whole
        return
    yield from _tables(console, rows, columns[:half])
    yield from _tables(console, rows, columns[half:])


def numbers(one: Compared) -> dict[str, Any]:
    """Return a result as JSON values: its sums and every figure."""
    sums = {"grounding": one.grounding, "anthropic": one.anthropic, "openai": one.openai}
    return {
        **asdict(one.stats),
        **{name: measure(one) for name, (_, measure) in MEASURES.items()},
        **sums,
        "summaries": one.summaries,
        "failed_summaries": one.failed_summaries,
        "evidence_by_category": {
            name: {"questions": count, "evidence_recall": found / count}
            for name, (count, found) in sorted(one.evidence_by_category.items())
        },
    }
