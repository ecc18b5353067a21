"""Usage in one form, whatever the API calls its numbers."""

from __future__ import annotations

import msgspec
import pytest

from transom.core.message import Usage
from transom.wire.dialects import dialect_named

WANTED = Usage(prompt=1000, cached=600, output=50, cache_write=100, reasoning=20)

CHAT = {
    "prompt_tokens": 1000,
    "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
    "completion_tokens": 50,
    "completion_tokens_details": {"reasoning_tokens": 20},
}
RESPONSES = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 100},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 20},
}
ANTHROPIC = {
    "input_tokens": 300,
    "cache_read_input_tokens": 600,
    "cache_creation_input_tokens": 100,
    "output_tokens": 50,
    "output_tokens_details": {"thinking_tokens": 20},
}


def chat(usage: dict) -> dict:
    return {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}], "usage": usage}


def responses(usage: dict) -> dict:
    content = [{"type": "output_text", "text": "x", "annotations": []}]
    return {"output": [{"type": "message", "role": "assistant", "content": content}], "usage": usage}


def anthropic(usage: dict) -> dict:
    return {"role": "assistant", "type": "message", "content": [{"type": "text", "text": "x"}], "usage": usage}


def gemini(usage: dict) -> dict:
    return {"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}}], "usageMetadata": usage}


@pytest.mark.parametrize(
    ("dialect", "reply", "wanted"),
    [
        ("openai", chat(CHAT), WANTED),
        ("mistral", chat(CHAT), WANTED),
        ("responses", responses(RESPONSES), WANTED),
        ("anthropic", anthropic(ANTHROPIC), WANTED),
        (
            "gemini",
            gemini(
                {
                    "promptTokenCount": 1000,
                    "cachedContentTokenCount": 600,
                    "candidatesTokenCount": 30,
                    "thoughtsTokenCount": 20,
                }
            ),
            Usage(prompt=1000, cached=600, output=50, reasoning=20),
        ),
        # DeepSeek names the cached tokens twice
        (
            "openai",
            chat(
                {
                    "prompt_tokens": 1000,
                    "completion_tokens": 50,
                    "prompt_tokens_details": {"cached_tokens": 600},
                    "prompt_cache_hit_tokens": 600,
                    "prompt_cache_miss_tokens": 400,
                }
            ),
            Usage(prompt=1000, cached=600, output=50),
        ),
        ("openai", chat({"prompt_tokens": 1000, "prompt_cache_hit_tokens": 600}), Usage(prompt=1000, cached=600)),
    ],
)
def test_usage_has_one_form(dialect, reply, wanted):
    assert dialect_named(dialect).parse_reply(reply).usage == wanted


def test_a_stored_usage_of_before_is_read():
    assert msgspec.json.decode(b'{"prompt":7,"cached":3,"output":1}', type=Usage) == Usage(7, 3, 1)
    assert msgspec.json.encode(Usage(7, 3, 1)) == b'{"prompt":7,"cached":3,"output":1}'
