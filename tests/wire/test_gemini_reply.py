"""What Gemini answers, in the forms it may be handed over."""

from __future__ import annotations

import pytest

from transom.core.message import Call, Reasoning, Text, Usage
from transom.errors import InvalidMessage
from transom.wire.gemini import GEMINI

CONTENT = {
    "role": "model",
    "parts": [
        {"text": "hm", "thought": True},
        {"text": "Looking."},
        {"functionCall": {"name": "sh", "args": {"cmd": None}, "id": "a"}, "thoughtSignature": "c2ln"},
    ],
}
RESPONSE = {
    "candidates": [{"content": CONTENT, "finishReason": "STOP", "index": 0}],
    "usageMetadata": {
        "promptTokenCount": 120,
        "cachedContentTokenCount": 100,
        "candidatesTokenCount": 7,
        "thoughtsTokenCount": 30,
        "toolUsePromptTokenCount": 9,
        "totalTokenCount": 166,
    },
    "modelVersion": "gemini-3-flash-preview",
}


class Dumps:
    """A client library's object: nulls for what was not sent, snake case unless it is asked for the wire's names."""

    def __init__(self, wire, plain):
        self.wire, self.plain = wire, plain

    def model_dump(self, *, mode="python", by_alias=False, exclude_none=False):
        return self.wire if by_alias and mode == "json" and exclude_none else self.plain


class DumpsOneWay:
    def __init__(self, plain):
        self.plain = plain

    def model_dump(self):
        return self.plain


def nulled(value):
    """With nulls, as an old client library has them."""
    if isinstance(value, list):
        return [nulled(item) for item in value]
    return {**value, "videoMetadata": None, "executableCode": None} if isinstance(value, dict) else value


OLD = {**RESPONSE, "candidates": [{"content": {"role": "model", "parts": nulled(CONTENT["parts"])}, "tokens": None}]}


@pytest.mark.parametrize("reply", [RESPONSE, Dumps(RESPONSE, {"candidates": None}), DumpsOneWay(OLD)])
def test_a_response_is_a_turn_with_its_usage(reply):
    turn = GEMINI.parse_reply(reply)
    assert turn.reasoning == (Reasoning("hm", "thought"),)
    assert turn.parts == (Text("Looking."),)
    assert [(call.id, call.name, call.args) for call in turn.calls] == [("a", "sh", '{"cmd":null}')]
    assert turn.usage == Usage(prompt=120, cached=100, output=37, reasoning=30)
    assert turn.dialect == "gemini"


def test_snake_case_is_read_too():
    content = {"role": "model", "parts": [{"function_call": {"name": "sh", "args": {}}, "thought_signature": "c2ln"}]}
    usage = {"prompt_token_count": 3, "candidates_token_count": 2, "thoughts_token_count": None}
    turn = GEMINI.parse_reply({"candidates": [{"content": content}], "usage_metadata": usage})
    assert turn.calls == (Call("", "sh", "{}", {"function_call": {}, "thought_signature": "c2ln"}),)
    assert turn.usage == Usage(prompt=3, output=2)


@pytest.mark.parametrize("content", [CONTENT, {"parts": CONTENT["parts"]}, DumpsOneWay(CONTENT)])
def test_a_bare_content_has_no_usage(content):
    turn = GEMINI.parse_reply(content)
    assert (turn.usage, len(turn.calls)) == (None, 1)


def test_usage_that_is_none_counts_nothing():
    odd = {"promptTokenCount": "many", "candidatesTokenCount": -1}
    assert GEMINI.parse_reply({**RESPONSE, "usageMetadata": odd}).usage == Usage()
    assert GEMINI.parse_reply({**RESPONSE, "usageMetadata": []}).usage is None


REFUSED = {
    "nothing": (None, "a response or a content is needed, not NoneType"),
    "an empty object": ({}, "a response with candidates or a content with parts is needed"),
    "an error": ({"error": {"code": 429, "message": "slow down"}}, "the reply is an error: slow down"),
    "blocked": ({"promptFeedback": {"blockReason": "SAFETY"}}, "the request was blocked: SAFETY"),
    "no content": ({"candidates": [{"finishReason": "SAFETY"}]}, "the model said nothing: SAFETY"),
    "a user's content": ({"role": "user", "parts": [{"text": "x"}]}, "role must be model, not 'user'"),
    "a candidate that is none": ({"candidates": ["x"]}, "a response or a content is needed, not str"),
    "parts that are none": ({"parts": "x"}, "parts must be a list of parts, not a string"),
}


@pytest.mark.parametrize(("reply", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_turn_is_refused(reply, why):
    with pytest.raises(InvalidMessage) as refused:
        GEMINI.parse_reply(reply)
    assert str(refused.value) == f"reply: {why}"
