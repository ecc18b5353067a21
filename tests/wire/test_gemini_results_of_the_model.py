"""A function response in a content of the model answers its call; it is sent back as a content of the user."""

from __future__ import annotations

import pytest

from transom.core.message import Assistant, Text, ToolResult, User
from transom.wire.gemini import GEMINI

ASK = {"role": "user", "parts": [{"text": "List the files."}]}
CALL = {"functionCall": {"name": "ls", "args": {}}}
BYE = {"role": "user", "parts": [{"text": "So?"}]}


def answer(words, name="ls", **more):
    return {"functionResponse": {"name": name, "response": {"output": words}, **more}}


SNAKE = {"function_response": {"name": "ls", "response": {"output": "denied"}}}

TURNS = {
    "a content of its own": [{"role": "model", "parts": [CALL]}, {"role": "model", "parts": [answer("denied")]}],
    "behind its call": [{"role": "model", "parts": [CALL, answer("denied")]}],
    "snake case": [{"role": "model", "parts": [CALL]}, {"role": "model", "parts": [SNAKE]}],
    "behind a text": [{"role": "model", "parts": [{"text": "I look."}, CALL, answer("denied"), {"text": "No."}]}],
    "two calls": [
        {"role": "model", "parts": [CALL, {"functionCall": {"name": "pwd"}}, answer("denied"), answer("/w", "pwd")]}
    ],
}


@pytest.mark.parametrize("turn", TURNS)
def test_it_answers_its_call(turn):
    facts = [fact for _, fact in GEMINI.parse([ASK, *TURNS[turn], BYE])]
    calls = [call for fact in facts if isinstance(fact, Assistant) for call in fact.calls]
    results = [fact for fact in facts if isinstance(fact, ToolResult)]
    assert [result.call for result in results] == [call.id for call in calls]
    assert results[0].parts == (Text("denied"),)
    assert isinstance(facts[-1], User)


def test_what_the_model_says_before_and_behind_it_stays():
    facts = [fact for _, fact in GEMINI.parse([ASK, *TURNS["behind a text"], BYE])]
    said = [(type(fact).__name__, "".join(part.text for part in fact.parts)) for fact in facts]
    assert said == [
        ("User", "List the files."),
        ("Assistant", "I look."),
        ("ToolResult", "denied"),
        ("Assistant", "No."),
        ("User", "So?"),
    ]
