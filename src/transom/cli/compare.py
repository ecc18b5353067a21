"""The command `transom compare`: replays recorded conversations under several policies, and compares the results."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from msgspec.structs import asdict, replace

from transom.cache_prices import PRICES, Prices
from transom.cli.commands.recorded import Compare
from transom.cli.input_files import (
    check_files,
    file_name,
    named_files,
    read_input,
    readable_conversations,
    summary_lines,
)
from transom.cli.next_commands import program_name
from transom.cli.progress import ProgressBar
from transom.cli.replay_report import WRONG, print_figures
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.conversation.summary_job import SummarySettings
from transom.conversation.worker_pool import InPlace
from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.message import Assistant, Failure
from transom.core.policy import Policy
from transom.core.summary import NO_SUMMARY
from transom.errors import InvalidSetting
from transom.evaluation.compare import Compared
from transom.evaluation.simulated_cost import summary_costs
from transom.importers import Recorded
from transom.importers.recorded import as_openai_chat
from transom.policies import POLICIES, policy_named
from transom.providers import provider_named
from transom.providers.model_prices import TokenPrices, listed_prices
from transom.reports.policy_figures import COMPARE, INVALID, OVER, REASONING, REFUSED, VERDICT, Figure, figures
from transom.reports.recorded_calls import judge_of, recorded_calls
from transom.reports.verdict import verdict
from transom.stores import MemoryStore
from transom.strategies.fold.layered_records import Digest
from transom.tokenizer import o200k

SETTINGS = ("budget", "prices", "priced_by", "model")
"""The options that the results depend on, beside the files and the policy."""

Results = dict[str, Compared]
"""The result of each policy, all over the same conversations."""


def run(options: Compare) -> int:
    """Replay the conversations with each of the policies, and print a table with a row for each, and which to take.

    Exit code 0 if every window is valid and within the budget, and not every call was refused; else 1.
    """
    names = rows_of(_names(options.policies), options.model)
    budget = Budget(context=options.budget, prices=Prices.named(options.prices))
    with ProgressBar() as bar:
        chosen = _choose(options, bar)
    if not chosen.conversations:
        raise InvalidSetting(f"no conversation in {named_files(options.files)}")
    prices = _priced_by(options.priced_by)
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
        policies = [{"policy": name, **numbers(one), **in_dollars(one, prices)} for name, one in results.items()]
        print_json({**settings, "files": file_formats, "policies": policies, "verdict": found})
    else:
        for line in summary_lines(chosen.files):
            print_line(terminal(), line)
        _print_table(results, options, prices, has_reasoning=chosen.has_reasoning)
        if options.model is not None:
            print_line(terminal(), summaries_line(results, options.model))
        print_wrapped(terminal(), ("\nWhich to take: ", "bold"), found.sentence)
    all_stats = [one.stats for one in results.values()]
    is_wrong = any(stats.invalid or stats.over for stats in all_stats)
    all_refused = all(stats.refused and not stats.sent for stats in all_stats)
    return WRONG if is_wrong or all_refused else 0


class _Chosen(NamedTuple):
    """The conversations that are compared, as OpenAI Chat."""

    conversations: list[Recorded]
    files: list[tuple[str, Counter[str]]]
    """For each file, how many of them it has, by format."""
    has_reasoning: bool
    """Whether any of them has reasoning of the model."""


def _choose(options: Compare, bar: ProgressBar) -> _Chosen:
    """Read the conversations of all files, and translate them to OpenAI Chat, so that their figures can be compared.
    Raises OSError, and InvalidMessage for a file that holds no conversations."""
    check_files(options.files)
    chosen: list[Recorded] = []
    files: list[tuple[str, Counter[str]]] = []
    has_reasoning = False
    for number, file in enumerate(options.files):
        formats = Counter[str]()
        records = read_input(file, options.format)
        for recorded, facts in readable_conversations(records, file):
            bar.update((number + records.progress) / len(options.files), f"reading {file_name(file)}")
            has_reasoning = has_reasoning or any(isinstance(fact, Assistant) and fact.reasoning for _, fact in facts)
            chosen.append(as_openai_chat(recorded))
            formats[recorded.format] += 1
        files.append((file_name(file), formats))
    return _Chosen(chosen, files, has_reasoning)


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
    """Replay the conversations under each policy, and return for each of `names` the sum of the figures of all
    conversations, in the order of `names`.

    `chosen`: conversations in OpenAI Chat (`as_openai_chat`). `names`: the rows of the table, as `rows_of` returns
    them. `model`: writes the summaries in the rows that end with `WITH_MODEL`. `prices`: for `Compared.model_cost`.
    `jobs`: the number of processes; None: one for each core; 1: this process does the work.
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
"""What one process does at a time: a conversation, a row of the table, and the options of `compare` for it."""


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
    """Replay one conversation under the policy of one row of the table, in memory, and return the figures of its
    windows. If the name of the row ends with `WITH_MODEL`, the model writes the summaries, and the figures include
    their costs."""
    record, name, budget, model, prices = job
    policy = policy_named(name.removesuffix(WITH_MODEL))
    summarizer = settings_for(model) if model is not None and name.endswith(WITH_MODEL) else None
    log, judge = MemoryStore().open(record.id), judge_of(record, budget)
    for call in recorded_calls(record, budget=budget, policy=policy, log=log, summarizer=summarizer):
        judge.add(call)
    found = judge.result(prices)
    return found if summarizer is None else with_summaries(found, log.read(), prices)


