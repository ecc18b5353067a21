"""The proxy with the real SDKs before it and a strict provider behind it."""

from __future__ import annotations

import gzip
import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2
import openai
import pytest
import zstandard
from google import genai
from test_wrap import BUDGET, LIMIT, NONE, STEPS, faults, run, said

from loopback_server import PostHandler
from loopback_server import serving as loopback_serving
from sdk_agents import AGENTS, anthropic_client, gemini_client, openai_client
from strict_provider import ANSWER, TASK, StrictProvider, strict_provider
from transom.http import Gateway, Transport
from transom.proxy.app import Proxy, ProxySettings
from transom.proxy.serve import listen, serve, serving
from transom.stores import MemoryStore, Store, open_store

post, get = partial(httpx2.post, timeout=60), partial(httpx2.get, timeout=60)


@contextmanager
def proxied(server: StrictProvider, store: Any, **settings: Any) -> Iterator[str]:
    gateway = Gateway(store, budget=settings.pop("budget", BUDGET), on_error=settings.pop("on_error", "pass"))
    upstream = server.url + settings.pop("path", "")
    with serving(gateway, ProxySettings(upstream=upstream, **settings)) as url:
        yield url


@contextmanager
def proxy(store: Store, steps: int = 1, **script: Any) -> Iterator[tuple[StrictProvider, str]]:
    settings = {key: script.pop(key) for key in ("max_body", "concurrency", "budget", "on_error") if key in script}
    with strict_provider(steps, **script) as server, proxied(server, store, **settings) as url:
        yield server, url


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("api", AGENTS)
def test_a_run_through_the_proxy(api: str, stream: bool) -> None:
    store = MemoryStore()
    agent_class, client = AGENTS[api]
    with proxy(store, STEPS, limit=LIMIT) as (server, url):
        assert run(agent_class(client(url), stream=stream)) == ANSWER
        metrics = get(f"{url}/metrics").text
        assert get(f"{url}/healthz").text == "ok\n"
    assert faults(server) == NONE
    (name,) = store.names()
    assert name.startswith("key-")
    assert "transom_overflows_total 1.0" in metrics
    assert f'transom_requests_total{{kind="model",status="200"}} {STEPS}.0' in metrics


