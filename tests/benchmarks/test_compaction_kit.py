"""The compaction-conformance-kit over the key messages: the floors, and the same under other headings or none."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from compaction_kit.benchmark import run_budget_benchmark
from compaction_kit.session import Turn

from transom.strategies.sentences.salience import statements

KIT = Path(__file__).parents[2] / "benchmarks" / "compaction.py"
spec = importlib.util.spec_from_file_location("compaction_benchmark", KIT)
benchmark: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)

FLOORS = {0.1: (0.40, 0.56), 0.2: (0.85, 1.0), 0.3: (1.0, 1.0)}
"""By budget: canaries that survive, and values replaced in other words of which only the newest is there."""

HEADERS = ("SAFETY RULE", "HARD CONSTRAINT", "FACT", "GOAL STATE", "USER PREFERENCE")
OTHERS = dict(zip(HEADERS, ("Careful", "Limit", "For the record", "Where we are", "My taste"), strict=True))
HEADED = re.compile(f"^({'|'.join(HEADERS)}): ")
WORDINGS = {
    "as they are": lambda found: found.group(),
    "lower case": lambda found: found.group().lower(),
    "other words": lambda found: f"{OTHERS[found.group(1)]}: ",
    "one for all": lambda found: "NOTE: ",
    "none": lambda found: "",
}
BETTER = 0.15
"""How much more may survive where headings are shorter: there is room for more sentences."""


def figures(wording, seeds=(1, 2, 3, 4)) -> dict[float, dict[str, Any]]:
    """The kit's entries by budget, its sessions reworded before the first compaction."""

    class Reworded(benchmark.KeyMessageCompactor):
        def compact(self, turns, round_num=1, budget_chars=None):
            turns = [Turn(turn.role, HEADED.sub(wording, turn.text), turn.canary_id) for turn in turns]
            return super().compact(turns, round_num, budget_chars)

    payload = run_budget_benchmark({"key messages": Reworded}, budgets=tuple(FLOORS), seeds=seeds)
    return {entry["budget_fraction"]: entry for entry in payload["entries"]}


@pytest.fixture(scope="module")
def plain() -> dict[float, dict[str, Any]]:
    return figures(WORDINGS["as they are"])


def judge(entries: dict[float, dict[str, Any]]) -> None:
    for budget, (survival, resolved) in FLOORS.items():
        entry = entries[budget]
        assert entry["budget_compliant"]
        assert entry["randomized"]["overall_final_survival"] >= survival
        assert entry["semantic"]["resolved_rate"] >= resolved
        assert entry["semantic"]["conflicts"]["stale"] == 0
        assert entry["randomized"]["supersession"]["stale"] == 0
        assert budget == 0.1 or entry["semantic"]["distinct_pair_rate"] == 1.0


@pytest.mark.parametrize("wording", WORDINGS.values(), ids=WORDINGS)
def test_the_floors_are_reached_under_any_heading(wording, plain) -> None:
    entries = figures(wording)
    judge(entries)
    for budget, entry in entries.items():
        gained = entry["randomized"]["overall_final_survival"] - plain[budget]["randomized"]["overall_final_survival"]
        assert 0 <= gained <= BETTER


def test_and_on_other_seeds_of_the_same_templates() -> None:
    judge(figures(WORDINGS["as they are"], seeds=tuple(range(101, 109))))


@pytest.mark.parametrize("header", HEADERS)
def test_a_heading_is_worth_nothing(header: str) -> None:
    (bare,), (headed,) = statements("the sky over it was grey"), statements(f"{header}: the sky over it was grey")
    assert (headed.value, headed.reasons) == (bare.value, bare.reasons) == (0, ())


def test_without_corrections_the_judge_would_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.strategies.sentences.collect.outdated", lambda told: frozenset())
    assert figures(WORDINGS["as they are"])[0.3]["semantic"]["conflicts"]["stale"] > 0
