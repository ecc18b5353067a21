"""`conv.failed` with what the real SDKs raise: an overflow is learned, a wait is told, a refused key ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from replay_server import Answer, ReplayServer, replay_server
from test_runs_over_sdks import FINAL, FINAL_ANSWERS

from transom import Conversation
from transom.core.message import Failure

CHAT_WORDS = "This model's maximum context length is 2000 tokens. However, your messages resulted in 2500 tokens."
OVERFLOWS = {
    "openai": {"error": {"message": CHAT_WORDS, "type": "invalid_request_error", "code": "context_length_exceeded"}},
    "responses": {"error": {"message": CHAT_WORDS, "type": "invalid_request_error", "code": "context_length_exceeded"}},
    "anthropic": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 2500 tokens > 2000 maximum"},
    },
    "gemini": {
        "error": {
            "code": 400,
            "message": "The input token count (2500) exceeds the maximum number of tokens allowed (2000).",
            "status": "INVALID_ARGUMENT",
        }
    },
}

Call = Callable[[dict[str, Any]], object]


def call_at(server: ReplayServer, dialect: str) -> Call:
    """One request of a dialect's SDK."""
    if dialect == "anthropic":
        claude = anthropic.Anthropic(api_key="none", base_url=server.url, max_retries=0)
        return lambda request: claude.messages.create(model="m", max_tokens=100, **request)
    if dialect == "gemini":
        gemini = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url))
        return lambda request: gemini.models.generate_content(model="m", **request)
    client = openai.OpenAI(api_key="none", base_url=f"{server.url}/v1", max_retries=0)
    if dialect == "responses":
        return lambda request: client.responses.create(model="m", **request)
    return lambda request: client.chat.completions.create(model="m", **request)


def full(dialect: str) -> Conversation:
    conv = Conversation.open("memory:", "x", budget=32_000, dialect=dialect)
    for turn in range(40):
        conv.user(f"Wish {turn}: " + "a room with a view of the harbour " * 10)
        conv.append(conv.dialect.parse_reply(FINAL_ANSWERS[dialect].whole))
    conv.user("Go")
    return conv


@pytest.mark.parametrize("dialect", OVERFLOWS)
def test_an_overflow_is_learned_and_the_next_request_fits(dialect: str) -> None:
    with replay_server() as server, full(dialect) as conv:
        call = call_at(server, dialect)
        server.answer = Answer(OVERFLOWS[dialect], status=400)
        first = conv.request()
        with pytest.raises(Exception, match=r"2500|2000") as raised:
            call(first)
        decision = conv.failed(raised.value)
        assert (decision.retry, decision.kind, decision.wait, decision.smaller) == (True, "overflow", 0.0, True)
        assert conv.log[decision.entry].body.used == 2_500
        limit = conv.view.learned_limits[dialect]
        assert decision.why == f"the request was too long: the next one has at most {limit:,} tokens"
        server.answer = FINAL_ANSWERS[dialect]
        second = conv.request()
        conv.observe(call(second))
        assert second.window.tokens <= limit <= 2_000 < first.window.tokens
        assert conv.dialect.violations(server.requests[-1][2]) == []
        assert conv.log[len(conv.log) - 1].body.parts[0].text == FINAL


@pytest.mark.parametrize("dialect", OVERFLOWS)
def test_a_wait_is_told_and_a_refused_key_is_the_end(dialect: str) -> None:
    with replay_server() as server, full(dialect) as conv:
        call = call_at(server, dialect)
        busy = {"error": {"type": "rate_limit_error", "message": "slow down", "code": 429}}
        server.answer = Answer(busy, status=429, headers={"retry-after": "7"})
        with pytest.raises(Exception, match="slow down") as raised:
            call(conv.request())
        decision = conv.failed(raised.value)
        assert (decision.retry, decision.kind, decision.wait) == (True, "rate_limit", 7.0)
        server.answer = Answer({"error": {"type": "authentication_error", "message": "who?", "code": 401}}, status=401)
        with pytest.raises(Exception, match=r"who\?") as raised:
            call(conv.request())
        decision = conv.failed(raised.value)
        assert (decision.retry, decision.kind, decision.error.status) == (False, "auth", 401)
        kinds = [entry.body.failure for entry in conv.log if isinstance(entry.body, Failure)]
        assert kinds == ["rate_limit", "auth"]
