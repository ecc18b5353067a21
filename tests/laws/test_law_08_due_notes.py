"""Law 8 where state is announced: the notes that are due count as much before they are added as after it."""

from __future__ import annotations

from itertools import product

import pytest
from msgspec.structs import replace

from transom import BudgetImpossible
from transom.core.budget import Budget
from transom.core.edit import Fold
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


def test_a_note_that_ends_the_wait_for_a_tool_of_the_provider() -> None:
    """Turns that wait are spared. The note ends the wait, so the same plan may fold them."""
    eager = replace(policy_named("default"), trigger=0.3, target=0.1)
    log = talk("Go.", *[says(f"Step {at} is done. " * 20) for at in range(3)])
    log[1] = replace(log[1], body=replace(log[1].body, pending_calls=("p1",)))
    for at in (2, 3):
        log[at] = replace(log[at], body=replace(log[at].body, continued_calls=("p1",), pending_calls=("p1",)))
    call = plan_call(log, Budget(context=600), eager, state={"mode": "plan"})
    check_settled(call)
    assert any(isinstance(entry.body, Fold) for entry in call.plan.entries)
