"""Old reasoning goes first, whole and in one batch; that of the turn at work stays."""

from __future__ import annotations

from msgspec.structs import replace

from omission_policy import OMISSION
from transom import Budget, Conversation
from transom.conversation.render_window import render
from transom.strategies import OldReasoning, Shorten, Together, gone
from transom.testing import WordCounter

CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def dropped(least: float = 0.05, *, current: bool = False) -> Shorten:
    return Shorten(OldReasoning(current=current), gone, "old reasoning", Together(least))


def thinking(context: int, strategy: Shorten, *, pin: bool = False) -> list[dict]:
    policy = replace(OMISSION, pressure=(strategy,))
    conv = Conversation.open("memory:", "x", budget=Budget(context=context), policy=policy, counter=WordCounter())
    for question in ("first", "second", "third"):
        conv.user(question)
        for step in range(2):
            conv.plan_request()
            thought = f"{question} {step} " + "hm " * 60
            reply = {"role": "assistant", "content": None, "tool_calls": [CALL], "reasoning_content": thought}
            entry = conv.observe(reply)
            if pin and thought.startswith("first 0"):
                conv.pin(entry)
            conv.tool_result("c", "ok")
    return render(conv.plan_request())["messages"]


def thoughts(window: list[dict]) -> list[str]:
    return [" ".join(m["reasoning_content"].split()[:2]) for m in window if "reasoning_content" in m]


def test_reasoning_before_the_newest_user_message_goes_in_one_batch():
    assert len(thoughts(thinking(10_000, dropped()))) == 6
    assert thoughts(thinking(400, dropped())) == ["third 0", "third 1"]


def test_that_of_the_turn_at_work_goes_only_where_the_provider_does_not_want_it():
    assert thoughts(thinking(350, dropped(current=True))) == ["third 1"]


def test_that_of_a_turn_somebody_pinned_stays():
    pinned = thinking(400, dropped(), pin=True)
    assert thoughts(pinned) == ["first 0", "third 0", "third 1"]


def test_too_little_to_be_worth_a_break_is_left():
    assert len(thoughts(thinking(500, dropped(0.9)))) >= 5
