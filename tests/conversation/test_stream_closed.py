"""A stream on an event loop that is closed early ends without an error, and the log is valid."""

from __future__ import annotations

import anyio
import pytest

import transom
from transom.providers.scripted import Scripted


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
