"""Drives a run in this thread: does its work. The driver for an event loop is in `async_driver.py`.

A driver takes the next event or piece of work from the run, passes events on, does the work, and sends the outcome
back. When it must stop (an exception at its own place, a cancelled task, an abandoned iterator, a set
`cancel`), it throws the reason into the run, which closes what is open in the log. A driver decides nothing.
Tools run in threads of their own (`ToolThreads`).
"""

from __future__ import annotations

import inspect
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

from transom.conversation.events import Event, ReasoningDelta, RequestFailed, RunResult, TextDelta
from transom.conversation.runnable import Approver
from transom.conversation.runs.agent_loop import RunSteps
from transom.conversation.runs.awaited_work import (
    TICK,
    Approve,
    AwaitSummary,
    CallModel,
    Cancel,
    NextTool,
    RunTools,
    Work,
    check_cancel,
)
from transom.conversation.runs.tool_threads import ToolThreads, run_async
from transom.conversation.summary_job import await_summary
from transom.errors import InvalidMessage, ProviderError
from transom.wire.stream import Accumulator

T = TypeVar("T")


def drive(
    steps: RunSteps, *, approve: Approver | None = None, cancel: Cancel | None = None
) -> Generator[Event, None, RunResult]:
    """Drive a run in the calling thread: yields its events, returns its result. Tools run in threads of their own.

    `approve`: asked about each call for which the run asks. `cancel`: once it is set, the run is stopped with
    RunStopped. Whatever stops the driver is thrown into the run first, so that the log is valid.
    """
    tools = ToolThreads(cancel)
    try:
        item = next(steps)
        while True:
            outcome: object = None
            try:
                if isinstance(item, Work):
                    check_cancel(cancel)
                    outcome = yield from _perform(item, tools, approve, cancel)
                else:
                    yield item
                    check_after(item, cancel)
            except BaseException as reason:  # noqa: BLE001 - the run closes what is open, and raises it again
                item = steps.throw(reason)
            else:
                item = steps.send(outcome)
    except StopIteration as done:
        return done.value
    finally:
        steps.close()


def drained(events: Generator[Event, None, RunResult]) -> RunResult:
    """Drive a run to its end without looking at the events; returns its result."""
    while True:
        try:
            next(events)
        except StopIteration as done:
            return done.value


def check_after(event: Event, cancel: Cancel | None) -> None:
    """Raise RunStopped if `cancel` was set while the caller looked at a failed request, so that it is not sent again.
    Other events are not checked."""
    if isinstance(event, RequestFailed):
        check_cancel(cancel)


def _perform(
    work: Work, tools: ToolThreads, approve: Approver | None, cancel: Cancel | None
) -> Generator[Event, None, object]:
    if isinstance(work, CallModel):
        return (yield from _complete(work, cancel))
    if isinstance(work, Approve):
        assert approve is not None
        verdict = approve(work.job.call)
        return run_async(verdict) if inspect.isawaitable(verdict) else verdict
    if isinstance(work, RunTools):
        tools.start(work.jobs)
        return tools.next()
    if isinstance(work, NextTool):
        return tools.next()
    if isinstance(work, AwaitSummary):
        return await_summary(work, check=lambda: check_cancel(cancel))
    _sleep(work.seconds, cancel)
    return None


def _complete(work: CallModel, cancel: Cancel | None) -> Generator[Event, None, object]:
    try:
        if work.accumulator is None:
            return _whole_reply(work, cancel)
        chunks = _chunks(work, cancel)
        try:
            for chunk in chunks:
                yield from fed(work.accumulator, chunk)
                check_cancel(cancel)
        finally:
            close_items(chunks)
    except ProviderError as error:
        check_cancel(cancel)
        return error
    return None


def _whole_reply(work: CallModel, cancel: Cancel | None) -> object:
    complete = partial(work.provider.complete, work.request, max_tokens=work.max_tokens, timeout=work.timeout)
    if cancel is None:
        return complete()
    return next(received(lambda: [complete()], cancel, on_late=work.on_late))


def _chunks(work: CallModel, cancel: Cancel | None) -> Iterable[object]:
    stream = partial(work.provider.stream, work.request, max_tokens=work.max_tokens, timeout=work.timeout)
    if cancel is None:
        return stream()
    return received(stream, cancel, on_left=partial(feed_left_chunk, work))


def feed_left_chunk(work: CallModel, chunk: object) -> None:
    """Feed a chunk that had arrived when the run stopped to the accumulator: it may have the usage of the request."""
    assert work.accumulator is not None
    with suppress(InvalidMessage):
        work.accumulator.feed(chunk)


def fed(accumulator: Accumulator, chunk: object) -> list[Event]:
    """Feed one chunk of a streamed reply to the accumulator; returns the events that it brings."""
    accumulator.feed(chunk)
    return [
        TextDelta(delta.text) if delta.kind == "text" else ReasoningDelta(delta.text)
        for delta in accumulator.take_deltas()
    ]


def _sleep(seconds: float, cancel: Cancel | None) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(left if cancel is None else min(TICK, left))
        check_cancel(cancel)


def received(
    receive: Callable[[], Iterable[T]],
    cancel: Cancel,
    *,
    on_left: Callable[[T], object] | None = None,
    on_late: Callable[[T], object] | None = None,
) -> Generator[T, None, None]:
    """Call `receive` in a thread, and yield the items that it gives, one by one; its errors are raised here. Raises
    RunStopped within `TICK` seconds after `cancel` was set, if no item comes.

    When that is raised, or the generator is closed, `on_left` is called with each item that has arrived and was not
    taken. The thread notices it with the next item, which it gives to `on_late`, or drops. Then it closes what
    `receive` returned. It is a daemon thread: it does not keep the process from ending.
    """
    arrived: queue.SimpleQueue[tuple[T] | BaseException | None] = (
        queue.SimpleQueue()
    )  # an item; an error; None: the end
    dropped = threading.Event()

    def work() -> None:
        try:
            items = receive()
            try:
                for item in items:
                    if dropped.is_set():
                        if on_late is not None:
                            on_late(item)
                        return
                    arrived.put((item,))
            finally:
                close_items(items)
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            arrived.put(error)
        else:
            arrived.put(None)

    threading.Thread(target=copy_context().run, args=(work,), name="transom reply", daemon=True).start()
    try:
        while True:
            try:
                found = arrived.get(timeout=TICK)
            except queue.Empty:
                check_cancel(cancel)
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        dropped.set()
        while on_left is not None and not arrived.empty():
            if isinstance(left := arrived.get(), tuple):
                on_left(left[0])


def close_items(items: Any) -> None:
    """Close an iterator that can be closed, as a provider's stream can."""
    if (close := getattr(items, "close", None)) is not None:
        close()
