"""Drives a run in this thread: does its work. The driver for an event loop is in `async_driver.py`.

A driver takes the next event or piece of work from the run, passes events on, does the work, and sends the outcome
back. When it must stop (an exception at its own place, a cancelled task, an abandoned iterator, a set `cancel`), it
throws the reason into the run, which closes what is open in the log. A driver decides nothing. Tools run in threads of
their own (`ToolThreads`).
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

from msgspec.structs import replace

from transom.conversation.events import Event, ReasoningDelta, RequestFailed, RunResult, TextDelta
from transom.conversation.function_tool import error_text
from transom.conversation.runnable import Approver
from transom.conversation.runs.agent_loop import RunSteps
from transom.conversation.runs.awaited_work import (
    CURRENT_JOB,
    TICK,
    Approve,
    AwaitSummary,
    CallModel,
    Cancel,
    RunTools,
    ToolJob,
    ToolOutcome,
    Work,
    check_cancel,
)
from transom.conversation.summary_job import await_summary
from transom.errors import InvalidMessage, ProviderError
from transom.texts import tool_timed_out
from transom.wire.stream import Accumulator

T = TypeVar("T")


def drive(
    steps: RunSteps, *, approve: Approver | None = None, cancel: Cancel | None = None
) -> Generator[Event, None, RunResult]:
    """Drive a run in the calling thread: yields its events, returns its result, and raises what the run raises. Tools
    run in threads of their own.

    `approve`: the `RunOptions.approve` of the run, asked about each call for which the run asks; None only if the run
    has none. `cancel`: once it is set, the run is stopped with RunStopped. Whatever stops the driver is thrown into the
    run first, so that the log is valid.
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
    if isinstance(work, AwaitSummary):
        return await_summary(work, check=lambda: check_cancel(cancel))
    _sleep(work.seconds, cancel)
    return None


def _complete(work: CallModel, cancel: Cancel | None) -> Generator[Event, None, object]:
    provider, arguments = work.provider, {"max_tokens": work.max_tokens, "timeout": work.timeout}
    try:
        if work.accumulator is None:
            complete = partial(provider.complete, work.request, **arguments)
            return complete() if cancel is None else next(received(lambda: [complete()], cancel, on_late=work.on_late))
        stream = partial(provider.stream, work.request, **arguments)
        chunks = stream() if cancel is None else received(stream, cancel, on_left=partial(feed_left_chunk, work))
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


def feed_left_chunk(work: CallModel, chunk: object) -> None:
    """Feed a chunk that had arrived when the run stopped to the accumulator: it may have the usage of the request. A
    chunk that cannot be read is ignored."""
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


# ---- tools


class ToolThreads:
    """Runs the calls of a run, each in a daemon thread of its own: a tool that hangs delays neither the run nor the end
    of the process."""

    def __init__(self, cancel: Cancel | None) -> None:
        self._cancel = cancel
        self._done: queue.SimpleQueue[ToolJob] = queue.SimpleQueue()
        self._waiting: list[tuple[float, ToolJob]] = []
        """The jobs that are not done, each with its deadline."""

    def start(self, jobs: tuple[ToolJob, ...]) -> None:
        """Start these calls, all at once. The time of each runs from now on."""
        now = time.monotonic()
        self._waiting += [(now + (job.timeout if job.timeout is not None else float("inf")), job) for job in jobs]
        for job in jobs:
            job.started = True
            run, name = copy_context().run, f"tool {job.call.name}"
            threading.Thread(target=run, args=(self._run, job), name=name, daemon=True).start()

    def _run(self, job: ToolJob) -> None:
        start = time.monotonic()
        if job.finish(timed(call_tool(job), start)):
            self._done.put(job)

    def next(self) -> ToolJob:
        """Wait for the next job that is done, or whose time is over, and return it; each job is returned once. Must be
        called only while a started job has not been returned. Raises RunStopped if `cancel` is set meanwhile."""
        while True:
            check_cancel(self._cancel)
            deadline, late = min(self._waiting, key=lambda each: each[0])
            left = deadline - time.monotonic()
            wait = left if self._cancel is None else min(left, TICK)
            try:
                job = self._done.get(timeout=None if wait == float("inf") else max(0.0, wait))
            except queue.Empty:
                if time.monotonic() < deadline:
                    continue
                job = late
                job.give_up(out_of_time(job))
            if any(each is job for _, each in self._waiting):
                self._waiting = [(at, each) for at, each in self._waiting if each is not job]
                return job


def call_tool(job: ToolJob) -> ToolOutcome:
    """Run a call in this thread, an async tool in an event loop of its own, and return its outcome, without a duration
    (`timed` adds it). The job is not finished here. Never raises: an exception becomes a failed outcome."""
    assert job.tool is not None
    CURRENT_JOB.set(job)
    try:
        value = job.tool.function(**job.arguments)
        return as_outcome(run_async(value) if inspect.isawaitable(value) else value)
    except BaseException as error:  # noqa: BLE001 - whatever a tool does, the model reads it as a result
        return ToolOutcome(content=error_text(error), failed=True)


def as_outcome(value: object) -> ToolOutcome:
    """What a tool returned, as an outcome. A `ToolOutcome`, which a sub-agent returns, stays as it is."""
    return value if isinstance(value, ToolOutcome) else ToolOutcome(content=value)


def timed(outcome: ToolOutcome, start: float) -> ToolOutcome:
    """The outcome with the seconds since `start`, which is a time of `time.monotonic`."""
    return replace(outcome, duration=round(time.monotonic() - start, 6))


def out_of_time(job: ToolJob) -> ToolOutcome:
    """The outcome of a call that took longer than its `timeout`: failed and given up, with that time as its
    duration."""
    return ToolOutcome(content=tool_timed_out(job.timeout or 0), failed=True, duration=job.timeout, given_up=True)


def run_async(value: Any) -> Any:
    """Wait for an awaitable in a new asyncio event loop, and return its result. What it raises passes through. The loop
    runs in this thread, or in another one if a loop runs in this one already, as in a notebook. Ctrl-C cancels the
    awaitable."""
    import asyncio  # noqa: PLC0415 - only for async functions under the sync driver
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - as above

    started: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()

    async def wait() -> Any:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        started.put(lambda: loop.call_soon_threadsafe(task.cancel))
        return await value

    is_in_loop = False
    with suppress(RuntimeError):  # without a running loop; what the function raises shall not name this error
        asyncio.get_running_loop()
        is_in_loop = True
    if not is_in_loop:
        return asyncio.run(wait())
    with ThreadPoolExecutor(1) as thread:
        result = thread.submit(copy_context().run, asyncio.run, wait())
        try:
            return result.result()
        except BaseException:
            if not result.done():  # Ctrl-C: the executor would wait for the end of the awaitable
                with suppress(RuntimeError, queue.Empty):  # the loop has ended meanwhile, or never begun
                    started.get(timeout=1)()
            raise
