"""The command `transom shadow`: does the window change what a model does next?"""

from __future__ import annotations

import itertools
from collections.abc import Container

from msgspec.structs import replace
from rich.console import Console

from transom.cache_prices import Prices
from transom.cli.commands.recorded import Shadow
from transom.cli.input_files import check_files, read_input, readable_conversations
from transom.cli.progress import ProgressBar
from transom.cli.streams import counted, is_confirmed, one_line
from transom.cli.terminal import print_json, print_line, print_wrapped, terminal
from transom.core.budget import Budget
from transom.importers import Recorded
from transom.policies import policy_named
from transom.providers import provider_named
from transom.reports import shadow as report
from transom.tokenizer import o200k

MOST_CHANGED = 5
"""How many calls with another answer are printed."""


def run(options: Shadow) -> int:
    """Draw the sample, say what it costs, ask whether to send it, and print the shares.

    Exit code 1 if the window does harm, or if the model answered at no call; else 0, also if the user does not want to
    send it. Raises InvalidSetting if there is no call to compare, or if nobody can be asked and --yes is not given.
    """
    check_files(options.files)
    provider = provider_named(options.model)
    policy = policy_named(options.policy)
    budget = Budget(context=options.budget, prices=Prices.named(options.prices))
    o200k().count("x")
    records: dict[str, Recorded] = {}
    for file in options.files:
        reader = read_input(file, options.format)
        for record, _ in readable_conversations(reader, file):
            name = _free_name(record.id, records)
            records[name] = replace(record, id=name)
    found = list(records.values())
    plan = report.plan_shadow(
        found, provider, budget=budget, policy=policy, calls=options.calls, max_tokens=options.max_tokens
    )
    report.require_calls(plan)
    question = f"{_about(plan)}. Ask?"
    if not is_confirmed(question, yes=options.yes, why="shadow sends requests to a model"):
        return 0
    with ProgressBar() as bar:
        result = report.run_shadow(
            plan,
            found,
            provider,
            budget=budget,
            policy=policy,
            max_tokens=options.max_tokens,
            on_answer=lambda asked: bar.update(asked / plan.requests, plan.model),
        )
    if options.json:
        print_json({"policy": policy.name, "budget": options.budget, "plan": plan, "result": result})
    else:
        _print(terminal(), plan, result)
    return 1 if result.added is None or result.added_interval[0] > 0 else 0


def _free_name(name: str, used: Container[str]) -> str:
    """Return the id of a conversation, with a number behind it if it is among the `used` ones."""
    names = itertools.chain((name,), (f"{name}-{number}" for number in itertools.count(2)))
    return next(one for one in names if one not in used)


def _about(plan: report.ShadowPlan) -> str:
    """Say what the model will be asked, and what it costs at most."""
    kind = "whose window is not the whole history" if plan.is_changed else "(no window differs from the whole history)"
    dollars = "a price that is not known" if plan.max_dollars is None else f"at most ${plan.max_dollars:,.2f}"
    return (
        f"{counted(len(plan.calls), 'call')} of {plan.eligible:,} {kind}: {plan.requests:,} requests to {plan.model}, "
        f"{plan.input_tokens:,} input tokens, {dollars}"
    )


def _print(console: Console, plan: report.ShadowPlan, result: report.Shadow) -> None:
    print_wrapped(console, one_line(_about(plan)) + ".")
    for why, number in (("too long for the model", plan.too_long), ("without a window", plan.refused)):
        if number:
            print_line(console, f"left out: {counted(number, 'call')} {why}")
    if result.failed:
        print_line(console, f"left out: {counted(result.failed, 'call')} without an answer")
    rows = (
        ("two answers with the whole history differ", result.chance, result.chance_interval),
        ("the answer with the window differs", result.window, result.window_interval),
        ("what the window adds", result.added, result.added_interval),
    )
    for label, share, (low, high) in rows:
        print_line(console, f"{label:<42}", (f"{share or 0:>5.0%}", "bold"), f"   95%: {low:.0%} to {high:.0%}")
    changed = [one for one in result.answers if one.window_differs and not one.chance_differs]
    for one in changed[:MOST_CHANGED]:
        print_line(console, (f"call {one.call} of {one_line(one.conversation)}", "bold"))
        print_line(console, f"  whole:  {one_line(one.whole)}")
        print_line(console, f"  window: {one_line(one.window)}")
    print_wrapped(console, result.sentence)
