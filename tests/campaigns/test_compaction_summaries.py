"""The compaction-conformance-kit over policy `summary` with a scripted model: never below policy `default`."""

from __future__ import annotations

from typing import Any

import pytest
from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.compacted import CompactedContext
from test_compaction_kit import benchmark

import transom
from transom.providers.scripted import Scripted
from transom.strategies.sentences.salience import statements

NEXT = "Go on."
AROUND = 14
"""Tokens that are not handed back: the next message, and the envelopes of the request, the system prompt and it."""


class Quarters:
    """Counts four characters as a token: the title of a summary is as long as in a real window."""

    name = "quarters"

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


def matters(request: dict[str, Any]) -> str:
    """A model that writes down the sentences of the turns that matter, the newest."""
    turns = request["messages"][-1]["content"].rpartition(" turns end ===")[0]
    lines = [line for line in turns.splitlines() if not line.startswith("===")]
    kept = [one.text for line in lines for one in statements(line) if one.value > 0]
    return "\n".join(["## User intent", *(f"- {text}" for text in [*dict.fromkeys(kept)][-8:] or ["small talk"])])


class BudgetEnforcer:
    """The kit's protocol over one compaction with a named policy, in which a model makes summaries if it is asked."""

    def __init__(self, policy: str) -> None:
        self.policy = self.name = policy

    def compact(self, turns: list[Any], round_num: int = 1, budget_chars: int | None = None) -> CompactedContext:
        room = allowed = budget_chars or sum(len(turn.text) + 20 for turn in turns)
        text = benchmark.written(self.window(turns, room))
        while len(text) > allowed:  # role names and line ends are not the counter's: give them room
            room -= len(text) - allowed
            text = benchmark.written(self.window(turns, room))
        return CompactedContext(text=text, compactor_name=self.policy, round_num=round_num)

    def window(self, turns: list[Any], room: int) -> list[dict[str, Any]]:
        with transom.Conversation.open(
            "memory:",
            "kit",
            budget=room // 4 + AROUND,
            policy=self.policy,
            counter=Quarters(),
            system="\n".join(turn.text for turn in turns if turn.role == "system"),
            summarizer=Scripted(then=matters) if self.policy == "summary" else None,
        ) as conv:
            for turn in turns:
                if turn.role == "user":
                    conv.user(turn.text)
                elif turn.role != "system":
                    conv.observe({"role": "assistant", "content": turn.text})
            conv.compact()
            conv.user(NEXT)
            return transom.render(conv.plan_request())["messages"][:-1]


def figures(budget: float) -> dict[str, Any]:
    """The kit's entries for both policies."""
    makers = {name: lambda name=name: BudgetEnforcer(name) for name in ("default", "summary")}
    payload = run_budget_benchmark(makers, budgets=(budget,), seeds=(1, 2))
    assert all(entry["budget_compliant"] for entry in payload["entries"])
    return {entry["compactor"]: entry for entry in payload["entries"]}


def survival(entry: dict[str, Any]) -> float:
    return entry["randomized"]["overall_final_survival"]


@pytest.mark.parametrize("budget", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
def test_a_summary_takes_nothing_from_a_small_record(budget: float) -> None:
    found = figures(budget)
    summary, default = found["summary"], found["default"]
    assert survival(summary) >= survival(default)
    for key in ("resolved_rate", "distinct_pair_rate"):
        assert summary["semantic"][key] >= default["semantic"][key]