def test_a_second_proxy_on_the_store_goes_on(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/proxy.db"
    with strict_provider(STEPS) as server:
        with proxied(server, url) as first:
            agent = AGENTS["anthropic"][0](anthropic_client(first))
            for _ in range(STEPS // 2):
                agent.step()
        with proxied(server, url) as second:
            agent.client = anthropic_client(second)
            assert run(agent) == ANSWER
    assert faults(server) == NONE
    assert len(open_store(url).names()) == 1


def test_two_keys_never_see_each_other_and_keys_are_not_stored(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/proxy.db"
    with strict_provider(1) as server, proxied(server, url) as proxy_url:
        talks = [said(TASK), said(TASK)]
        for turn in range(3):
            for number, talk in enumerate(talks):
                client = openai.OpenAI(api_key=f"sk-secret-key-{number}", base_url=f"{proxy_url}/v1")
                client.chat.completions.create(model="m", messages=talk)
                talk += [{"role": "assistant", "content": ANSWER}, {"role": "user", "content": f"mine-{number}-{turn}"}]
    assert faults(server) == NONE
    store = open_store(url)
    assert len({name.partition("/")[0] for name in store.names()}) == 2 == len(store.names())
    assert [f"mine-{1 - at % 2}" in json.dumps(body) for at, (_, body) in enumerate(server.requests)] == [False] * 6
    assert all(b"sk-secret-key" not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_packed_bodies(kind: str) -> None:
    body = json.dumps({"model": "m", "messages": said(TASK)}).encode()
    packed = gzip.compress(body) if kind == "gzip" else zstandard.compress(body)
    with proxy(MemoryStore()) as (server, url):
        answer = post(f"{url}/v1/chat/completions", content=packed, headers={"content-encoding": kind})
    assert answer.json()["choices"][0]["message"]["content"] == ANSWER
    assert faults(server) == NONE


@pytest.mark.parametrize(
    ("headers", "content", "status"),
    [
        ({}, b"x" * 2_000, 413),
        ({"content-encoding": "gzip"}, gzip.compress(b"x" * 2_000), 413),
        ({"content-encoding": "zstd"}, zstandard.compress(b"x" * 2_000), 413),
        ({"content-encoding": "br"}, b"x", 415),
        ({"content-encoding": "gzip"}, b"not gzip", 400),
        ({"content-encoding": "gzip"}, gzip.compress(b'{"a": 1}')[:-4], 400),
        ({"content-encoding": "gzip"}, gzip.compress(b'{"a": ') + gzip.compress(b"1}"), 400),
        ({"content-encoding": "zstd"}, zstandard.compress(b'{"a": 1}')[:-4], 400),
        ({"content-encoding": "zstd"}, zstandard.compress(b'{"a": ') + zstandard.compress(b"1}"), 400),
    ],
    ids=[  # a packed body holds the time, so it is no id
        *("too long", "gzip too long", "zstd too long", "unknown encoding", "not gzip"),
        *("gzip cut", "gzip twice", "zstd cut", "zstd twice"),
    ],
)
def test_bodies_that_are_refused(headers: dict[str, str], content: bytes, status: int) -> None:
    with proxy(MemoryStore(), max_body=1_000) as (server, url):
        answer = post(f"{url}/v1/chat/completions", content=content, headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]["type"] == "transom_proxy_error"
    assert server.requests == []


@pytest.mark.parametrize(
    "path", ["/../admin", "/v1/../../admin", "/%2e%2e/admin", "/v1/..%2fadmin", "/..%5cadmin", "/..;/a"]
)
def test_no_path_leaves_the_base_path_of_the_upstream(path: str) -> None:
    with strict_provider(1) as server, proxied(server, MemoryStore(), path="/base") as url:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=60)  # which sends a path as it is
        connection.request("POST", f"{path}/v1/chat/completions", b"{}")
        answer = json.loads(connection.getresponse().read())
        connection.close()
    assert (answer["error"]["code"], server.requests) == (400, [])


def test_errors_of_the_proxy_have_the_statuses_of_gemini() -> None:
    found: list[tuple[int, str]] = []
    with proxy(MemoryStore(), budget=100, on_error="fail", max_body=1_000) as (server, url):
        client = gemini_client(url)
        config: Any = {"system_instruction": "rule " * 110}  # more than the budget, less than the body may have
        for task in (TASK, TASK * 99):
            with pytest.raises(genai.errors.APIError) as raised:
                client.models.generate_content(model="m", contents=task, config=config)
            found.append((raised.value.code, raised.value.status))
    with proxied(server, MemoryStore()) as url:  # whose server is gone
        client = gemini_client(url)
        with pytest.raises(genai.errors.APIError) as raised:
            client.models.generate_content(model="m", contents=TASK)
        found.append((raised.value.code, raised.value.status))
    assert found == [(400, "INVALID_ARGUMENT"), (413, "INVALID_ARGUMENT"), (502, "UNAVAILABLE")]


def test_an_error_of_the_provider_arrives_as_it_was_and_a_missing_one_is_a_502() -> None:
    with proxy(MemoryStore(), limit=10) as (server, url):
        with pytest.raises(openai.BadRequestError) as raised:
            openai_client(url).chat.completions.create(model="m", messages=said(TASK))
        assert raised.value.code == "context_length_exceeded"
    server.url = "http://127.0.0.1:9"
    with proxied(server, MemoryStore()) as url:
        answer = post(f"{url}/v1/chat/completions", json={"model": "m", "messages": said(TASK)})
    assert (answer.status_code, "cannot be reached" in answer.text) == (502, True)


def test_a_server_that_hangs_up_is_no_server_that_cannot_be_reached() -> None:
    def hang_up() -> None:
        with listening.accept()[0] as connection:
            connection.recv(100_000)

    with listen() as listening, strict_provider(1) as server:
        server.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        Thread(target=hang_up, daemon=True).start()
        with proxied(server, MemoryStore()) as url:
            answer = post(f"{url}/v1/chat/completions", json={"model": "m", "messages": said(TASK)})
    message = answer.json()["error"]["message"]
    assert (answer.status_code, "closed the connection before it answered" in message) == (502, True)


def test_ctrl_c_ends_the_proxy_without_an_exception() -> None:
    def interrupt() -> None:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/healthz"
        assert get(url).text == "ok\n"
        os.kill(os.getpid(), signal.SIGINT)

    listening = listen()
    settings = ProxySettings(upstream="http://127.0.0.1:9")
    client = Thread(target=interrupt)
    serve(Gateway(MemoryStore(), budget=BUDGET), settings, listening, client.start)
    client.join()


def test_a_stream_that_breaks_upstream_breaks_at_the_client_and_goes_on() -> None:
    store = MemoryStore()
    with proxy(store, 6, breaks_at=3) as (server, url):
        agent = AGENTS["anthropic"][0](anthropic_client(url), stream=True)
        answer, broken = "", 0
        for _ in range(9):
            try:
                if answer := agent.step():
                    break
            except httpx2.RemoteProtocolError:
                broken += 1
    assert (answer, broken) == (ANSWER, 1)
    assert faults(server) == NONE
    assert len(store.names()) == 1


def test_a_client_that_goes_away_frees_its_conversation() -> None:
    store = MemoryStore()
    with proxy(store, 6, stalls_at=2) as (server, url):
        agent = AGENTS["openai"][0](openai_client(url))
        agent.step()
        with agent.client.chat.completions.create(**agent.arguments(), stream=True) as events:
            next(iter(events))
        time.sleep(0.3)  # until the proxy has seen it
        assert "transom_in_flight 0.0" in get(f"{url}/metrics").text
        assert run(agent) == ANSWER
    assert faults(server) == NONE
    assert len(store.names()) == 1


def test_tokens_are_counted_as_they_would_be_sent() -> None:
    with proxy(MemoryStore(), STEPS, limit=LIMIT) as (_, url):
        agent = AGENTS["anthropic"][0](anthropic_client(url))
        assert run(agent) == ANSWER
        counted = post(
            f"{url}/v1/messages/count_tokens",
            json={
                "model": "m",
                "messages": json.loads(json.dumps(agent.messages, default=lambda each: each.model_dump())),
            },
            headers={"x-api-key": "sk-ant-test"},
        ).json()["input_tokens"]
    assert 500 < counted < LIMIT


def test_too_many_requests_at_once_are_refused_and_the_others_answered() -> None:
    store = MemoryStore()
    with proxy(store, concurrency=4) as (server, url):
        body = {"model": "m", "messages": said(TASK)}
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: post(f"{url}/v1/chat/completions", json=body).status_code, range(32)))
    assert set(answers) <= {200, 503}
    assert answers.count(200) == len(server.requests) >= 4
    assert faults(server) == NONE


def test_a_large_body_passes() -> None:
    with proxy(MemoryStore(), budget=100_000_000) as (server, url):
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 8_000_000}}
        content = [{"type": "text", "text": TASK}, image]
        body = {"model": "m", "messages": [{"role": "user", "content": content}]}
        answer = post(f"{url}/v1/chat/completions", json=body)
    assert answer.status_code == 200
    assert faults(server) == NONE


