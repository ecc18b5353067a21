"""Chunks that are no reply: those of another API, and a stream that broke off before the reply began."""

from __future__ import annotations

import pytest

import transom
from transom.errors import InvalidMessage

ANTHROPIC = [
    {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
]
OPENAI = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello."}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]


@pytest.mark.parametrize(
    ("dialect", "chunks"), [("openai", ANTHROPIC), ("anthropic", OPENAI), ("gemini", OPENAI), ("openai", OPENAI[:0])]
)
def test_chunks_of_another_api_are_refused_and_nothing_is_logged(dialect: str, chunks: list) -> None:
    conv = transom.Conversation.open("memory:", "c", budget=4_000, dialect=dialect)
    conv.user("Hi")
    entries = len(conv.log)
    with pytest.raises(InvalidMessage, match=r"no reply is in these chunks|the list of chunks is empty"):
        conv.observe(chunks)
    assert len(conv.log) == entries


def test_an_empty_reply_that_ended_is_a_reply() -> None:
    conv = transom.Conversation.open("memory:", "c", budget=4_000)
    conv.user("Hi")
    conv.observe([{"choices": [{"index": 0, "delta": {"role": "assistant"}, "finish_reason": "stop"}]}])
    assert len(conv.log) == 2
