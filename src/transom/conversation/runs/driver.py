"""Drives a run in this thread: does its work. The driver for an event loop is in `async_driver.py`.

A driver takes the next event or piece of work from the run, passes events on, does the work, and sends the outcome
back. When it must stop (an exception at its own place, a cancelled task, an abandoned iterator, a set
`cancel`), it throws the reason into the run, which closes what is open in the log. A driver decides nothing.
"""

from __future__ import annotations

import inspect
import queue
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from transom.conversation.events import Event, ReasoningDelta, RequestFailed, RunResult, TextDelta
from transom.conversation.function_tool import error_text
from transom.conversation.model_calls.reply_thread import close_items, received
from transom.conversation.runs.agent_loop import Approver, RunSteps
from transom.conversation.runs.work import (
    CURRENT_JOB,
    Approve,
    AwaitSummary,
    CallModel,
    NextTool,
    RunTools,
    ToolJob,
    ToolOutcome,
    Work,
)
from transom.conversation.summary_job import await_summary
from transom.errors import InvalidMessage, ProviderError, RunStopped
from transom.texts import tool_timed_out

if TYPE_CHECKING:
    from transom.wire.stream import Accumulator

TICK = 0.1
"""Seconds between two looks at `cancel` while a driver waits."""


class Cancel(Protocol):
    """A threading.Event, or anything like it."""

    def is_set(self) -> bool:
        """Whether the run must stop."""
        ...


def drive(
    steps: RunSteps, *, approve: Approver | None = None, cancel: Cancel | None = None
) -> Generator[Event, None, RunResult]:
    """Drive a run in the calling thread. Tools run in threads of their own."""
    tools = _ToolThreads(cancel)
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
    """Run to the end; what the run gives."""
    while True:
        try:
            next(events)
        except StopIteration as done:
            return done.value


def check_cancel(cancel: Cancel | None) -> None:
    """Raises RunStopped if `cancel` is set."""
    if cancel is not None and cancel.is_set():
        raise cancelled()


def cancelled() -> RunStopped:
    """What a run raises once `cancel` is set."""
    return RunStopped("cancelled", "the run was cancelled")


def check_after(event: Event, cancel: Cancel | None) -> None:
    """Raises RunStopped if `cancel` was set while somebody looked at a failure: the request is not sent again."""
    if isinstance(event, RequestFailed):
        check_cancel(cancel)


def _perform(
    work: Work, tools: _ToolThreads, approve: Approver | None, cancel: Cancel | None
) -> Generator[Event, None, object]:
    if isinstance(work, CallModel):
        return (yield from _complete(work, cancel))
    if isinstance(work, Approve):
        assert approve is not None
        verdict = approve(work.job.call)
        return _run_async(verdict) if inspect.isawaitable(verdict) else verdict
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
    return next(received(lambda: [complete()], lambda: check_cancel(cancel), TICK, on_late=work.on_late))


def _chunks(work: CallModel, cancel: Cancel | None) -> Iterable[object]:
    stream = partial(work.provider.stream, work.request, max_tokens=work.max_tokens, timeout=work.timeout)
    if cancel is None:
        return stream()
    return received(stream, lambda: check_cancel(cancel), TICK, on_left=partial(feed_left_chunk, work))


def feed_left_chunk(work: CallModel, chunk: object) -> None:
    """Take a chunk that had arrived when the run stopped: it may say what the request took."""
    assert work.accumulator is not None
    with suppress(InvalidMessage):
        work.accumulator.feed(chunk)


def fed(accumulator: Accumulator, chunk: object) -> list[Event]:
    """The events that one more chunk brings."""
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


class _ToolThreads:
    """Each call in a daemon thread of its own: a tool that hangs delays neither the run nor the end of the process."""

    def __init__(self, cancel: Cancel | None) -> None:
        self._cancel = cancel
        self._done: queue.SimpleQueue[ToolJob] = queue.SimpleQueue()
        self._waiting: list[tuple[float, ToolJob]] = []
        """The jobs that are not done, each with its deadline."""

    def start(self, jobs: tuple[ToolJob, ...]) -> None:
        now = time.monotonic()
        self._done = queue.SimpleQueue()
        self._waiting = [(now + (job.timeout if job.timeout is not None else float("inf")), job) for job in jobs]
        for job in jobs:
            job.started = True
            context = copy_context()
            thread = threading.Thread(
                target=context.run, args=(self._run, job, self._done), name=f"tool {job.call.name}", daemon=True
            )
            thread.start()

    @staticmethod
    def _run(job: ToolJob, done: queue.SimpleQueue[ToolJob]) -> None:
        start = time.monotonic()
        if job.finish(timed(call_tool(job), start)):
            done.put(job)

    def next(self) -> ToolJob:
        """The next job that is done, or out of time."""
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
    """Run a call where it is; an async tool in an event loop of its own. Never raises."""
    assert job.tool is not None
    CURRENT_JOB.set(job)
    try:
        value = job.tool.function(**job.arguments)
        return as_outcome(_run_async(value) if inspect.isawaitable(value) else value)
    except BaseException as error:  # noqa: BLE001 - whatever a tool does, the model reads it as a result
        return ToolOutcome(content=error_text(error), failed=True)


def as_outcome(value: object) -> ToolOutcome:
    """What a tool returned, as an outcome; a sub-agent returns one."""
    return value if isinstance(value, ToolOutcome) else ToolOutcome(content=value)


def timed(outcome: ToolOutcome, start: float) -> ToolOutcome:
    """The outcome with how long it took."""
    return replace(outcome, duration=round(time.monotonic() - start, 6))


def out_of_time(job: ToolJob) -> ToolOutcome:
    """What becomes of a call that took too long."""
    return ToolOutcome(content=tool_timed_out(job.timeout or 0), failed=True, duration=job.timeout, given_up=True)


def _run_async(value: Any) -> Any:
    import asyncio  # noqa: PLC0415 - only for async tools under the sync driver

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())
