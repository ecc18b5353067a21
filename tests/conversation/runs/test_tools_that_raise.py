"""Whatever a tool raises, the model reads it as a failed result: also what is no `Exception`. What cancels the run or
stops the program ends the run."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from transom import AsyncConversation, Conversation
from transom.core.message import ToolResult
from transom.providers.scripted import Scripted, calls
from transom.stores import MemoryStore


class Panic(BaseException):
    """What extensions in Rust raise: no `Exception`."""


def as_group(error: BaseException) -> BaseException:
    return BaseExceptionGroup("tasks of the tool", [error])


RAISED = {
    "an error": ValueError("broken"),
    "exit": SystemExit(2),
    "panic": Panic("panicked"),
    "cancelled": asyncio.CancelledError(),
    "group with a panic": as_group(Panic("panicked")),
    "group with a cancellation": as_group(asyncio.CancelledError()),
}


def sync_tool(error):
    def look() -> str:
        """Looks."""
        raise error

    return look


def async_tool(error):
    async def look() -> str:
        """Looks."""
        raise error

    return look


def fine() -> str:
    """Works."""
    return "fine"


def script() -> Scripted:
    return Scripted(calls(("look", {}), ("fine", {})), "I could not look.")


def run_sync(store, tool):
    with Conversation.open(store, "trip", budget=8_000) as conv:
        return conv.run("Look.", provider=script(), tools=[tool, fine]).text


def run_on(backend):
    def run(store, tool):
        async def main():
            async with await AsyncConversation.open(store, "trip", budget=8_000) as conv:
                return (await conv.run("Look.", provider=script(), tools=[tool, fine])).text

        return anyio.run(main, backend=backend)

    return run


RUNS = {"threads": run_sync, "asyncio": run_on("asyncio"), "trio": run_on("trio")}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
@pytest.mark.parametrize("tool", [sync_tool, async_tool])
@pytest.mark.parametrize("error", RAISED.values(), ids=RAISED)
def test_the_model_reads_what_a_tool_raises(run, tool, error):
    store = MemoryStore()
    assert run(store, tool(error)) == "I could not look."
    results = [entry.body for entry in store.open("trip").read() if isinstance(entry.body, ToolResult)]
    assert sorted(result.failed for result in results) == [False, True]


def test_a_task_that_somebody_else_cancelled_is_a_failed_result():
    async def main():
        download = asyncio.create_task(asyncio.sleep(60))
        download.cancel()

        async def look() -> str:
            """Waits for a download that the user has stopped."""
            await download
            return "never"

        async with await AsyncConversation.open(MemoryStore(), "trip", budget=8_000) as conv:
            return (await conv.run("Look.", provider=script(), tools=[look, fine])).text

    assert asyncio.run(main()) == "I could not look."


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_run_ends_though_its_tool_wraps_the_cancellation(backend):
    async def look() -> str:
        """Works in a group of tasks."""
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.sleep, 60)
        return "never"

    async def main():
        async with await AsyncConversation.open(MemoryStore(), "trip", budget=8_000) as conv:
            with anyio.move_on_after(0.3) as scope:
                await conv.run("Look.", provider=script(), tools=[look, fine])
            assert scope.cancelled_caught
            result = await conv.run("And now?", provider=Scripted("Stopped."))
            assert result.text == "Stopped."

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), as_group(KeyboardInterrupt())])
def test_ctrl_c_in_an_async_tool_ends_the_run(error):
    async def main():
        async with await AsyncConversation.open(MemoryStore(), "trip", budget=8_000) as conv:
            await conv.run("Look.", provider=Scripted(calls(("look", {}))), tools=[async_tool(error)])

    with pytest.raises(BaseException) as raised:  # noqa: PT011 - asyncio raises it bare, anyio in a group
        asyncio.run(main())
    assert not isinstance(raised.value, Exception)
