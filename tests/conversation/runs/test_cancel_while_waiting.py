"""`cancel` is set while a run waits: for a silent model, a tool, the next attempt. The run stops at once, closed."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from transom import AsyncConversation, Conversation, Retry, RunStopped
from transom.conversation import events
from transom.core.message import Failure, ToolResult
from transom.providers.scripted import Fault, Reply, Scripted, call

SILENCE = 4.0
"""Seconds for which a model or a tool is silent."""
SOON = 2.0
"""A run that is cancelled is over by then, also on a busy machine."""
STOPPED = "the run was cancelled while this tool ran; it may have done a part of its work"

Run = Callable[..., None]
See = Callable[[events.Event], object]


@pytest.fixture
def conv() -> Iterator[Conversation]:
    released.clear()
    with Conversation.open("memory:", "c", budget=10_000) as opened:
        yield opened
    released.set()


def run_sync(conv: Conversation, **settings: Any) -> None:
    conv.run("Go", **settings)


def run_on(backend: str) -> Run:
    def run(conv: Conversation, **settings: Any) -> None:
        anyio.run(lambda: AsyncConversation(conv).run("Go", **settings), backend=backend)

    return run


def stream_sync(conv: Conversation, see: See, **settings: Any) -> None:
    for event in conv.stream("Go", **settings):
        see(event)


def stream_on(backend: str) -> Callable[..., None]:
    def stream(conv: Conversation, see: See, **settings: Any) -> None:
        async def main() -> None:
            async for event in AsyncConversation(conv).stream("Go", **settings):
                see(event)

        anyio.run(main, backend=backend)

    return stream


RUNS = [run_sync, run_on("asyncio"), run_on("trio")]
STREAMS = [stream_sync, stream_on("asyncio"), stream_on("trio")]
IDS = ["sync", "asyncio", "trio"]


def set_soon() -> threading.Event:
    cancel = threading.Event()
    timer = threading.Timer(0.2, cancel.set)
    timer.daemon = True
    timer.start()
    return cancel


def stopped_run(run: Run, conv: Conversation, **settings: Any) -> None:
    start = time.monotonic()
    with pytest.raises(RunStopped, match="the run was cancelled"):
        run(conv, cancel=set_soon(), **settings)
    assert time.monotonic() - start < SOON


def failures(conv: Conversation) -> list[tuple[str, str]]:
    return [(entry.body.failure, entry.body.text) for entry in conv.log if isinstance(entry.body, Failure)]


@pytest.mark.parametrize("run", RUNS, ids=IDS)
def test_a_silent_model(conv: Conversation, run: Run) -> None:
    stopped_run(run, conv, provider=Scripted(Reply(text="Late.", delay=SILENCE)))
    assert failures(conv) == [("interrupted", "")]
    assert conv.view.in_flight is None
    assert conv.run(provider=Scripted("Done.")).text == "Done."


class Stalls(Scripted):
    """A provider whose stream is silent after its second chunk. Counts the chunks that were asked for."""

    asked = 0

    def stream(self, request: Any, **limits: Any) -> Iterator[Any]:
        for chunk in super().stream(request, **limits):
            self.asked += 1
            yield chunk
            if self.asked == 2:
                time.sleep(SILENCE)

    async def astream(self, request: Any, **limits: Any) -> AsyncIterator[Any]:
        async with aclosing(super().astream(request, **limits)) as chunks:
            async for chunk in chunks:
                self.asked += 1
                yield chunk
                if self.asked == 2:
                    await anyio.sleep(SILENCE)


@pytest.mark.parametrize("stream", STREAMS, ids=IDS)
def test_a_stream_that_stalls(conv: Conversation, stream: Callable[..., None]) -> None:
    seen: list[events.Event] = []
    start = time.monotonic()
    provider = Stalls("One two three four five.")
    with pytest.raises(RunStopped, match="the run was cancelled"):
        stream(conv, seen.append, provider=provider, cancel=set_soon())
    assert time.monotonic() - start < SOON
    text = "".join(event.text for event in seen if isinstance(event, events.TextDelta))
    assert text
    assert failures(conv) == [("interrupted", text)]
    assert provider.asked == 2


@pytest.mark.parametrize("stream", STREAMS, ids=IDS)
def test_a_stream_that_never_begins(conv: Conversation, stream: Callable[..., None]) -> None:
    seen: list[events.Event] = []
    start = time.monotonic()
    with pytest.raises(RunStopped, match="the run was cancelled"):
        stream(conv, seen.append, provider=Scripted(Reply(text="Late.", delay=SILENCE)), cancel=set_soon())
    assert time.monotonic() - start < SOON
    assert [type(event) for event in seen] == [events.Requested]
    assert failures(conv) == [("interrupted", "")]


async def async_tool() -> str:
    await anyio.sleep(SILENCE)
    return "late"


released = threading.Event()
"""Ends the sync tool, so that no thread of a test outlives it for long."""


def sync_tool() -> str:
    released.wait(SILENCE)
    return "late"


@pytest.mark.parametrize("run", RUNS[1:], ids=IDS[1:])
@pytest.mark.parametrize("tool", [async_tool, sync_tool])
def test_a_tool_that_takes_long(conv: Conversation, run: Run, tool: Callable[[], Any]) -> None:
    stopped_run(run, conv, provider=Scripted(call(tool.__name__)), tools=[tool])
    found = [entry.body for entry in conv.log if isinstance(entry.body, ToolResult)]
    assert [("".join(part.text for part in each.parts), each.failed) for each in found] == [(STOPPED, True)]
    assert conv.run(provider=Scripted("Done."), tools=[tool]).text == "Done."


@pytest.mark.parametrize("run", RUNS, ids=IDS)
def test_the_wait_before_the_next_attempt(conv: Conversation, run: Run) -> None:
    stopped_run(run, conv, provider=Scripted(Fault(status=503), "Never."), retry=Retry(wait=SILENCE))
    assert [kind for kind, _ in failures(conv)] == ["server"]


@pytest.mark.parametrize("run", RUNS[1:], ids=IDS[1:])
def test_an_approval(conv: Conversation, run: Run) -> None:
    async def ask(_: events.ToolCalled) -> bool:
        await anyio.sleep(SILENCE)
        return True

    stopped_run(run, conv, provider=Scripted(call("sync_tool")), tools=[sync_tool], approve=ask)


@pytest.mark.parametrize("stream", STREAMS, ids=IDS)
def test_no_failure_is_told_after_a_cancellation(conv: Conversation, stream: Callable[..., None]) -> None:
    cancel = threading.Event()

    def fails(_: object) -> Fault:
        cancel.set()
        return Fault(status=503)

    seen: list[events.Event] = []
    with pytest.raises(RunStopped, match="the run was cancelled"):
        stream(conv, seen.append, provider=Scripted(fails, "Never."), cancel=cancel, retry=Retry(wait=0))
    assert [type(event) for event in seen] == [events.Requested]
    assert failures(conv) == [("interrupted", "")]


@pytest.mark.parametrize("stream", STREAMS, ids=IDS)
def test_no_attempt_is_told_after_a_cancellation(conv: Conversation, stream: Callable[..., None]) -> None:
    cancel = threading.Event()
    seen: list[events.Event] = []

    def see(event: events.Event) -> None:
        seen.append(event)
        if isinstance(event, events.RequestFailed):
            cancel.set()

    with pytest.raises(RunStopped, match="the run was cancelled"):
        stream(conv, see, provider=Scripted(Fault(status=503)), cancel=cancel, retry=Retry(wait=0))
    assert [type(event) for event in seen] == [events.Requested, events.RequestFailed]


def test_errors_of_a_provider_come_out_as_without_cancel(conv: Conversation) -> None:
    def broken(_: object) -> Fault:
        raise ZeroDivisionError("a bug of the provider")

    for run in (*RUNS, lambda conv, **settings: stream_sync(conv, print, **settings)):
        with pytest.raises(ZeroDivisionError, match="a bug of the provider"):
            run(conv, provider=Scripted(broken), cancel=threading.Event())
    assert len(failures(conv)) == 4
