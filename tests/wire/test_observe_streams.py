"""`Conversation.observe` with what the SDKs' clients return: streams, their chunks, and what is not read yet."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types as google
from msgspec.structs import replace
from test_streams import (
    ASK,
    BLOCKS,
    CHAT,
    CHAT_USAGE,
    ITEMS,
    PARTS,
    anthropic_case,
    chat_case,
    gemini_case,
    responses_case,
)

import transom
from chunks import chat_chunks
from transom.core.message import Assistant
from transom.errors import InvalidMessage
from transom.wire.dialects import dialect_named

MESSAGE = {key: value for key, value in CHAT[2].items() if key != "reasoning_content"}
CASES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "openai": (chat_case(MESSAGE, typed=False)[0], list(chat_chunks(MESSAGE, CHAT_USAGE))),
    "responses": responses_case(ITEMS[1], typed=False),
    "anthropic": anthropic_case(BLOCKS[1], typed=False),
    "gemini": gemini_case(PARTS[1], typed=False),
}
NAMES = list(CASES)
FINAL = {"openai": "get_final_completion", "responses": "get_final_response", "anthropic": "get_final_message"}
"""The method by which the SDK's stream helper gives the reply."""

OPEN = "a stream: read it to its end, then observe the list of its chunks"
ASYNC = "an async stream: read it to its end with `async for`, then observe the list of its chunks"
NOT_AWAITED = "a coroutine, which was not awaited: observe what `await` returns"
NOT_ENTERED = "a stream that was not begun: use it in a `with` block"


def body_of(name: str) -> bytes:
    """The events of a reply as a server sends them."""
    lines = [f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in CASES[name][1]]
    if name in ("openai", "gemini"):
        lines = [f"data: {json.dumps(event)}\n\n" for event in CASES[name][1]]
    return "".join([*lines, *(["data: [DONE]\n\n"] if name == "openai" else [])]).encode()


def answer(content: Any) -> Callable[[httpx2.Request], httpx2.Response]:
    """What an HTTP client answers every request with."""
    return lambda _: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content)


def sync_client(name: str) -> Any:
    http = httpx2.Client(transport=httpx2.MockTransport(answer(iter([body_of(name)]))))
    if name == "gemini":
        return genai.Client(api_key="-", http_options=google.HttpOptions(httpx_client=http))
    return (anthropic.Anthropic if name == "anthropic" else openai.OpenAI)(api_key="-", http_client=http)


def async_client(name: str) -> Any:
    async def content() -> AsyncIterator[bytes]:
        yield body_of(name)

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(answer(content())))
    if name == "gemini":
        return genai.Client(api_key="-", http_options=google.HttpOptions(httpx_async_client=http)).aio
    return (anthropic.AsyncAnthropic if name == "anthropic" else openai.AsyncOpenAI)(api_key="-", http_client=http)


def call(name: str, client: Any) -> Any:
    """The SDK's streaming call, by hand."""
    if name == "openai":
        return client.chat.completions.create(**ASK, stream=True)
    if name == "responses":
        return client.responses.create(model="m", input="Book it", stream=True)
    if name == "anthropic":
        return client.messages.create(**ASK, max_tokens=9, stream=True)
    return client.models.generate_content_stream(model="m", contents="Book it")


def helper(name: str, client: Any) -> Any:
    """The SDK's `.stream()`, which collects the chunks."""
    if name == "openai":
        return client.chat.completions.stream(**ASK)
    if name == "responses":
        return client.responses.stream(model="m", input="Book it")
    return client.messages.stream(**ASK, max_tokens=9)


def waiting(name: str) -> transom.Conversation:
    """A conversation whose request is in flight."""
    conv = transom.Conversation.open("memory:", "x", budget=100_000, dialect=name)
    conv.user("Book it")
    conv.request()
    return conv