def _names(policies: str) -> list[str]:
    """Return the names in the value of --policies, each once; for "all", the names of all policies.

    Raises InvalidSetting for an unknown one.
    """
    names = list(POLICIES) if policies == "all" else [name.strip() for name in policies.split(",")]
    return list(dict.fromkeys(policy_named(name).name for name in names))


def _priced_by(model: str | None) -> TokenPrices | None:
    """Return the prices of the model of --priced-by; None without the option. Raises InvalidSetting if not known."""
    try:
        return None if model is None else listed_prices(model)
    except InvalidSetting as why:
        raise InvalidSetting(f"--priced-by: {why}") from None


def in_dollars(one: Compared, prices: TokenPrices | None) -> dict[str, float | None]:
    """Return three fields of --json, in US dollars: `dollars`, what the input of all requests costs;
    `dollars_of_everything`, what it would cost if each request had the whole history; `dollars_of_sent_calls`, the
    first without refused calls. The first two are None if calls were refused, because the dollars of fewer calls cannot
    be compared. All are None without prices."""
    unit = 0.0 if prices is None else prices.input / 1_000_000
    sent, everything = one.model_cost.paid * unit, one.model_cost.everything * unit
    is_whole = prices is not None and not one.stats.refused
    return {
        "dollars": sent if is_whole else None,
        "dollars_of_everything": everything if is_whole else None,
        "dollars_of_sent_calls": None if prices is None else sent,
    }


def _print_table(results: Results, options: Compare, prices: TokenPrices | None, *, has_reasoning: bool) -> None:
    """Print a row for each policy: with --all every figure, otherwise those that people ask for first."""
    values = {name: figures(one) for name, one in results.items()}
    if prices is not None:
        values = {name: {**row, "cost": in_dollars(results[name], prices)["dollars"]} for name, row in values.items()}
    console = terminal()
    print_figures(
        console, "policy", [*values.items()], list(_shown(values, options, prices, has_reasoning=has_reasoning))
    )
    for name, one in results.items():
        stats, dollars = one.stats, in_dollars(one, prices)["dollars_of_sent_calls"]
        if dollars is not None and stats.refused:
            calls = f"it refuses {stats.refused:,} of {stats.calls:,} calls; the others cost ${dollars:,.2f}"
            print_wrapped(console, f"{name} has no cost: {calls}.")
    if options.all and any(row[REFUSED.name] for row in values.values()):
        console.print("Refused calls are counted in no other column but calls.", style="dim")
    more = "" if options.all else "More figures: --all. "
    console.print(f"{more}Each is explained by `{program_name()} compare --help`.", style="dim")


