"""Which policy `transom compare` says to take."""

from __future__ import annotations

import pytest

from transom.evaluation.compare import Compared, UserRequests
from transom.evaluation.grounding import Grounding
from transom.evaluation.replay_stats import ReplayStats
from transom.evaluation.simulated_cost import Cost
from transom.reports.verdict import verdict


def policy(kept: int, found: int, cost: float, *, refused: int = 0, invalid: int = 0, breaks: int = 4) -> Compared:
    """Figures of 100 calls: shares in percent, and the cost beside 100 for everything."""
    stats = ReplayStats(
        conversations=9, calls=100, sent=100 - refused, refused=refused, invalid=invalid, tokens=50, passthrough=100,
        breaks=breaks, compactions=3,
    )  # fmt: skip
    return Compared(
        stats=stats,
        requests=100,
        requests_kept=kept,
        grounding=Grounding(needed=100, present=found),
        anthropic=Cost(paid=cost, everything=100),
    )


ONLY_CHEAPER = (
    "a. It keeps 90% of what the user asked, has 50% of the names that the next step uses and costs 40% of sending the "
    "whole history. Of the others, b costs 50% less, but keeps 60% of what was asked and has more of the names that "
    "the next step uses, 90%."
)
BREAKS = "a costs the same and breaks the cache 9 times, not 4"


@pytest.mark.parametrize(
    ("results", "taken", "words"),
    [
        ({"a": policy(90, 50, 40), "b": policy(60, 90, 20)}, "a", ONLY_CHEAPER),
        ({"a": policy(90, 50, 40), "b": policy(88, 70, 60)}, "b", "a costs 33% less, but has 50% of the names"),
        ({"a": policy(90, 50, 40), "b": policy(89, 49, 30)}, "b", "a costs 33% more"),
        ({"a": policy(90, 50, 40, breaks=9), "b": policy(90, 50, 40)}, "b", BREAKS),
        ({"a": policy(90, 50, 40), "b": policy(99, 99, 10, refused=1)}, "a", "b refuses 1 of 100 calls"),
        ({"a": policy(90, 50, 40), "b": policy(99, 99, 10, invalid=2)}, "a", "b builds 2 wrong windows"),
        (
            {"a": policy(90, 50, 40, refused=60), "b": policy(99, 99, 10, refused=61)},
            "a",
            "The budget is too small for 60 of 100 calls under every policy.",
        ),
        ({"a": policy(90, 50, 40)}, None, "these figures cannot tell. There is nothing to compare with"),
        ({"a": policy(0, 0, 0, refused=100)}, None, "No call was sent under any of these policies"),
        ({"a": Compared(), "b": Compared()}, None, "There is no model call to compare"),
    ],
)
def test_the_policy_to_take(results: dict[str, Compared], taken: str | None, words: str) -> None:
    found = verdict(results)
    assert found.policy == taken
    assert words in found.sentence
    assert "hint" not in found.sentence


def test_requests_that_are_kept() -> None:
    asked = UserRequests()
    asked.add(["Rename the module  to\nwindows, and keep every test that is there as it is."])
    asked.add([""])
    asked.add(["yes"])
    assert len(asked) == 2
    assert asked.kept(["… «Rename the module to windows, and keep every test that is» …"]) == 1
    assert asked.kept(["Rename the module", "yes"]) == 1
    assert asked.kept([]) == 0
