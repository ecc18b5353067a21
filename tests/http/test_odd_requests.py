"""A request that makes no sense reaches the provider byte for byte, and the client gets the provider's own answer."""

from __future__ import annotations

import json
import logging
from typing import Any

import httpx2
import pytest
from test_proxy import post, proxied

from strict_provider import strict_provider
from transom.http import Gateway
from transom.http.transport import Transport
from transom.stores import MemoryStore

CHAT, ANTHROPIC, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
GEMINI = "/v1beta/models/m:generateContent"
SAYS_HI = '"messages": [{"role": "user", "content": "hi"}]'
WORDS = b'{"error": {"message": "the words of the provider"}}'

NOT_A_REQUEST = [
    (CHAT, "no JSON"),
    (CHAT, "[]"),
    (CHAT, "null"),
    (CHAT, "{ }"),
    (CHAT, '{"messages": null}'),
    (CHAT, '{"messages": "hi"}'),
    (CHAT, '{"messages": {}}'),
    (CHAT, '{"messages": [3]}'),
    (CHAT, '{"messages": [{"role": "bot", "content": "hi"}]}'),
    (CHAT, '{"model": 1e400, ' + SAYS_HI + "}"),
    (CHAT, '{"max_tokens": 1e400, ' + SAYS_HI + "}"),
    (CHAT, '{"messages": [{"role": "user", "content": "hi"}, {"role": "user", "content": 1e400}]}'),
    (CHAT, '{"messages": [{"role": "user", "content": "\\ud800"}]}'),
    (ANTHROPIC, '{"messages": "hi"}'),
    (ANTHROPIC, '{"system": [3], ' + SAYS_HI + "}"),
    (ANTHROPIC, '{"system": ["a text"], ' + SAYS_HI + "}"),
    (RESPONSES, '{"input": "hi", "instructions": ["a text"]}'),
    (GEMINI, '{"contents": "hi"}'),
    (GEMINI, '{"generationConfig": {"maxOutputTokens": 1e400}, "contents": [{"parts": [{"text": "hi"}]}]}'),
]
SHOWS_NOTHING = [
    (CHAT, '{"messages": [ ]}'),
    (CHAT, '{"messages": [{"role": "system"}]}'),
    (CHAT, '{"messages": [{"role": "user"}]}'),
    (CHAT, '{"messages": [{"role": "user", "content": ""}, {"role": "assistant"}]}'),
    (CHAT, '{"messages": [{"role": "tool", "tool_call_id": "c", "content": "r"}]}'),
    (ANTHROPIC, '{"system": "rules", "messages": [ ]}'),
    (
        ANTHROPIC,
        '{"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r"}]}]}',
    ),
    (RESPONSES, '{"input": [ ], "instructions": "rules"}'),
    (RESPONSES, '{"input": ""}'),
    (RESPONSES, '{"input": [{"type": "function_call_output", "call_id": "c", "output": "r"}]}'),
    (GEMINI, '{"contents": [ ]}'),
    (GEMINI, '{"contents": [{"role": "user"}]}'),
    (GEMINI, '{"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]}]}'),
]


def passed(path: str, content: str, **settings: Any) -> tuple[list[bytes], httpx2.Response, MemoryStore]:
    """What reaches the provider, what the client gets, and the store."""
    bodies = list[bytes]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(400, content=WORDS)

    store = MemoryStore()
    with Transport(Gateway(store, budget=8_000, **settings), httpx2.MockTransport(answer)) as transport:
        request = httpx2.Request("POST", f"https://api.example{path}", content=content.encode())
        response = transport.handle_request(request)
    return bodies, response, store


@pytest.mark.parametrize(("path", "content"), [*NOT_A_REQUEST, *SHOWS_NOTHING])
def test_a_request_without_sense_passes_as_it_came(path: str, content: str) -> None:
    bodies, response, store = passed(path, content)
    assert bodies == [content.encode()]
    assert (response.status_code, response.content) == (400, WORDS)
    assert store.names() == []


@pytest.mark.parametrize(("path", "content"), SHOWS_NOTHING)
def test_a_request_without_content_is_for_the_provider_to_refuse(
    path: str, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        bodies, response, _ = passed(path, content, on_error="fail")
    assert (bodies, response.content) == ([content.encode()], WORDS)
    assert caplog.messages == ["requests without any content are passed on as they came, and not logged"]


@pytest.mark.parametrize(("path", "content"), NOT_A_REQUEST)
def test_with_fail_it_is_answered_with_an_error(path: str, content: str) -> None:
    bodies, response, _ = passed(path, content, on_error="fail")
    assert (bodies, response.status_code, response.json()["error"]["code"]) == ([], 400, "InvalidMessage")


@pytest.mark.parametrize("odd", ["[]", "{}"])
@pytest.mark.parametrize(
    ("path", "content"),
    [
        (ANTHROPIC, '{"messages": [{"role": "user", "content": [{"type": "document", "source": {"type": ODD}}]}]}'),
        (RESPONSES, '{"input": [{"role": "user", "content": [{"type": ODD}]}]}'),
    ],
)
def test_a_type_that_is_no_text_is_for_the_provider_to_refuse(path: str, content: str, odd: str) -> None:
    bodies, response, _ = passed(path, content.replace("ODD", odd))
    assert len(bodies) == 1
    assert response.content == WORDS


@pytest.mark.parametrize("kind", ["[]", "{}", "3"])
def test_an_event_whose_type_is_no_text_passes(kind: str) -> None:
    event = f'data: {{"type": {kind}}}\n\n'.encode()

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, content=event, headers={"content-type": "text/event-stream"})

    with Transport(Gateway("memory:", budget=8_000), httpx2.MockTransport(answer)) as transport:
        request = httpx2.Request("POST", f"https://api.example{ANTHROPIC}", content=f"{{{SAYS_HI}}}".encode())
        assert transport.handle_request(request).read() == event


def test_a_system_prompt_alone_is_a_conversation_where_it_is_a_message() -> None:
    _, _, store = passed(CHAT, '{"messages": [{"role": "system", "content": "rules"}]}')
    assert len(store.names()) == 1


def test_the_proxy_passes_it_too() -> None:
    with strict_provider(1) as server, proxied(server, MemoryStore()) as url:
        for path, content in SHOWS_NOTHING:
            assert "transom" not in post(f"{url}{path}", content=content).text
    assert [body for _, body in server.requests] == [json.loads(content) for _, content in SHOWS_NOTHING]


@pytest.mark.parametrize(
    "first",
    [
        '[{"role": "system", "content": "rules"}]',
        '[{"role": "developer", "content": "d"}, {"role": "user", "content": ""}]',
    ],
)
@pytest.mark.parametrize(
    "content", ['{"messages": [ ]}', '{"messages": [{"role": "tool", "tool_call_id": "c", "content": "r"}]}']
)
def test_nor_does_it_go_on_with_a_conversation_that_shows_nothing(first: str, content: str) -> None:
    bodies = list[bytes]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        bodies.append(request.content)
        return httpx2.Response(400, content=WORDS)

    with Transport(Gateway(MemoryStore(), budget=8_000), httpx2.MockTransport(answer)) as transport:
        for text in (f'{{"messages": {first}}}', content):
            transport.handle_request(httpx2.Request("POST", f"https://api.example{CHAT}", content=text.encode())).read()
    assert bodies[1] == content.encode()
