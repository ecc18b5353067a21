"""Law 8 where state is announced: the notes that are due count as much before they are added as after it."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from transom import BudgetImpossible
from transom.core.budget import Budget
from transom.policies import policy_named
from transom.testing import says, talk
from transom.testing.laws import plan_call
from transom.testing.laws.planned import check_settled


@pytest.mark.parametrize("policy", ["default", "summary", "openhands"])
def test_a_second_plan_finds_nothing_to_do(policy: str) -> None:
    planned = 0
    eager = replace(policy_named(policy), trigger=0.4, target=0.1)
    for turns, words in product(range(8, 26, 2), (0, 10, 20, 40)):
        said = [item for at in range(turns) for item in (f"Question {at}? " * 5, says(f"Answer {at}. " * 12))]
        log = talk("Go.", *said, "Go on.")
        state = {"goal": "green tests " * words} if words else {}
        try:
            call = plan_call(log, Budget(context=900, max_bytes=3_000), eager, state=state)
        except BudgetImpossible:
            continue
        check_settled(call)
        planned += 1
    assert planned >= 30