def _shown(
    values: Mapping[str, Mapping[str, float | None]],
    options: Compare,
    prices: TokenPrices | None,
    *,
    has_reasoning: bool,
) -> Iterator[Figure]:
    """Yield the columns of the table.

    Without --all, wrong windows have a column only if there are any. Reasoning has one only if a conversation has some.
    """
    wrong = [figure for figure in (INVALID, OVER) if any(row[figure.name] for row in values.values())]
    for figure in COMPARE if options.all else (*VERDICT, *wrong):
        if figure != REASONING or has_reasoning:
            yield replace(figure, form="$,.2f") if figure.name == "cost" and prices is not None else figure


def numbers(one: Compared) -> dict[str, Any]:
    """Return the result of one policy as the fields of its object in --json: its sums and every figure."""
    sums = {"grounding": one.grounding, "anthropic": one.anthropic, "openai": one.openai}
    summaries = {"summaries": one.summaries, "failed_summaries": one.failed_summaries}
    return {**asdict(one.stats), **figures(one), **sums, **summaries}


WITH_MODEL = " + model"
"""What the name of a policy's row ends with if a model writes its summaries."""


def rows_of(names: Sequence[str], model: str | None) -> list[str]:
    """Return the names of the rows of the table: each policy, and behind a policy that shows summaries a second row for
    it, whose name ends with `WITH_MODEL`. `model`: None: `names` alone.

    Raises InvalidSetting for a model that cannot be asked, or if none of the policies shows summaries.
    """
    if model is None:
        return list(names)
    provider_named(model)
    with_summaries = {name for name in names if may_show_summaries(policy_named(name))}
    if not with_summaries:
        raise InvalidSetting("--model: none of these policies shows a summary: try --policies summary,codex")
    return [row for name in names for row in ((name, name + WITH_MODEL) if name in with_summaries else (name,))]


def may_show_summaries(policy: Policy) -> bool:
    """True for a policy that shows summaries in its windows if a model writes them."""
    steps = [step for step in policy.pressure if callable(getattr(step, "wants", None))]
    return any(not isinstance(step, Digest) or step.summary > 0 for step in steps)


def settings_for(model: str) -> SummarySettings:
    """Return the settings with which this model writes every summary while the replay waits. A conversation would have
    some made in the background, and a replay would be over before they are there.
    """
    return SummarySettings(provider=model, pool=InPlace())


def with_summaries(found: Compared, log: Iterable[Entry], prices: Prices | None = None) -> Compared:
    """Return the figures of a conversation with its summaries added: what they cost, how many the model made, and how
    many it failed to make. `log`: the entries of the replay."""
    entries = list(log)
    lists = PRICES if prices is None else {**PRICES, "model_cost": prices}
    made = [(summary, paid) for summary, paid in summary_costs(entries, o200k(), lists) if not summary.degraded]
    failed = sum(isinstance(entry.body, Failure) and entry.body.failure == NO_SUMMARY for entry in entries)
    by_model = sum(paid.get("model_cost", 0.0) for _, paid in made)
    anthropic, openai = (sum(paid[name] for _, paid in made) for name in ("anthropic", "openai"))
    return replace(
        found,
        anthropic=replace(found.anthropic, paid=found.anthropic.paid + anthropic),
        model_cost=replace(found.model_cost, paid=found.model_cost.paid + by_model),
        openai=replace(found.openai, paid=found.openai.paid + openai),
        summaries=len(made),
        failed_summaries=failed,
    )


def summaries_line(results: Mapping[str, Compared], model: str) -> str:
    """Return one line that says how many summaries the model made under each policy that has a row with it, and how
    many failed."""
    rows = {name.removesuffix(WITH_MODEL): one for name, one in results.items() if name.endswith(WITH_MODEL)}
    counts = (
        f"{name} {one.summaries:,}{f' ({one.failed_summaries:,} failed)' if one.failed_summaries else ''}"
        for name, one in rows.items()
    )
    return f"Summaries by {model}, priced in the costs: {', '.join(counts)}."
