"""The model of this machine: llama.cpp in this process, with the small model from a package."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from unittest.mock import MagicMock

import anyio
import pytest

import transom
from transom.errors import InvalidSetting, ProviderError
from transom.overflow import Overflow, classify
from transom.providers import provider_named
from transom.providers.local import Local
from transom.wire.openai import OPENAI_CHAT

pytest.importorskip("xllamacpp")


@pytest.fixture(scope="module")
def local():
    provider = Local(context=512, threads=1)
    yield provider
    provider.close()


def test_it_answers_whole_and_streamed(local):
    conv = transom.Conversation.open("memory:", "x", budget=512, system="Be brief.")
    conv.user("Say hello.")
    request = dict(conv.request())
    whole = OPENAI_CHAT.parse_reply(local.complete({**request, "temperature": 0, "seed": 1}, max_tokens=4))
    accumulator = OPENAI_CHAT.accumulator()
    for chunk in local.stream({**request, "temperature": 0, "seed": 1}, max_tokens=4):
        accumulator.feed(chunk)
    assert whole.parts == accumulator.turn().parts
    assert whole.usage.output == accumulator.turn().usage.output == 4
    assert whole.usage.prompt == accumulator.turn().usage.prompt > 10


def test_a_request_that_is_too_long_is_an_overflow_with_its_numbers(local):
    with pytest.raises(ProviderError) as raised:
        local.complete({"messages": [{"role": "user", "content": "word " * 2_000}]}, max_tokens=4)
    error = raised.value
    found = classify(error.status, error.body)
    assert found == Overflow(limit=512, used=found.used, fix="shrink_input")
    assert found.used > 2_000


def test_it_has_a_name_without_a_model():
    provider = provider_named("local")
    assert repr(provider) == "<provider local:SmolLM2-135M-Instruct.Q4_1>"
    assert provider.context_size == 4_096


@pytest.mark.parametrize(
    ("name", "why"), [("local:/no/such.gguf", "no model file"), ("local:m@http://localhost:1/v1", "has no address")]
)
def test_what_is_no_model_of_this_machine_is_refused(name, why):
    with pytest.raises(InvalidSetting, match=why):
        provider_named(name)


def test_the_address_of_another_server_does_not_count(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.mistral.ai/v1")
    assert Local().dialect == "openai"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[::1")
    assert Local().dialect == "openai"


def test_closing_on_an_event_loop_unloads_the_model_too():
    provider = Local(context=256, threads=1)
    request = {"messages": [{"role": "user", "content": "Hi"}], "temperature": 0}

    async def ask_and_close():
        await provider.acomplete(request, max_tokens=1)
        loaded = provider._server
        await provider.aclose()
        return loaded

    provider.complete(request, max_tokens=1)
    assert anyio.run(ask_and_close) is not None
    assert provider._server is None
    assert provider.complete(request, max_tokens=1)  # a sync call does not ask the server that has gone
    provider.close()


def test_a_sync_and_an_async_call_at_once_load_the_model_once(monkeypatch):
    loaded = []

    class Server:
        def __init__(self, parameters):
            time.sleep(0.05)
            loaded.append(parameters)
            self.listening_address = f"http://127.0.0.1:{len(loaded)}"

    monkeypatch.setattr("transom.providers.local._llama", SimpleNamespace(CommonParams=MagicMock, Server=Server))
    provider = Local()
    thread = threading.Thread(target=lambda: provider.url)
    thread.start()

    async def on_a_loop():
        return provider._client_of_loop()

    client = anyio.run(on_a_loop)
    thread.join()
    assert (len(loaded), str(client.base_url)) == (1, "http://127.0.0.1:1/v1/")
