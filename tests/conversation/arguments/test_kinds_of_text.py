"""What is handed in as another kind of str is taken as the text it is, in every dialect."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.conversation.render_window import render
from transom.core.codec import encode
from transom.testing.fakes import FakeClock, WordCounter


class Word(str):
    """As of an enum, or of a library that marks its texts."""

    __slots__ = ()


CHAT = {"id": "abcdefgh1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
REPLIES = {
    "openai": {"role": "assistant", "content": None, "tool_calls": [CHAT]},
    "mistral": {"role": "assistant", "content": None, "tool_calls": [CHAT]},
    "responses": {"output": [{"type": "function_call", "call_id": "abcdefgh1", "name": "f", "arguments": "{}"}]},
    "anthropic": {"role": "assistant", "content": [{"type": "tool_use", "id": "abcdefgh1", "name": "f", "input": {}}]},
    "gemini": {"role": "model", "parts": [{"functionCall": {"id": "abcdefgh1", "name": "f", "args": {}}}]},
}


@pytest.mark.parametrize("dialect", REPLIES)
def test_every_text_may_be_of_another_kind(dialect):
    settings = {"counter": WordCounter(), "clock": FakeClock(), "budget": 8_000, "dialect": dialect}
    conv = Conversation.open("memory:", "x", system=Word("be brief"), state={"goal": lambda: Word("win")}, **settings)
    conv.user(Word("hello"))
    conv.plan_request(state={Word("mode"): Word("plan")})
    conv.observe(REPLIES[dialect])
    conv.tool_result(Word("abcdefgh1"), Word("ok"))
    assert render(conv.plan_request(), dialect)
    for entry in conv.log.read():
        encode(entry)
