"""Thinking without a signature: endpoints that want it get it back; Anthropic's own API never does."""

from __future__ import annotations

import pytest

import transom
from transom.providers.scripted import Scripted
from transom.wire.dialects import dialect_named

LOOP = {
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [
        {"type": "thinking", "thinking": "I need the file."},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
    ],
}
STREAM = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "I need the file."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": LOOP["content"][1]},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2, "content_block": LOOP["content"][2]},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
]


def kinds_sent(dialect: str, reply: object) -> list[str]:
    with transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect) as conv:
        conv.user("Go")
        conv.request()
        conv.observe(reply)
        conv.tool_result("toolu_1", "ok")
        request = dict(conv.request())
        assert dialect_named(dialect).violations(request) == []
        conv.observe({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})
        conv.run("Go on.", provider=Scripted("Yes.", dialect=dialect))  # it checks the rules
        return [block["type"] for block in request["messages"][1]["content"]]


@pytest.mark.parametrize("reply", [LOOP, STREAM], ids=["whole", "streamed"])
def test_thinking_goes_back_to_whom_wants_it(reply):
    assert kinds_sent("anthropic_unsigned", reply) == ["thinking", "text", "tool_use"]
    assert kinds_sent("anthropic", reply) == ["text", "tool_use"]
    assert kinds_sent("anthropic_bedrock", reply) == ["text", "tool_use"]


def test_a_signature_that_came_goes_back_too():
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    reply = {**LOOP, "content": [thought, *LOOP["content"][1:]]}
    assert kinds_sent("anthropic_unsigned", reply) == ["thinking", "text", "tool_use"]