def assert_logged(name: str, reply: object) -> None:
    """`observe` logs the turn that came whole, and it goes out in a request without a fault."""
    conv = waiting(name)
    request = len(conv.log) - 1
    turn = conv.log[conv.observe(reply)].body
    assert turn == replace(dialect_named(name).parse_reply(CASES[name][0]), answers=request)
    assert isinstance(turn, Assistant)
    for each in turn.calls:
        conv.tool_result(each.id or each.name, "done")
    conv.user("Go on")
    assert conv.dialect.violations(transom.render(conv.window(), name)) == []


def assert_refused(name: str, reply: object, line: str) -> None:
    """`observe` refuses it in one line, and nothing is logged: the request stays in flight."""
    conv = waiting(name)
    length = len(conv.log)
    with pytest.raises(InvalidMessage) as refused:
        conv.observe(reply)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(conv.log) == length


@pytest.mark.parametrize("name", NAMES)
def test_the_chunks_of_a_stream_are_a_reply(name):
    stream = call(name, sync_client(name))
    assert_refused(name, stream, OPEN)
    assert_logged(name, list(stream))


@pytest.mark.parametrize("name", FINAL)
def test_a_stream_helper_is_refused_and_what_it_gives_is_a_reply(name):
    manager = helper(name, sync_client(name))
    assert_refused(name, manager, NOT_ENTERED)
    with manager as stream:
        assert_refused(name, stream, OPEN)
        events = list(stream)
    assert_refused(name, stream, FINAL[name])
    assert_logged(name, getattr(stream, FINAL[name])())
    assert_logged(name, events)


@pytest.mark.parametrize("name", NAMES)
def test_an_async_stream_is_refused_and_its_chunks_are_a_reply(name):
    async def run() -> None:
        begun = call(name, async_client(name))
        assert_refused(name, begun, NOT_AWAITED)
        stream = await begun
        assert_refused(name, stream, ASYNC)
        assert_logged(name, [chunk async for chunk in stream])

    asyncio.run(run())


@pytest.mark.parametrize("name", FINAL)
def test_an_async_stream_helper(name):
    async def run() -> None:
        async with helper(name, async_client(name)) as stream:
            assert_refused(name, stream, ASYNC)
            events = [event async for event in stream]
        assert_logged(name, events)
        assert_refused(name, stream, FINAL[name])
        assert_logged(name, await getattr(stream, FINAL[name])())

    asyncio.run(run())


@pytest.mark.parametrize("name", NAMES)
def test_what_else_has_to_be_read_or_awaited(name):
    async def reply() -> dict[str, Any]:
        return CASES[name][0]

    begun = reply()
    assert_refused(name, begun, NOT_AWAITED)
    assert_logged(name, asyncio.run(begun))
    assert_refused(name, iter(CASES[name][1]), OPEN)


def gemini_chunk(part, reason=None):
    return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": reason, "index": 0}]}


def test_the_empty_text_at_the_end_of_a_gemini_stream_is_not_sent_back():
    with transom.Conversation.open("memory:", "g", budget=8_000, dialect="gemini") as conv:
        conv.user("Look at a.py")
        conv.request()
        call = {"functionCall": {"name": "read_file", "args": {"path": "a.py"}}}
        conv.observe([gemini_chunk(call), gemini_chunk({"text": ""}, "STOP")])
        conv.tool_result("read_file", "x = 1")
        assert conv.request()["contents"][1]["parts"] == [call]


def test_an_empty_stream_is_no_reply_in_any_dialect():
    for dialect in ("openai", "responses", "anthropic", "gemini"):
        with transom.Conversation.open("memory:", dialect, budget=8_000, dialect=dialect) as conv:
            conv.user([{"text": "x"}] if dialect == "gemini" else "x")
            conv.request()
            with pytest.raises(transom.InvalidMessage, match="the list of chunks is empty"):
                conv.observe([])


@pytest.mark.parametrize("tokens", [10**400, 10**30, -5])
def test_a_usage_that_is_no_count_loses_no_reply(tokens):
    with transom.Conversation.open("memory:", "u", budget=8_000) as conv:
        conv.user("x")
        conv.request()
        conv.observe(
            {
                "choices": [{"message": {"role": "assistant", "content": "ok"}}],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 1},
            }
        )
        conv.user("next")
        assert conv.request()["messages"][1]["content"] == "ok"
