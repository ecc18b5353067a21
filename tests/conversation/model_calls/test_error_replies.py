"""An error that comes with status 200, in place of a reply or inside a stream, is treated as one with a status of its
own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

import transom
from transom.errors import InvalidMessage, ProviderError
from transom.providers.scripted_replies import Reply, writer_for
from transom.providers.sdk_errors import error_reply

FINE = Reply(text="Fine.")
PICTURE = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
IMAGE = {
    "openai": {"type": "image_url", "image_url": {"url": PICTURE}},
    "responses": {"type": "input_image", "image_url": PICTURE},
    "anthropic": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PICTURE.partition(",")[2]},
    },
    "gemini": {"inlineData": {"mimeType": "image/png", "data": PICTURE.partition(",")[2]}},
}
TOO_LONG = "This model's maximum context length is 3000 tokens. However, your messages resulted in 4800 tokens."
BAD_IMAGE = "The image data you provided does not represent a valid image."

# each: dialect, whether it comes in a stream, and the reply, made of a code and a message
FORMS: dict[str, tuple[str, bool, Any]] = {
    "Chat": ("openai", False, lambda code, said: {"error": {"message": said, "code": 400}}),
    "Chat, by type": (
        "openai",
        False,
        lambda code, said: {"error": {"message": said, "type": "invalid_request_error", "code": None}},
    ),
    "OpenRouter, in the choice": (
        "openai",
        False,
        lambda code, said: {
            "choices": [
                {
                    "message": {"role": "assistant", "content": ""},
                    "finish_reason": "error",
                    "error": {"message": said, "code": 400},
                }
            ]
        },
    ),
    "SGLang": (
        "openai",
        False,
        lambda code, said: {"object": "error", "message": said, "type": "BadRequestError", "code": 400},
    ),
    "Chat, streamed": ("openai", True, lambda code, said: [{"error": {"message": said, "code": "400"}}]),
    "OpenRouter, streamed": (
        "openai",
        True,
        lambda code, said: [
            {
                "error": {"message": said, "code": 400},
                "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
            }
        ],
    ),
    "SGLang, streamed": (
        "openai",
        True,
        lambda code, said: [{"object": "error", "message": said, "type": "BadRequestError", "code": 400}],
    ),
    "Anthropic": (
        "anthropic",
        False,
        lambda code, said: {"type": "error", "error": {"type": "invalid_request_error", "message": said}},
    ),
    "Anthropic, streamed": (
        "anthropic",
        True,
        lambda code, said: [{"type": "error", "error": {"type": "invalid_request_error", "message": said}}],
    ),
    "Responses": (
        "responses",
        False,
        lambda code, said: {
            "object": "response",
            "status": "failed",
            "output": [],
            "error": {"code": code, "message": said},
        },
    ),
    "Responses, streamed": (
        "responses",
        True,
        lambda code, said: [
            {
                "type": "response.failed",
                "response": {"status": "failed", "output": [], "error": {"code": code, "message": said}},
            }
        ],
    ),
    "Responses, an event": (
        "responses",
        True,
        lambda code, said: [{"type": "error", "code": code, "message": said, "param": None}],
    ),
    "Responses, an event with an object": (
        "responses",
        True,
        lambda code, said: [{"type": "error", "error": {"code": code, "message": said}}],
    ),
    "Gemini": (
        "gemini",
        False,
        lambda code, said: {"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}},
    ),
    "Gemini, streamed": (
        "gemini",
        True,
        lambda code, said: [{"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}],
    ),
}


def whole(dialect: str) -> Any:
    return writer_for(dialect).response(FINE, 10)


def chunks(dialect: str) -> Iterator[Any]:
    return writer_for(dialect).chunks(FINE, 10, 100)


class Replies:
    """A provider that gives the same error `times` times, and then an answer."""

    name = "replies"
    model = "m"

    def __init__(self, dialect: str, error: Any, times: int = 1) -> None:
        self.dialect, self.errors = dialect, [error] * times
        self.requests: list[str] = []

    def complete(self, request: Any, **_: Any) -> Any:
        self.requests.append(json.dumps(request))
        return self.errors.pop() if self.errors else whole(self.dialect)

    def stream(self, request: Any, **_: Any) -> Iterator[Any]:
        self.requests.append(json.dumps(request))
        yield from self.errors.pop() if self.errors else chunks(self.dialect)


def ask(conv: transom.Conversation, provider: Replies, *, stream: bool) -> str:
    options: Any = {"provider": provider, "retry": transom.Retry(wait=0)}
    if not stream:
        return conv.run("Go on", **options).text
    *_, last = conv.stream("Go on", **options)
    return last.result.text


def opened(dialect: str) -> transom.Conversation:
    return transom.Conversation.open("memory:", "x", budget=20_000, dialect=dialect)


@pytest.mark.parametrize("form", FORMS)
def test_an_image_that_is_refused_is_left_out(form: str) -> None:
    dialect, stream, error = FORMS[form]
    provider = Replies(dialect, error("invalid_image", BAD_IMAGE))
    with opened(dialect) as conv:
        conv.user([IMAGE[dialect]])
        assert ask(conv, provider, stream=stream) == "Fine."
    assert ["iVBORw" in request for request in provider.requests] == [True, False]


@pytest.mark.parametrize("form", FORMS)
def test_a_request_that_is_too_long_is_made_smaller(form: str) -> None:
    dialect, stream, error = FORMS[form]
    provider = Replies(dialect, error("context_length_exceeded", TOO_LONG))
    with opened(dialect) as conv:
        for number in range(6):
            conv.user(f"Question {number}. " + "word " * 800)
            conv.request()
            conv.observe(whole(dialect))
        assert ask(conv, provider, stream=stream) == "Fine."
    first, second = map(len, provider.requests)
    assert second < 0.8 * first


@pytest.mark.parametrize(
    ("code", "kind", "requests"),
    [
        ("server_error", "server", 3),
        ("rate_limit_exceeded", "rate_limit", 3),
        ("content_filter", "filter", 1),
        ("invalid_prompt", "bad_request", 1),
        ("invalid_value", "bad_request", 1),
    ],
)
def test_only_what_may_pass_is_asked_again(code: str, kind: str, requests: int) -> None:
    provider = Replies("responses", FORMS["Responses"][2](code, "No."), times=9)
    with opened("responses") as conv, pytest.raises(ProviderError, match="No\\.") as caught:
        ask(conv, provider, stream=False)
    assert (caught.value.kind, caught.value.status, len(provider.requests)) == (kind, 200, requests)


@pytest.mark.parametrize("form", FORMS)
def test_in_a_loop_of_ones_own(form: str) -> None:
    dialect, _, error = FORMS[form]
    with opened(dialect) as conv:
        conv.user([IMAGE[dialect]])
        conv.request()
        with pytest.raises(InvalidMessage, match="the reply is an error") as caught:
            conv.observe(error("invalid_image", BAD_IMAGE))
        decision = conv.failed(caught.value)
        assert (decision.retry, decision.smaller, decision.kind) == (True, True, "bad_request")
        assert "iVBORw" not in json.dumps(dict(conv.request()))


@pytest.mark.parametrize("form", [name for name in FORMS if FORMS[name][0] == "openai"])
def test_under_a_client_that_is_wrapped(form: str) -> None:
    _, stream, error = FORMS[form]
    requests: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request.content.decode())
        fine = chunks("openai") if stream else whole("openai")
        body = error("invalid_image", BAD_IMAGE) if len(requests) == 1 else fine
        if not stream:
            return httpx.Response(200, json=body)
        events = "".join(f"data: {json.dumps(event)}\n\n" for event in body)
        return httpx.Response(200, text=events + "data: [DONE]\n\n", headers={"content-type": "text/event-stream"})

    client = openai.OpenAI(api_key="x", http_client=httpx.Client(transport=httpx.MockTransport(answer)))
    wrapped = transom.wrap(client, budget=20_000)
    messages: Any = [{"role": "user", "content": [{"type": "text", "text": "See."}, IMAGE["openai"]]}]
    reply: Any = wrapped.chat.completions.create(model="m", messages=messages, stream=stream)
    if stream:
        said = "".join(choice.delta.content or "" for chunk in reply for choice in chunk.choices)
    else:
        said = reply.choices[0].message.content
    assert said == "Fine."
    assert ["iVBORw" in request for request in requests] == [True, False]


@pytest.mark.parametrize("kind", ["image_generation_server_error", "server_error", "internal_server_error"])
def test_an_error_of_the_server_is_tried_again(kind):
    """Whatever its code says."""
    assert error_reply({"type": kind, "code": "invalid_state", "message": "Sorry."}).kind == "server"
