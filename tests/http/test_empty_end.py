"""An empty message of the user reaches the server if the list would be empty, or end with the model's words, without
it."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from transom.http.exchange import ClientRequest, ServerAnswer, exchange_of
from transom.http.gateway import Gateway
from transom.http.provider_apis import api_of
from transom.http.send import drive


class Server:
    """Keeps each body that is sent to it, and answers none."""

    def __init__(self, content: bytes) -> None:
        self.content, self.bodies = content, list[dict[str, Any]]()

    def send(self, body: bytes | None) -> ServerAnswer:
        self.bodies.append(json.loads(self.content if body is None else body))
        return ServerAnswer(400, b"{}")

    def next_chunk(self) -> bytes | None:
        return None


def sent(path: str, messages: object, **fields: object) -> Any:
    """The messages that reach the server."""
    api = api_of(path)
    assert api is not None
    content = msgspec.json.encode({"model": "m", **fields, api.messages: messages})
    server = Server(content)
    gateway = Gateway("memory:", budget=10_000, on_error="fail")
    exchange = exchange_of(gateway, ClientRequest("POST", path, {}, content))
    assert exchange is not None
    drive(exchange, server)
    (body,) = server.bodies
    return body[api.messages]


CHAT, ANTHROPIC, RESPONSES, GEMINI = "/chat/completions", "/messages", "/responses", "/models/m:generateContent"
EMPTY = {"role": "user", "content": ""}
CONTINUE_OF_ANTHROPIC = {"role": "user", "content": [{"type": "text", "text": "[continue]"}]}
CONTINUE_OF_GEMINI = {"role": "user", "parts": [{"text": "[continue]"}]}
NO_TEXT = {"role": "user", "content": [{"type": "text", "text": ""}]}


def talk(path: str) -> list[dict[str, Any]]:
    if path == GEMINI:
        return [{"role": "user", "parts": [{"text": "a"}]}, {"role": "model", "parts": [{"text": "b"}]}]
    return [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


EMPTIES = [
    (CHAT, EMPTY),
    (CHAT, NO_TEXT),
    (ANTHROPIC, EMPTY),
    (ANTHROPIC, NO_TEXT),
    (RESPONSES, EMPTY),
    (RESPONSES, {"role": "user", "content": [{"type": "input_text", "text": ""}]}),
    (GEMINI, {"role": "user", "parts": [{"text": ""}]}),
    (GEMINI, {"parts": [{"text": ""}]}),
]


@pytest.mark.parametrize(("path", "empty"), EMPTIES)
def test_an_empty_message_alone_is_sent_as_it_came(path: str, empty: dict[str, Any]) -> None:
    assert sent(path, [empty]) == [empty]
    assert sent(path, [empty, empty]) == [empty, empty]


@pytest.mark.parametrize(("path", "empty"), EMPTIES)
def test_behind_the_models_words_it_is_sent_as_it_came_or_with_a_text(path: str, empty: dict[str, Any]) -> None:
    """The APIs that refuse a list with the model's words at its end get a message of ours there, as always."""
    made = {ANTHROPIC: CONTINUE_OF_ANTHROPIC, GEMINI: CONTINUE_OF_GEMINI}
    assert sent(path, [*talk(path), empty]) == [*sent(path, talk(path))[:2], made.get(path, empty)]


def test_beside_a_system_prompt_and_as_a_text_alone() -> None:
    system = {"role": "system", "content": "Be brief."}
    assert sent(CHAT, [system, EMPTY]) == [system, EMPTY]
    assert sent(ANTHROPIC, [EMPTY], system="Be brief.") == [EMPTY]
    assert sent(RESPONSES, "") == ""


def test_an_empty_message_elsewhere_is_left_out() -> None:
    first, answer = talk(CHAT)
    assert sent(CHAT, [first, EMPTY]) == [first]
    assert sent(CHAT, [EMPTY, first, answer, first]) == [first, answer, first]
