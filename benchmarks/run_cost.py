"""What a step of `run` costs beside the provider's time: CPU of the whole process, and of the loop's own part.

    python benchmarks/run_cost.py [--steps 200] [--store URL]

A step is a request, its reply, one tool call and its result, without a compaction. The same steps with `request`,
`observe` and `tool_result` in the caller's own loop are the floor. The target is less than 2 ms a step.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import anyio

from transom import AsyncConversation, Conversation, Tool
from transom.providers.scripted import Reply, Scripted, ScriptedCall

SCRIPTED = Reply(calls=(ScriptedCall("look", '{"n": 1}'),))


def look(n: int) -> str:
    """Look at a thing."""
    return f"found {n}"


class Instant:
    """A provider that costs nothing: it says the same each time, and checks nothing."""

    name, model, dialect = "instant", "instant", "openai"

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.call = Scripted(then=SCRIPTED).complete({"messages": [{"role": "user", "content": "x"}]})
        self.answer = Scripted().complete({"messages": [{"role": "user", "content": "x"}]})

    def complete(self, request: object, **limits: object) -> object:  # noqa: ARG002 - as the protocol has it
        """The next reply."""
        self.left -= 1
        return self.answer if self.left < 0 else self.call

    async def acomplete(self, request: object, **limits: object) -> object:  # noqa: ARG002 - as the protocol has it
        """As `complete`."""
        return self.complete(request)


def by_hand(conv: Conversation, steps: int) -> None:
    provider = Instant(steps)
    conv.user("Go")
    tool = Tool("look", "Look at a thing.", {"type": "object", "properties": {"n": {"type": "integer"}}})
    for _ in range(steps):
        reply = provider.complete(conv.request(tools=[tool]))
        conv.observe(reply)
        conv.tool_result("call00001", look(1))


def sync(conv: Conversation, steps: int) -> None:
    conv.run("Go", provider=Instant(steps), tools=[look], max_steps=None)


def asynchronous(conv: Conversation, steps: int) -> None:
    async def main() -> None:
        await AsyncConversation(conv).run("Go", provider=Instant(steps), tools=[look], max_steps=None)

    anyio.run(main)


def cost(run: Callable[[Conversation, int], None], steps: int, store: str) -> float:
    """Milliseconds of CPU a step, all threads together."""
    with Conversation.open(store, f"{run.__name__} {time.time()}", budget=1_000_000) as conv:
        run(conv, 2)
        start = time.process_time()
        run(conv, steps)
        return 1e3 * (time.process_time() - start) / steps


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--store", default="memory:")
    options = parser.parse_args()
    floor = cost(by_hand, options.steps, options.store)
    print(f"by hand: {floor:.2f} ms of CPU a step")
    for run in (sync, asynchronous):
        print(f"{run.__name__}: {cost(run, options.steps, options.store):.2f} ms of CPU a step")
