"""The providers of the official SDKs, with the real SDKs against a server on the loopback."""

from __future__ import annotations

import copy
import json
import logging
import os
import socket
import subprocess
import sys
import traceback

import anyio
import pytest
from recorded_turns import APIS, anthropic_answer, chat_answer, gemini_answer, recorded_answers, responses_answer
from replay_server import Answer, ReplayServer, replay_server

import transom
from transom.errors import InvalidSetting, ProviderError
from transom.overflow import classify
from transom.providers import provider_named
from transom.providers.sdk import SdkProvider
from transom.wire.dialects import dialect_named
from transom.wire.replies import without_nulls

KEY = "sk-test-0123456789abcdefSECRET"
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
DIALECTS = tuple(APIS)

ARGUMENTS = json.dumps({"city": "Lisbon", "days": 3})
CALLS = [{"id": f"c{at}", "type": "function", "function": {"name": "weather", "arguments": ARGUMENTS}} for at in (1, 2)]
USES = [{"type": "tool_use", "id": f"c{at}", "name": "weather", "input": json.loads(ARGUMENTS)} for at in (1, 2)]
ITEMS = [
    {"type": "function_call", "id": f"fc{at}", "call_id": f"c{at}", "name": "weather", "arguments": ARGUMENTS}
    for at in (1, 2)
]
TEXT = "Let me look at the weather in Lisbon, for the next three days. 天気"

MADE_UP = {
    "openai": chat_answer(
        {"role": "assistant", "reasoning_content": "They ask for Lisbon.", "content": TEXT, "tool_calls": CALLS}
    ),
    "responses": responses_answer(
        [
            {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "They ask for Lisbon."}]},
            {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": TEXT, "annotations": []}],
            },
            *ITEMS,
        ]
    ),
    "anthropic": anthropic_answer(
        [
            {"type": "thinking", "thinking": "They ask for Lisbon.", "signature": "c2ln"},
            {"type": "text", "text": TEXT},
            *USES,
        ]
    ),
    "gemini": gemini_answer(
        [
            {"text": "They ask for Lisbon.", "thought": True},
            {"text": TEXT},
            *({"functionCall": {"id": f"c{at}", "name": "weather", "args": json.loads(ARGUMENTS)}} for at in (1, 2)),
        ]
    ),
}


@pytest.fixture
def server():
    with replay_server() as running:
        yield running


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    for name in KEYS:
        monkeypatch.setenv(name, KEY)


def provider_at(server: ReplayServer, dialect: str) -> SdkProvider:
    path = "/v1" if dialect in ("openai", "responses") else ""
    provider = provider_named(f"{dialect}:test-model@{server.url}{path}")
    assert isinstance(provider, SdkProvider)
    return provider


