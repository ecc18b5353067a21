"""The threads in which a run's tools run, and what becomes of a call: its result, an error, or too late."""

from __future__ import annotations

import inspect
import queue
import threading
import time
from contextvars import copy_context
from typing import Any

from msgspec.structs import replace

from transom.conversation.function_tool import error_text
from transom.conversation.runs.awaited_work import CURRENT_JOB, TICK, Cancel, ToolJob, ToolOutcome, check_cancel
from transom.texts import tool_timed_out


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
        """Wait for the next job that is done, or whose time is over, and return it. Raises RunStopped if `cancel` is
        set meanwhile."""
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
    """Run a call in this thread, an async tool in an event loop of its own. Never raises: an exception becomes a failed
    outcome."""
    assert job.tool is not None
    CURRENT_JOB.set(job)
    try:
        value = job.tool.function(**job.arguments)
        return as_outcome(run_async(value) if inspect.isawaitable(value) else value)
    except BaseException as error:  # noqa: BLE001 - whatever a tool does, the model reads it as a result
        return ToolOutcome(content=error_text(error), failed=True)


def as_outcome(value: object) -> ToolOutcome:
    """What a tool returned, as an outcome; a sub-agent returns one."""
    return value if isinstance(value, ToolOutcome) else ToolOutcome(content=value)


def timed(outcome: ToolOutcome, start: float) -> ToolOutcome:
    """The outcome with the seconds since `start`, which is a time of `time.monotonic`."""
    return replace(outcome, duration=round(time.monotonic() - start, 6))


def out_of_time(job: ToolJob) -> ToolOutcome:
    """The outcome of a call that took too long."""
    return ToolOutcome(content=tool_timed_out(job.timeout or 0), failed=True, duration=job.timeout, given_up=True)


def run_async(value: Any) -> Any:
    """Wait for an awaitable in an event loop of its own, and return its result."""
    import asyncio  # noqa: PLC0415 - only for async tools under the sync driver

    async def wait() -> Any:
        return await value

    return asyncio.run(wait())