def test_a_websocket_is_answered_with_426_which_sends_codex_to_http() -> None:
    upgrade = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
    }
    with proxy(MemoryStore()) as (server, url):
        answer = get(f"{url}/v1/responses", headers=upgrade)
    assert (answer.status_code, server.requests) == (426, [])


@pytest.mark.parametrize("header", ["x-claude-code-session-id", "x-transom-session"])
def test_a_request_for_a_title_takes_the_name_of_no_session_of_an_agent(header: str) -> None:
    store = MemoryStore()
    with proxy(store) as (_, url):
        body = {"model": "m", "max_tokens": 99}
        for tools in ([], [{"name": "look", "input_schema": {"type": "object", "properties": {}}}]):
            extra = {"tools": tools, "messages": [{"role": "user", "content": f"{TASK} {len(tools)}"}]}
            post(f"{url}/v1/messages", json={**body, **extra}, headers={header: "s"})
    named = {name: next(iter(store.open(name).read(0, 1))).body.parts[0].text[-1] for name in store.names()}
    assert named["s"] == ("0" if header == "x-transom-session" else "1")


ODD_VALUES = {"utf-8": "名 ünï".encode(), "latin-1": "ünï".encode("latin-1"), "no text": b"\x80\xff"}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/other"])
@pytest.mark.parametrize("value", ODD_VALUES.values(), ids=ODD_VALUES)
def test_headers_pass_byte_for_byte_in_both_directions(value: bytes, path: str, stream: bool) -> None:
    names = ("x-foo", "user-agent", "authorization", "x-api-key", "session_id", "x-transom-session", "content-type")
    seen: list[dict[str, bytes]] = []
    said = {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [said]}

    def post_to(handler: PostHandler, _: str, __: dict[str, Any]) -> None:
        seen.append({name.lower(): each.encode("latin-1") for name, each in handler.headers.items()})
        kind = "text/event-stream" if stream else "application/json"
        data = b"data: [DONE]\n\n" if stream else json.dumps(answer).encode()
        handler.reply(200, kind, data, {"x-bar": value.decode("latin-1")})

    body = json.dumps({"model": "m", "stream": stream, "messages": [{"role": "user", "content": TASK}]})
    with loopback_serving(post_to) as server, serving(Gateway(MemoryStore()), ProxySettings(upstream=server)) as url:
        got = post(f"{url}{path}", content=body, headers=[(name.encode(), value) for name in names])
    assert (got.status_code, dict(got.headers.raw)[b"x-bar"]) == (200, value)
    assert [{name: each.get(name) for name in names} for each in seen] == [
        {name: None if name == "x-transom-session" else value for name in names}
    ]


