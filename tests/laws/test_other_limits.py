"""Limits beside tokens: each holds for what goes out in every dialect, and is not met again at every call."""

from __future__ import annotations

from itertools import pairwise

import pytest
from msgspec.structs import replace

from transom import Budget, Conversation
from transom.core.edit import Fold, Undo
from transom.core.message import Assistant, Call, Text, ToolResult
from transom.core.window import Window
from transom.policies import POLICIES, policy_named
from transom.testing import FakeClock, WordCounter, call, image, result, says, talk, user
from transom.testing.laws import check_fits, check_plan, plan_call

LIMITS = {"max_messages": 40, "max_bytes": 12_000, "max_images": 6}
DIALECTS = ("openai", "mistral", "responses", "anthropic", "gemini")
TURNS = 40


def windows(dialect: str, policy: str, budget: Budget) -> list[Window]:
    """The windows of a conversation in which each turn has a user message with an image, a call and its result."""
    conv = Conversation.open(
        "memory:", "x", budget=budget, policy=policy, counter=WordCounter(), clock=FakeClock(), dialect=dialect
    )
    found: list[Window] = []
    for number in range(TURNS):
        words = " ".join(f"word_{number}_{at}" for at in range(12))
        conv.append(user(f"step {number}: {words}", *[image()] * (budget.max_images is not None)))
        found.append(_sent(conv))
        call = Call(f"call_{number}", "sh", f'{{"cmd": "run {number}"}}')
        conv.append(Assistant(parts=(Text(f"I run {number}"),), calls=(call,), answers=_in_flight(conv)))
        conv.append(ToolResult(call=call.id, parts=(Text(f"result {number}: {words}"),)))
        found.append(_sent(conv))
        conv.append(Assistant(parts=(Text(f"done with {number}"),), answers=_in_flight(conv)))
    return found


LITTLE_BY_LITTLE = {"passthrough", "sliding", "weakincentives"}
"""Policies that compact no more than they must, or never."""

ONLY_THE_LADDER = {"aider", "swe_agent"}
"""Policies without a step of their own for images: the last resorts drop as few as they must."""


def _sent(conv: Conversation) -> Window:
    return conv.plan_request()


def _in_flight(conv: Conversation) -> int:
    assert conv.view.in_flight is not None
    return conv.view.in_flight.seq


def broken(found: list[Window]) -> list[bool]:
    """For each window whether it does not begin with the one before it."""
    return [window.breaks is not None for window in found]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_limit_holds_for_what_goes_out(dialect: str, limit: str) -> None:
    budget = Budget(**{"context": 100_000, limit: LIMITS[limit]})
    found = windows(dialect, "default", budget)
    for window in found:
        check_fits(window, budget, dialect)
    assert any(broken(found)), "the limit was never met"


def test_messages_that_a_provider_insists_on_count() -> None:
    """Mistral wants an answer of the model between a result and the text of a fold, which the user took back here."""
    turns = [item for at in range(8) for item in (says("", call("read")), result(f"line {at} " * 90))]
    inner, outer = (Fold(first=first, last=15, text="[turns left out]") for first in (7, 5))
    log = talk("fix it", *turns, inner, outer, Undo(edit=18))
    check_plan(plan_call(log, Budget(context=100_000, max_messages=5), policy_named("default"), dialect="mistral"))


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("policy", [name for name in POLICIES if name not in LITTLE_BY_LITTLE])
def test_after_a_compaction_there_is_room_for_several_calls(policy: str, limit: str) -> None:
    if limit == "max_images" and policy in ONLY_THE_LADDER:
        pytest.skip("drops one image at a time")
    budget = Budget(**{"context": 100_000, limit: LIMITS[limit]})
    found = windows("openai", policy, budget)
    for window in found:
        check_fits(window, budget)
    breaks = broken(found)
    twice = sum(a and b for a, b in pairwise(breaks))
    assert any(breaks), "the limit was never met"
    # manus masks results first: it may mask in two windows in a row, and fold in the next
    assert twice <= (2 if policy == "manus" else 1), f"{twice} times two windows in a row break the prefix"
    assert sum(breaks) <= len(found) // 4


@pytest.mark.parametrize("policy", ["claude_code", "manus"])
def test_where_clearing_results_is_not_enough_a_fold_follows_in_the_same_plan(policy: str) -> None:
    """Results that are cleared bring the window below the trigger, but not to the target: the fold behind them is still
    measured by the limit that was full."""
    conv = Conversation.open(
        "memory:", "x", budget=Budget(context=200_000, max_bytes=12_000), policy=policy, clock=FakeClock()
    )
    conv.append(user("do it"))
    breaks: list[bool] = []
    for number in range(120):
        breaks.append(_sent(conv).breaks is not None)
        call = Call(f"call_{number}", "sh", f'{{"cmd": "ls {number}"}}')
        conv.append(Assistant(calls=(call,), answers=_in_flight(conv)))
        conv.append(ToolResult(call=call.id, parts=(Text(f"file_{number}.py " + "result words here " * 12),)))
    assert sum(a and b for a, b in pairwise(breaks)) == 0
    assert 0 < sum(breaks) <= len(breaks) // 8


def test_a_window_over_a_limit_is_noticed() -> None:
    budget = Budget(context=100_000)
    window = windows("openai", "passthrough", budget)[-1]
    for limit, most in LIMITS.items():
        if limit != "max_images":
            with pytest.raises(AssertionError):
                check_fits(window, replace(budget, **{limit: most}))
