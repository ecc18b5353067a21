"""The limit of messages holds for what goes out, whatever a dialect adds or splits."""

from __future__ import annotations

import random

import pytest

import transom
from transom import Budget, BudgetImpossible, Conversation
from transom.wire.dialects import DIALECTS, dialect_named
from transom.wire.openai import parse

MESSAGES = {"responses": "input", "deepseek_responses": "input", "gemini": "contents"}


def history(seed: int) -> list[dict]:
    """Turns with parallel calls, some of them without an answer, users between."""
    choose = random.Random(seed)
    out = [{"role": "user", "content": "start"}]
    for turn in range(choose.randint(8, 20)):
        kind = choose.random()
        if kind < 0.3:
            out.append({"role": "user", "content": "word " * choose.randint(1, 30)})
        elif kind < 0.5:
            out.append({"role": "assistant", "content": "word " * choose.randint(1, 30)})
        else:
            labels = [f"call_{turn}_{i}" for i in range(choose.choice((1, 1, 2, 3)))]
            calls = [{"id": x, "type": "function", "function": {"name": "f", "arguments": "{}"}} for x in labels]
            out.append({"role": "assistant", "content": choose.choice((None, "I look")), "tool_calls": calls})
            answered = [x for x in labels if choose.random() < 0.85]
            out += [{"role": "tool", "tool_call_id": x, "content": "result " * choose.randint(1, 30)} for x in answered]
            if choose.random() < 0.3:
                out.append({"role": "user", "content": "next"})
    return out


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_limit_holds_for_what_goes_out(dialect):
    for seed in range(15):
        budget = Budget(max_messages=12)
        with Conversation.open("memory:", "x", budget=budget, dialect=dialect) as conversation:
            for message in history(seed):
                conversation.append(parse(message))
            body = dict(transom.render(conversation.window(), dialect))
            assert len(body[MESSAGES.get(dialect, "messages")]) <= 12
            assert dialect_named(dialect).violations(body) == []


def test_a_request_asked_for_again_is_the_same():
    conversation = Conversation.open("memory:", "x", budget=Budget(max_messages=12), dialect="mistral")
    for message in history(3):
        conversation.append(parse(message))
    first = dict(conversation.request())
    assert dict(conversation.request()) == first
    assert len(first["messages"]) <= 12


def test_what_can_not_fit_is_refused_with_the_bill():
    budget = Budget(max_messages=1)
    conversation = Conversation.open("memory:", "x", budget=budget, dialect="mistral", system="You help.")
    conversation.extend(history(3))
    with pytest.raises(BudgetImpossible, match="need at least 2 messages, limit 1"):
        conversation.window()