def request_in(dialect: str) -> dict:
    conv = transom.Conversation.open("memory:", "x", budget=32_000, system="Be brief.", dialect=dialect)
    conv.user("How is the weather in Lisbon?")
    weather = transom.Tool("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})
    return dict(conv.request(tools=[weather]))


def accumulated(dialect: str, chunks: list[object]) -> object:
    accumulator = dialect_named(dialect).accumulator()
    for chunk in chunks:
        accumulator.feed(chunk)
    assert accumulator.finished
    return accumulator.turn()


async def both_async(provider: SdkProvider, request: dict) -> tuple[object, list[object]]:
    whole = await provider.acomplete(request)
    chunks = [chunk async for chunk in provider.astream(request)]
    await provider.aclose()
    return whole, chunks


# ---- the same turn, however it comes


def turns_by_every_way(provider: SdkProvider) -> list[object]:
    dialect, request = provider.dialect, request_in(provider.dialect)
    parse = dialect_named(dialect).parse_reply
    before = copy.deepcopy(request)
    whole, chunks = anyio.run(both_async, provider, request)
    found = [
        parse(provider.complete(request)),
        accumulated(dialect, list(provider.stream(request))),
        parse(whole),
        accumulated(dialect, chunks),
    ]
    assert request == before, "a provider must not change a request"
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_whole_and_streamed_sync_and_async_give_the_same_turn(server, dialect):
    server.answer = MADE_UP[dialect]
    provider = provider_at(server, dialect)
    wanted = dialect_named(dialect).parse_reply(server.answer.whole)
    assert turns_by_every_way(provider) == [wanted] * 4
    assert [call.args for call in wanted.calls] == [ARGUMENTS] * 2 or dialect in ("anthropic", "gemini")
    assert (wanted.usage.prompt, wanted.usage.cached, wanted.usage.output) == (40, 8, 5)
    assert all(body.get("model", "test-model") == "test-model" for _, _, body in server.requests)
    provider.close()


@pytest.mark.parametrize("dialect", ["openai", "responses", "anthropic"])
def test_it_runs_on_trio_where_the_sdk_does(server, dialect):
    async def complete() -> object:
        try:
            return await provider.acomplete(request_in(dialect))
        finally:
            await provider.aclose()

    server.answer = MADE_UP[dialect]
    provider = provider_at(server, dialect)
    turn = dialect_named(dialect).parse_reply(anyio.run(complete, backend="trio"))
    assert turn == dialect_named(dialect).parse_reply(server.answer.whole)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_recorded_turn_comes_out_the_same_whole_and_streamed(server, data, dialect):
    provider, request = provider_at(server, dialect), request_in(dialect)
    parse = dialect_named(dialect).parse_reply
    answers = recorded_answers(data, dialect)
    assert len(answers) > 40
    for answer in answers:
        server.answer = answer
        # Anthropic's SDK leaves out the nulls of the parts that it knows
        wanted = parse(without_nulls(answer.whole, {"input"}) if dialect == "anthropic" else answer.whole)
        assert parse(provider.complete(request)) == wanted
        assert accumulated(dialect, list(provider.stream(request))) == wanted
    provider.close()


# ---- a stream that is cut


def read_until_it_breaks(provider: SdkProvider, request: dict) -> tuple[list[object], ProviderError | None]:
    chunks: list[object] = []
    try:
        chunks.extend(provider.stream(request))
    except ProviderError as error:
        return chunks, error
    return chunks, None


@pytest.mark.parametrize("breaks", [True, False], ids=["connection broken", "ended early"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_cut_after_any_chunk_leaves_a_valid_partial_and_a_conversation_that_continues(server, dialect, breaks):
    spoken, full = dialect_named(dialect), MADE_UP[dialect]
    whole = spoken.parse_reply(full.whole)
    provider = provider_at(server, dialect)
    for cut in range(len(full.chunks)):
        conv = transom.Conversation.open("memory:", "x", budget=32_000, dialect=dialect)
        conv.user("How is the weather in Lisbon?")
        server.answer = full._replace(cut=cut, breaks=breaks)
        chunks, error = read_until_it_breaks(provider, dict(conv.request()))
        assert (error is None or error.kind) == ("connection" if breaks else True), cut
        accumulator = spoken.accumulator()
        for chunk in chunks:
            accumulator.feed(chunk)
        partial = accumulator.turn()
        assert text_of(whole).startswith(text_of(partial))
        assert [call.args for call in partial.calls] == [call.args for call in whole.calls][: len(partial.calls)]
        if chunks and (partial.parts or partial.calls):
            conv.append(partial)
        conv.user("Go on.")
        server.answer = full
        conv.observe(list(provider.stream(dict(conv.request()))))
        path, _, body = server.requests[-1]
        assert spoken.violations(body) == [], (cut, path)
        conv.close()
    provider.close()


def text_of(turn) -> str:
    return "".join(part.text for part in turn.parts if hasattr(part, "text"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_after_a_stream_that_was_closed_early_the_next_one_is_whole(server, dialect):
    server.answer = MADE_UP[dialect]
    provider = provider_at(server, dialect)
    stream = provider.stream(request_in(dialect))
    next(stream)
    stream.close()
    whole = dialect_named(dialect).parse_reply(server.answer.whole)
    assert accumulated(dialect, list(provider.stream(request_in(dialect)))) == whole
    provider.close()


# ---- errors


def error_body(dialect: str, message: str, kind: str) -> dict:
    if dialect == "gemini":
        return {"error": {"code": 400, "message": message, "status": kind.upper()}}
    body = {"error": {"type": kind, "message": message}}
    return {"type": "error", **body} if dialect == "anthropic" else body


ERRORS = [
    (400, "invalid_request_error", {}, "bad_request", None),
    (401, "authentication_error", {}, "auth", None),
    (403, "permission_error", {}, "auth", None),
    (404, "not_found_error", {}, "bad_request", None),
    (408, "timeout", {}, "timeout", None),
    (429, "rate_limit_error", {"Retry-After": "7"}, "rate_limit", 7.0),
    (429, "rate_limit_error", {"Retry-After-Ms": "250"}, "rate_limit", 0.25),
    (500, "api_error", {}, "server", None),
    (503, "unavailable", {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, "server", 0.0),
    (529, "overloaded_error", {}, "server", None),
]


@pytest.mark.parametrize(("status", "kind", "headers", "wanted", "wait"), ERRORS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_error_is_one_error_by_every_way_and_is_never_retried(server, dialect, status, kind, headers, wanted, wait):
    body = error_body(dialect, f"It went wrong for {KEY}.", kind)
    server.answer = Answer(body, status=status, headers=headers)
    provider, request = provider_at(server, dialect), request_in(dialect)

    async def whole() -> None:
        try:
            await provider.acomplete(request)
        finally:
            await provider.aclose()

    async def streamed() -> None:
        try:
            async for _ in provider.astream(request):
                pass
        finally:
            await provider.aclose()

    ways = [
        lambda: provider.complete(request),
        lambda: list(provider.stream(request)),
        lambda: anyio.run(whole),
        lambda: anyio.run(streamed),
    ]
    for way in ways:
        with pytest.raises(ProviderError) as raised:
            way()
        error = raised.value
        assert (error.kind, error.status, error.retry_after) == (wanted, status, wait)
        assert "It went wrong for [redacted: API key]." in error.body
        no_secret_in(error)
    assert len(server.requests) == len(ways)
    provider.close()


def no_secret_in(error: BaseException) -> None:
    """Neither the error nor what it leads back to, nor how any of it prints, holds the key."""
    assert error.__cause__ is None
    seen: BaseException | None = error
    while seen is not None:
        assert KEY not in repr(seen) + str(seen) + repr(vars(seen))
        seen = seen.__context__
    assert KEY not in "".join(traceback.format_exception(error))


STREAM_ERRORS = {
    "openai": {"error": {"message": "the request exceeds the available context size", "type": "x", "code": 500}},
    "responses": {
        "type": "error",
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window of this model.",
        "param": None,
        "sequence_number": 1,
    },
    "anthropic": {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long: 219898 tokens > 200000 maximum"},
    },
    "gemini": {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "The input token count (2200000) exceeds the maximum number of tokens allowed (2097152).",
        }
    },
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_overflow_that_comes_inside_a_stream_is_recognised(server, dialect):
    full = MADE_UP[dialect].chunks
    server.answer = Answer(chunks=[*full[:2], STREAM_ERRORS[dialect]])
    provider = provider_at(server, dialect)
    chunks, error = read_until_it_breaks(provider, request_in(dialect))
    if error is None:  # the SDK gives it as a chunk
        accumulator = dialect_named(dialect).accumulator()
        for chunk in chunks:
            accumulator.feed(chunk)
        assert classify(200, accumulator.error) is not None
    else:
        assert classify(error.status, error.body) is not None
        assert not error.is_retryable or dialect == "openai"
    provider.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_is_not_there_is_a_connection_error(dialect):
    provider = provider_named(f"{dialect}:m@http://ana:pass@127.0.0.1:9/v1")
    with pytest.raises(ProviderError) as raised:
        provider.complete(request_in(dialect))
    assert raised.value.kind == "connection"
    assert str(raised.value) == "connection: http://127.0.0.1:9: [Errno 111] refused"
    no_secret_in(raised.value)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_that_says_nothing_is_a_timeout(dialect):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        provider = provider_named(f"{dialect}:m@http://127.0.0.1:{silent.getsockname()[1]}/v1")
        with pytest.raises(ProviderError) as raised:
            provider.complete(request_in(dialect), timeout=0.2)
        assert raised.value.kind == "timeout"
        assert str(raised.value).startswith(f"timeout: http://127.0.0.1:{silent.getsockname()[1]}: ")
        with pytest.raises(ProviderError) as raised:
            list(provider.stream(request_in(dialect), timeout=0.2))
        assert raised.value.kind == "timeout"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_argument_that_the_sdk_does_not_know_is_a_bad_request(server, dialect):
    server.answer = MADE_UP[dialect]
    with pytest.raises(ProviderError, match="bad request") as raised:
        provider_at(server, dialect).complete({**request_in(dialect), "temprature": 1})
    assert not raised.value.is_retryable


# ---- the limit of the answer


LIMITS = {
    "openai": lambda body: body["max_tokens"],
    "responses": lambda body: body["max_output_tokens"],
    "anthropic": lambda body: body["max_tokens"],
    "gemini": lambda body: body["generationConfig"]["maxOutputTokens"],
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_limit_of_the_answer_has_the_name_of_the_api(server, dialect):
    server.answer = MADE_UP[dialect]
    provider = provider_at(server, dialect)
    provider.complete(request_in(dialect), max_tokens=77)
    assert LIMITS[dialect](server.requests[-1][2]) == 77
    provider.close()


SETTINGS = {
    "openai": ({"temperature": 0.25}, lambda body: body["temperature"] == 0.25),
    "responses": ({"temperature": 0.25}, lambda body: body["temperature"] == 0.25),
    "anthropic": ({"stop_sequences": ["END"]}, lambda body: body["stop_sequences"] == ["END"]),
    "gemini": ({"temperature": 0.25}, lambda body: body["generationConfig"]["temperature"] == 0.25),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_setting_of_a_run_goes_where_the_api_has_it(server, dialect):
    server.answer = MADE_UP[dialect]
    settings, is_there = SETTINGS[dialect]
    provider = provider_at(server, dialect)
    provider.complete({**request_in(dialect), **settings})
    assert is_there(server.requests[-1][2])
    provider.close()


@pytest.mark.parametrize("as_object", [False, True])
def test_http_options_of_gemini_keep_the_timeout_and_the_model_stays(server, as_object):
    server.answer = MADE_UP["gemini"]
    types = pytest.importorskip("google.genai").types
    provider = provider_at(server, "gemini")
    options = {"headers": {"x-trace": "7"}, "timeout": None}
    options = types.HttpOptions(**options) if as_object else options
    settings = {"http_options": options, "model": "gemini-of-another-name"}
    provider.complete({**request_in("gemini"), **settings}, timeout=20)
    path, sent, _ = server.requests[-1]
    headers = {name.lower(): value for name, value in sent.items()}
    assert headers["x-trace"] == "7"
    assert headers["x-server-timeout"] == "20"
    assert f"{provider.model}:" in path
    provider.close()


def test_it_takes_the_place_of_one_in_the_request(server):
    server.answer = MADE_UP["openai"]
    provider = provider_at(server, "openai")
    provider.complete({**request_in("openai"), "max_completion_tokens": 9_000}, max_tokens=77)
    body = server.requests[-1][2]
    assert body["max_tokens"] == 77
    assert "max_completion_tokens" not in body
    provider.close()


# ---- keys and names


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_key_comes_from_the_environment_and_shows_nowhere(server, dialect, caplog):
    caplog.set_level(logging.DEBUG)
    server.answer = MADE_UP[dialect]
    provider = provider_at(server, dialect)
    provider.complete(request_in(dialect))
    path, headers, _ = server.requests[-1]
    assert any(KEY in value for value in headers.values())
    assert KEY not in path + repr(provider) + str(provider) + caplog.text
    assert repr(provider) == f"<provider {dialect}:test-model>"
    provider.close()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_without_a_key_only_a_server_of_the_users_own_is_called(server, dialect, monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name)
    with pytest.raises(InvalidSetting, match="_API_KEY in the environment"):
        provider_named(f"{dialect}:some-model")
    server.answer = MADE_UP[dialect]
    provider = provider_at(server, dialect)
    assert dialect_named(dialect).parse_reply(provider.complete(request_in(dialect))).calls
    provider.close()


def test_a_provider_without_its_sdk_says_what_to_install(monkeypatch):
    for name in ("transom.providers.anthropic", "anthropic"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InvalidSetting, match=r"install -e '?\S+\[anthropic\]"):
        provider_named("anthropic:claude-sonnet-4-5")


def test_no_sdk_is_imported_until_a_provider_is_named():
    code = "import sys, transom.providers; print(sorted({'openai','anthropic','google.genai'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert run.stdout == "[]\n"
