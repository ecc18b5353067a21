"""What one request of a web app costs: open a stored conversation, one message, one reply, close.

    python benchmarks/web_request.py [--entries 150] [--requests 200] [--at-once 20]

The conversations are on one SQLite store that all requests share. The provider answers at once, so that what is left
is ours. Milliseconds of CPU a request, all threads together: by hand, also as the first request of a process, which
finds no view in the cache; with `run`, async `run`, async `stream`, and many async streams at once.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio

from transom import AsyncConversation, Conversation, open_store
from transom.providers.scripted import Scripted

QUESTION = "How is the weather in Lisbon today, and what should I wear? "
BUDGET = 32_000


class Instant:
    """A provider that costs nothing: it says the same each time, and checks nothing."""

    name, model, dialect = "instant", "instant", "openai"

    def __init__(self) -> None:
        request = {"messages": [{"role": "user", "content": "x"}]}
        self.reply = Scripted().complete(request)
        self.chunks = list(Scripted().stream(request))

    def complete(self, request: object, **limits: object) -> object:  # noqa: ARG002 - as the protocol has it
        """The reply."""
        return self.reply

    async def acomplete(self, request: object, **limits: object) -> object:  # noqa: ARG002 - as the protocol has it
        """As `complete`."""
        return self.reply

    async def astream(self, request: object, **limits: object) -> AsyncIterator[object]:  # noqa: ARG002 - likewise
        """The reply in chunks."""
        for chunk in self.chunks:
            yield chunk


PROVIDER = Instant()


def fill(store: Any, name: str, entries: int) -> None:
    """Store a conversation of so many entries."""
    with Conversation.open(store, name, budget=BUDGET) as conv:
        while len(conv.log) < entries:
            conv.user(QUESTION * 3)
            conv.request()
            conv.observe(PROVIDER.reply)


def by_hand(store: Any, name: str) -> None:
    with Conversation.open(store, name, budget=BUDGET) as conv:
        conv.user(QUESTION)
        conv.observe(PROVIDER.complete(conv.request()))


def first_by_hand(store: Any, name: str) -> None:
    """By hand, with an empty cache of views, as in a process that has just begun."""
    store.view_cache.clear()
    by_hand(store, name)


def run(store: Any, name: str) -> None:
    with Conversation.open(store, name, budget=BUDGET) as conv:
        conv.run(QUESTION, provider=PROVIDER)


async def async_run(store: Any, name: str) -> None:
    async with await AsyncConversation.open(store, name, budget=BUDGET) as conv:
        await conv.run(QUESTION, provider=PROVIDER)


async def async_stream(store: Any, name: str) -> None:
    async with await AsyncConversation.open(store, name, budget=BUDGET) as conv:
        async for _ in conv.stream(QUESTION, provider=PROVIDER):
            pass


def cost(work: Callable[[Any, str], object], store: Any, names: list[str]) -> float:
    """Milliseconds of CPU a request, one after the other."""
    start = time.process_time()
    for name in names:
        work(store, name)
    return 1e3 * (time.process_time() - start) / len(names)


async def async_cost(work: Callable[[Any, str], Awaitable[None]], store: Any, names: list[str], at_once: int) -> float:
    """Milliseconds of CPU a request, `at_once` of them together."""
    start = time.process_time()
    for at in range(0, len(names), at_once):
        async with anyio.create_task_group() as group:
            for name in names[at : at + at_once]:
                group.start_soon(work, store, name)
    return 1e3 * (time.process_time() - start) / len(names)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=150)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, closing(open_store(Path(folder) / "web.db")) as store:
        names = [f"chat {number}" for number in range(20)]
        for name in names:
            fill(store, name, options.entries)
        asked = names * (options.requests // len(names))
        for work in (first_by_hand, by_hand, run):
            cost(work, store, names[:2])
            print(f"{work.__name__}: {cost(work, store, asked):.2f} ms of CPU a request")
        for title, awaited, at_once in (
            ("async run", async_run, 1),
            ("async stream", async_stream, 1),
            (f"async stream, {options.at_once} at once", async_stream, options.at_once),
        ):
            print(f"{title}: {anyio.run(async_cost, awaited, store, asked, at_once):.2f} ms of CPU a request")
