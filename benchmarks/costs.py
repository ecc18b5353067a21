"""What conversations cost with a fixed trigger and with a priced one, summaries included: docs/why/prices.md.

    python benchmarks/costs.py FOLDER [--families claude_code,codex] [--budgets 16000,64000] [--every 1] [--jobs N]

Every conversation of more than 150 messages is replayed. No model is called. In place of a model, code makes the
summaries, and each is priced as if a model had made it: the cheaper of a forked and a flat request, and the answer.
Costs are relative to sending everything at every call, by the same prices.
"""

from __future__ import annotations

import argparse
import os
import signal
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from transom.cache_prices import PRICES
from transom.conversation.summary_job import SummarySettings
from transom.conversation.worker_pool import InPlace
from transom.core.budget import Budget
from transom.evaluation.compare import Compared
from transom.evaluation.simulated_cost import summary_costs
from transom.importers import Recorded, read
from transom.importers.recorded import as_openai_chat
from transom.policies import policy_named
from transom.reports.recorded_calls import judge_of, recorded_calls
from transom.stores import MemoryStore
from transom.strategies.text.one_line import one_line
from transom.summaries.flat_text import text_of
from transom.summaries.outline import Addition, Delta, apply_delta
from transom.summaries.prompts import SECTIONS
from transom.summaries.rolling_summary import finished_summary, starting_outline
from transom.tokenizer import o200k

FIXED = ":trigger=0.8:target=0.5"
"""The trigger of most systems: at 80% of the window, down to half."""

POLICIES = ("default", "summary")


class Row(Struct, frozen=True, kw_only=True):
    """One row of the table: a policy, and whether these prices decide when and how it compacts."""

    policy: str
    prices: str | None = None

    @property
    def label(self) -> str:
        """The first column."""
        trigger = "0.8 → 0.5" if self.policy.endswith(FIXED) else f"{self.prices} prices" if self.prices else "full"
        return f"{self.policy.removesuffix(FIXED)}, {trigger}"


class Costs(Struct, frozen=True, kw_only=True):
    """What `compared` says, and what summaries cost by each price list; `made`: how many there were."""

    compared: Compared = Compared()
    summaries: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PRICES, 0.0))
    made: int = 0

    def plus(self, other: Costs) -> Costs:
        return Costs(
            compared=self.compared.plus(other.compared),
            summaries={name: paid + other.summaries[name] for name, paid in self.summaries.items()},
            made=self.made + other.made,
        )

    def share(self, name: str) -> float | None:
        """The cost by one price list, summaries included."""
        cost = self.compared.anthropic if name == "anthropic" else self.compared.openai
        return replace(cost, paid=cost.paid + self.summaries[name]).share


class StandIn:
    """Makes summaries without a model, where a model is to be priced."""

    def steps(self, want, counter, _model):
        outline = starting_outline(want, SECTIONS)
        openings = (one_line(text_of(turn.facts[0]), 200) for turn in want.turns)
        said = tuple(Addition("progress", words, "done") for words in openings if words)
        outline = apply_delta(outline, Delta(add=said), SECTIONS)
        yield from ()
        return finished_summary(want, outline, SECTIONS, counter, made_by="stand-in")


def rows() -> list[Row]:
    """Each policy at a full window, at the fixed trigger, and by each price list."""
    return [
        row
        for policy in POLICIES
        for row in (
            Row(policy=policy),
            Row(policy=policy + FIXED),
            *(Row(policy=policy, prices=name) for name in PRICES),
        )
    ]


def replay_one(job: tuple[Recorded, Row, int]) -> Costs:
    """One conversation under one row."""
    record, row, budget = job
    limits = Budget(context=budget, prices=None if row.prices is None else PRICES[row.prices])
    log, judge = MemoryStore().open(record.id), judge_of(record, limits)
    has_summaries = row.policy.startswith("summary")
    summarizer = SummarySettings(summarizer=StandIn(), pool=InPlace()) if has_summaries else None
    for call in recorded_calls(record, budget=limits, policy=policy_named(row.policy), log=log, summarizer=summarizer):
        judge.add(call)
    found = judge.result()
    made = [paid for _, paid in summary_costs(log.read(), o200k())]
    paid = {name: sum(one[name] for one in made) for name in PRICES}
    return Costs(compared=found, summaries=paid, made=len(made))


def number_text(number: float | None, form: str) -> str:
    """A number; a dash for None, where there is nothing to measure."""
    return "–" if number is None else format(number, form)


def table(family: str, budget: int, results: dict[Row, Costs], conversations: int) -> Generator[str]:
    """One family at one budget, in Markdown."""
    calls = max(one.compared.stats.calls for one in results.values())
    yield f"\n### {family} at {budget:,} tokens: {conversations:,} conversations, {calls:,} calls\n"
    heads = ("policy, trigger", "cost Anthropic", "cost OpenAI", "old names", "all names", "compactions", "summaries")
    yield f"| {' | '.join(heads)} |"
    yield f"|---|{'---:|' * (len(heads) - 1)}"
    for row, one in results.items():
        every, old, _ = one.compared.grounding.shares
        costs = (number_text(one.share(name) if row.prices in {None, name} else None, ".3f") for name in PRICES)
        shares = (number_text(found, ".1%") for found in (old, every))
        yield f"| {' | '.join((row.label, *costs, *shares, f'{one.compared.stats.compactions:,}', f'{one.made:,}'))} |"


def results_of(chosen: Sequence[Recorded], wanted: Sequence[Row], budget: int, jobs: int | None) -> dict[Row, Costs]:
    """Every row over these conversations."""
    o200k().count("load it before other processes are forked")
    results = dict.fromkeys(wanted, Costs())
    work = [(record, row, budget) for row in results for record in chosen]
    with ProcessPoolExecutor(
        jobs or os.cpu_count(), initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN)
    ) as pool:
        for (_, row, _), one in zip(work, pool.map(replay_one, work), strict=True):
            results[row] = results[row].plus(one)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--families", default="claude_code,claude_code2,codex")
    parser.add_argument("--budgets", default="16000,64000")
    parser.add_argument("--rows", default="", help="only rows whose first column contains this")
    parser.add_argument("--min-messages", type=int, default=151)
    parser.add_argument("--max-messages", type=int)
    parser.add_argument("--every", type=int, default=1, help="only every Kth conversation")
    parser.add_argument("--jobs", type=int)
    args = parser.parse_args()
    for family in args.families.split(","):
        file = args.data / "conversations" / f"{family}.jsonl.gz"
        for budget in map(int, args.budgets.split(",")):
            most = args.max_messages
            fitting = [
                record
                for record in map(as_openai_chat, read(file))
                if args.min_messages <= len(record.messages) <= (most or len(record.messages))
            ]
            chosen = fitting[:: args.every]
            results = results_of(chosen, [row for row in rows() if args.rows in row.label], budget, args.jobs)
            print("\n".join(table(family, budget, results, len(chosen))), flush=True)


if __name__ == "__main__":
    main()