@pytest.mark.parametrize("beside", [b"a", b"\xff"], ids=["ASCII beside", "no UTF-8 beside"])
@pytest.mark.parametrize("is_proxy", [True, False], ids=["proxy", "transport"])
@pytest.mark.parametrize(
    ("value", "name"), [("名é".encode(), "名é"), ("é".encode("latin-1"), "é"), ("é".encode(), "é")]
)
def test_the_name_of_a_session_is_read_as_utf_8(value: bytes, name: str, is_proxy: bool, beside: bytes) -> None:
    store, sent = MemoryStore(), {"model": "m", "messages": said(TASK)}
    headers = [(b"x-transom-session", value), (b"x-beside", beside)]
    with strict_provider(1) as server:
        if is_proxy:
            with proxied(server, store) as url:
                assert post(f"{url}/v1/chat/completions", json=sent, headers=headers).status_code == 200
        else:
            with httpx2.Client(transport=Transport(Gateway(store), owns_gateway=True)) as client:
                assert client.post(f"{server.url}/v1/chat/completions", json=sent, headers=headers).status_code == 200
    assert store.names() == [name]


def test_an_error_of_the_proxy_itself_is_answered_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("sk-secret")

    monkeypatch.setattr(Proxy, "forwarded", broken)
    with proxy(MemoryStore()) as (_, url):
        answer = post(f"{url}/v1/models", content=b"")
        metrics = get(f"{url}/metrics").text
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "transom_proxy_error")
    assert "sk-secret" not in answer.text
    assert "ValueError" in caplog.text
    assert 'transom_requests_total{kind="other",status="500"} 1.0' in metrics
