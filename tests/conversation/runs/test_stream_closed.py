"""A stream on an event loop that is closed early ends without an error, and the log is valid."""

from __future__ import annotations

import anyio
import pytest

import transom
from transom.providers.scripted import Scripted
from transom.stores import MemoryStore


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closing_a_stream_early_raises_nothing(backend):
    async def main() -> tuple[list[str], str]:
        async with await transom.AsyncConversation.open("memory:", "c", budget=32_000) as conversation:
            stream = conversation.stream("hello", provider=Scripted("one two three four"))
            async for _ in stream:
                break
            await stream.aclose()
            kinds = [type(entry.body).__name__ for entry in conversation.log.read()]
            return kinds, (await conversation.run("again", provider=Scripted("ok"))).text

    assert anyio.run(main, backend=backend) == (["User", "Sent", "Failure"], "ok")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closing_a_conversation_ends_the_stream_that_was_left(backend, caplog, capfd):
    kinds, streams = [], []

    async def main() -> None:
        async with await transom.AsyncConversation.open("memory:", "c", budget=32_000) as conversation:
            streams.append(conversation.stream("hello", provider=Scripted("one two three four")))
            async for _ in streams[0]:
                break
            log = conversation.log
        kinds.extend(type(entry.body).__name__ for entry in log.read())

    anyio.run(main, backend=backend)
    assert kinds == ["User", "Sent", "Failure"]
    assert (caplog.messages, capfd.readouterr().err) == ([], "")


def test_a_stream_of_a_closed_conversation_says_so():
    conversation = transom.Conversation.open("memory:", "c", budget=32_000)
    stream = conversation.stream("hello", provider=Scripted("one two three four"))
    next(stream)
    conversation.close()
    with pytest.raises(transom.InvalidSetting, match="the conversation is closed"):
        list(stream)


class Full:
    """A store on a full disk: its log takes nothing more from `is_full` on."""

    def __init__(self) -> None:
        self.inner, self.is_full, self.is_closed = MemoryStore(), False, False

    def open(self, name):
        log = self.inner.open(name)
        append = log.append

        def guarded(*args):
            if self.is_full:
                raise transom.StoreUnavailable("the disk is full")
            return append(*args)

        log.append = guarded
        return log

    def names(self, prefix=""):
        return self.inner.names(prefix)

    def forget(self, name):
        self.inner.forget(name)

    def close(self):
        self.is_closed = True


def test_a_conversation_is_closed_even_if_its_store_takes_nothing_more(monkeypatch):
    store = Full()
    monkeypatch.setattr("transom.conversation.conversation.open_store", lambda _: store)
    conversation = transom.Conversation.open("memory:", "c", budget=32_000)
    stream = conversation.stream("hello", provider=Scripted("one two three four"))
    next(stream)
    store.is_full = True
    with pytest.raises(transom.StoreUnavailable, match="the disk is full"):
        conversation.close()
    assert store.is_closed
    with pytest.raises(transom.InvalidSetting, match="closed"):
        conversation.user("x")
