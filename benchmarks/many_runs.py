"""Many agents at once on one event loop: is the loop ever blocked, and are any facts mixed up?

    python benchmarks/many_runs.py [--conversations 200] [--steps 6] [--store memory:|folder]

A heartbeat asks to be woken every 5 ms and measures by how much it is late. Each model call takes 20 to 200 ms, as if a
network were there; each tool 10 ms. The target is that no wake-up is more than 20 ms late.
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import sys
import time
from typing import Any

import anyio

from transom import AsyncConversation
from transom.core.message import Text, ToolResult
from transom.providers.scripted_replies import Reply, ScriptedCall, writer_for
from transom.stores.in_memory import MemoryStore

TICK = 0.005
LINE = "the agent {} reads line {} of the file that nobody else may see; "


class Slow:
    """A provider that costs the loop little: a reply comes after a while, and is made then.

    If all of them were made before, they would be most of what a full garbage collection has to look at.
    """

    name, model, dialect = "scripted", "slow", "openai"

    def __init__(self, number: int, steps: int) -> None:
        self.draw = random.Random(number)
        self.number, self.steps, self.done = number, steps, 0

    async def astream(self, request: object, **limits: object) -> Any:  # noqa: ARG002 - as the protocol has it
        """The next reply."""
        await anyio.sleep(self.draw.uniform(0.02, 0.2))
        for chunk in writer_for("openai").chunks(self.next_reply(), 100, 8):
            yield chunk

    def next_reply(self) -> Reply:
        step, self.done = self.done, self.done + 1
        if step == self.steps:
            return Reply(text=f"agent {self.number} is done")
        return Reply(calls=(ScriptedCall("read", f'{{"line": {step}}}', f"call_{step}"),))

    def complete(self, request: object, **limits: object) -> object:
        """Not used here."""
        raise NotImplementedError


async def agent(number: int, steps: int, store: MemoryStore) -> list[str]:
    """One conversation; the texts of its results."""

    async def read(line: int) -> str:
        await anyio.sleep(0.01)
        return LINE.format(number, line) * 60

    async with await AsyncConversation.open(store, f"agent {number}", budget=4_000) as conv:
        provider = Slow(number, steps)
        async for _ in conv.stream(f"I am agent {number}. Read the file.", provider=provider, tools=[read]):
            pass
        bodies = [entry.body for entry in conv.log]
        results = [body for body in bodies if isinstance(body, ToolResult)]
        return ["".join(part.text for part in body.parts if isinstance(part, Text)) for body in results]


def watch_collector(pauses: list[tuple[float, float]]) -> None:
    """Note how long each run of Python's garbage collector stops everything, and how much CPU it takes of that."""
    began = cpu = 0.0

    def note(phase: str, _: object) -> None:
        nonlocal began, cpu
        if phase == "start":
            began, cpu = time.perf_counter(), time.thread_time()
        else:
            pauses.append((time.perf_counter() - began, time.thread_time() - cpu))

    gc.callbacks.append(note)


async def heartbeat(late: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await anyio.sleep(TICK)
        late.append(time.perf_counter() - start - TICK)


async def main(conversations: int, steps: int) -> tuple[list[float], int, float]:
    """How late each wake-up was, how many facts were mixed up, and the seconds it took."""
    late: list[float] = []
    mixed = 0
    store = MemoryStore()
    await agent(-1, 1, store)  # loads the tokenizer and the modules
    gc.collect()
    gc.freeze()  # as a server does: a full collection of what was imported takes longer than anything of ours

    async def one(number: int) -> None:
        nonlocal mixed
        found = await agent(number, steps, store)
        mixed += sum(f"agent {number} " not in text for text in found) + abs(len(found) - steps)

    start = time.perf_counter()
    async with anyio.create_task_group() as beating:
        beating.start_soon(heartbeat, late)
        async with anyio.create_task_group() as group:
            for number in range(conversations):
                group.start_soon(one, number)
        beating.cancel_scope.cancel()
    return late, mixed, time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--steps", type=int, default=6)
    options = parser.parse_args()
    pauses: list[tuple[float, float]] = []
    watch_collector(pauses)
    late, mixed, seconds = anyio.run(main, options.conversations, options.steps)
    ordered = sorted(late)
    print(f"{options.conversations} conversations of {options.steps} steps in {seconds:.1f} s; {mixed} facts mixed up")
    for name, share in (("median", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("worst", 1.0)):
        print(f"  late {name}: {1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.1f} ms")
    print(
        f"  over 20 ms: {sum(each > 0.02 for each in late)} of {len(late)}; mean {1e3 * statistics.mean(late):.2f} ms"
    )
    pause, cpu = (max(each, default=0.0) for each in zip(*pauses, strict=True))
    print(f"  longest pause of the garbage collector: {1e3 * pause:.1f} ms; most CPU of one: {1e3 * cpu:.1f} ms")
    sys.exit(bool(mixed))
