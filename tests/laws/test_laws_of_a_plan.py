"""Laws 1 to 10 and 12 for a plan: any log, any edits in it, any limits, any state, any of the policies."""

from __future__ import annotations

import pytest
import turnsafe
from hypothesis import example, given
from hypothesis import strategies as st

from policies import POLICIES, STRATEGIES
from transom import Budget, BudgetImpossible, Policy
from transom.core.entry import Entry
from transom.testing import Step, budgets, logs, states, work_logs, write_log
from transom.testing.laws import check_plan, check_plans_in_turn, check_proposals, messages_of, plan_call

IMAGE_IN_A_RESULT = [Step("turn", b=1), *[Step("user")] * 9, Step("result", d=13), Step("pin")]
"""A pinned turn that surfaces out of a fold, with an image in a result: it is sent in a message of its own."""


@given(st.one_of(logs(), work_logs()), states(), budgets(), st.sampled_from(POLICIES))
@example(write_log(IMAGE_IN_A_RESULT), {}, Budget(context=1_500), POLICIES[0])
def test_a_plan_obeys_the_laws_or_is_refused_with_its_bill(
    log: list[Entry], state: dict[str, str], budget: Budget, policy: Policy
) -> None:
    try:
        call = plan_call(log, budget, policy, state=state)
    except BudgetImpossible:
        return
    check_plan(call)
    sent = messages_of(call.window.view)
    assert call.window.size.messages == len(sent)
    if sent:
        assert turnsafe.validate(sent, provider="openai").violations == ()


@given(logs(), logs(), states(), budgets(), st.sampled_from(POLICIES))
def test_a_request_begins_with_the_one_before_or_names_the_break(
    log: list[Entry], news: list[Entry], state: dict[str, str], budget: Budget, policy: Policy
) -> None:
    check_plans_in_turn(log, news, budget, policy, state=state)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_in_a_window_of_summary_without_model_there_is_nothing_to_compact(policy: Policy) -> None:
    """Planned again, the note that the first plan took back would not be folded either."""
    check_plan(plan_call(write_log([Step("other")]), Budget(context=150), policy))


@pytest.mark.parametrize("over_limit", [False, True], ids=["within the limit", "over the limit"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_what_a_strategy_proposes_saves_something_and_spares_what_must_stay(name: str, over_limit: bool) -> None:
    @given(st.one_of(logs(), work_logs()))
    def law(log: list[Entry]) -> None:
        check_proposals(log, STRATEGIES[name], over_limit=over_limit)

    law()
