"""LiteLLM is the user's to install: a stand-in with its documented interface, whose streams cannot be closed."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import anyio
import pytest

from transom import Conversation, InvalidSetting, ProviderError
from transom.conversation.events import TextDelta
from transom.providers import provider_named

STAND_IN = """
closed, requests = [], []


class RateLimitError(Exception):
    status_code = 429


class Inner:
    def close(self):
        closed.append(True)


class CustomStreamWrapper:
    def __init__(self, chunks):
        self.completion_stream, self._chunks = Inner(), iter(chunks)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._chunks)


def completion(**arguments):
    requests.append(arguments)
    if arguments["messages"][-1]["content"] == "busy":
        raise RateLimitError("slow down, sk-1234567890abcdef")
    if not arguments.get("stream"):
        message = {"role": "assistant", "content": "Hello."}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}
    deltas = [({"role": "assistant", "content": "Hel"}, None), ({"content": "lo."}, None), ({}, "stop")]
    return CustomStreamWrapper(
        {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}
        for delta, stop in deltas
    )


class AsyncStreamWrapper(CustomStreamWrapper):
    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return next(self._chunks)
        except StopIteration:
            raise StopAsyncIteration from None


async def acompletion(**arguments):
    reply = completion(**arguments)
    return reply if isinstance(reply, dict) else AsyncStreamWrapper(reply)
"""


@pytest.fixture
def litellm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Install the stand-in."""
    (tmp_path / "litellm.py").write_text(STAND_IN, "utf-8")
    _release(tmp_path, "1.81.0")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "litellm", raising=False)
    yield tmp_path
    sys.modules.pop("litellm", None)


def _release(folder: Path, version: str) -> None:
    info = folder / "litellm-0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: litellm\nVersion: {version}\n", "utf-8")


def test_a_run_and_a_stream(litellm: Path) -> None:
    provider = provider_named("litellm:openai/m@http://localhost:1/v1")
    with Conversation.open("memory:", "x", budget=8_000) as conv:
        assert conv.run("Hi", provider=provider, max_tokens=5).text == "Hello."
        texts = [event.text for event in conv.stream("Hi", provider=provider) if isinstance(event, TextDelta)]
    assert texts == ["Hel", "lo."]
    module = sys.modules["litellm"]
    assert module.closed == [True]
    first = module.requests[0]
    assert (first["model"], first["base_url"], first["max_tokens"]) == ("openai/m", "http://localhost:1/v1", 5)
    assert (first["num_retries"], first["max_retries"]) == (0, 0)
    with pytest.raises(ProviderError) as caught:
        provider.complete({"messages": [{"role": "user", "content": "busy"}]})
    assert caught.value.kind == "rate_limit"
    assert "1234567890" not in str(caught.value) + caught.value.body


def test_on_an_event_loop(litellm: Path) -> None:
    async def ask() -> list[object]:
        provider = provider_named("litellm:openai/m")
        request = {"messages": [{"role": "user", "content": "Hi"}]}
        chunks = [chunk async for chunk in provider.astream(request)]
        with pytest.raises(ProviderError, match="slow down"):
            await anext(provider.astream({"messages": [{"role": "user", "content": "busy"}]}))
        await provider.acomplete(request)
        await provider.aclose()
        return chunks

    assert len(anyio.run(ask)) == 3
    assert sys.modules["litellm"].closed == [True], "the iterator inside is closed, as that of LiteLLM cannot be"


@pytest.mark.parametrize("version", ["1.82.7", "1.82.8"])
def test_releases_that_stole_keys_are_refused(litellm: Path, version: str) -> None:
    _release(litellm, version)
    with pytest.raises(InvalidSetting, match="stole keys"):
        provider_named("litellm:openai/m")


def test_where_it_is_not_installed_the_error_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("transom.providers.litellm.version", missing)
    how = r"is not installed: (\S+ )?pip install 'litellm!=1\.82\.7,!=1\.82\.8'$"
    with pytest.raises(InvalidSetting, match=how):
        provider_named("litellm:openai/m")
