"""Drives a run on an event loop (asyncio or trio, through anyio): does its steps in worker threads, and waits on the
loop. The driver for a thread is in `sync_driver.py`."""

from __future__ import annotations

import asyncio
import inspect
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, TypeVar, cast

import anyio
from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class, to_thread

from transom.conversation.event_loop_threads import in_thread, is_asyncio
from transom.conversation.events import Event, RequestFailed
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
    Sleep,
    ToolJob,
    ToolOutcome,
    Work,
    cancelled,
    check_cancel,
)
from transom.conversation.runs.sync_driver import as_outcome, check_after, fed, feed_left_chunk, out_of_time, timed
from transom.conversation.summary_job import SummaryOutcome, run_job_async
from transom.errors import ProviderError

Batch = tuple[list[Event], Work | None]
"""Events, and the work that the run waits for after them. Without work the run is over, or a request has failed and the
caller may cancel before the next one. They come together because each hop to a worker thread and back costs about as
much as a plan."""

R = TypeVar("R")
_END = object()


async def drive_async(
    begin: Callable[[], RunSteps], *, approve: Approver | None = None, cancel: Cancel | None = None
) -> AsyncGenerator[Event, None]:
    """Drive a run on an event loop; `begin` and its steps run in worker threads, one at a time. The last event,
    `Finished`, has the result. `approve`, `cancel`: as for `drive`. Whoever stops before that event must close the
    generator (`aclose`), so that the run closes what is open in the log.

    The results of parallel tools are logged one by one as they come; their events come when all are done.
    """
    driver = AsyncSteps(approve, cancel)
    try:
        happened, work = await driver.first(begin)
        while True:
            outcome: object = None
            try:
                for event in happened:
                    yield event
                    check_after(event, cancel)
                if driver.is_over:
                    return
                if isinstance(work, RunTools):
                    happened, work = await driver.run_tools(work)
                    continue
                if isinstance(work, CallModel) and work.accumulator is not None:
                    async with aclosing(driver.streamed(work)) as events:
                        async for event in events:
                            yield event
                    outcome = driver.error
                elif work is not None:
                    outcome = await driver.perform(work)
            except GeneratorExit:  # the caller closes the stream; asyncio cannot carry this out of a worker thread
                await driver.close()
                raise
            except BaseException as reason:  # noqa: BLE001 - as above
                happened, work = await driver.throw(reason)
            else:
                happened, work = await driver.send(outcome)
    finally:
        await driver.close()


class AsyncSteps:
    """Drives one run on an event loop: each step of the run is done in a worker thread, one at a time. Several methods
    return a `Batch`: the events that came, and the work that the run waits for after them. The work is None if the run
    is over (`is_over`), or if a request has failed: then `send` None to go on.

    A step that has begun is never abandoned. If the caller cancels meanwhile, the step still writes to the log what it
    has to write, and the run stops after it.
    """

    def __init__(self, approve: Approver | None, cancel: Cancel | None) -> None:
        self._steps: RunSteps | None = None
        self._approve, self._cancel = approve, cancel
        self._tool_threads = CapacityLimiter(math.inf)
        self.error: ProviderError | None = None
        self.is_over = False
        self._log_late: Callable[[], object] | None = None
        """Logs a reply that came at the moment at which the run was stopped."""

    async def first(self, begin: Callable[[], RunSteps]) -> Batch:
        """Start the run, and return what it yields first.

        Both are done in one call that is not cancelled: `begin` may import an SDK for seconds, and a cancellation
        meanwhile must not lose the input, which the first step logs.
        """
        return await in_thread(partial(self._begin, begin))

    def _begin(self, begin: Callable[[], RunSteps]) -> Batch:
        self._steps = begin()
        return self._advance(self._steps.send, None)

    async def send(self, outcome: object) -> Batch:
        """Send the outcome of a piece of work into the run; return what it yields next."""
        assert self._steps is not None
        return await in_thread(partial(self._advance, self._steps.send, outcome))

    async def throw(self, reason: BaseException) -> Batch:
        """Throw the reason to stop into the run; return what it yields next. When the run has closed what is open, it
        raises the reason again, here or from a later `send`."""
        assert self._steps is not None
        try:
            return await in_thread(partial(self._advance, self._steps.throw, reason))
        finally:
            if self._log_late is not None:
                await in_thread(self._log_late)

    async def close(self) -> None:
        """Close the generator of a run that is not over: the run logs what is true of its open request or calls."""
        if self._steps is not None and not self.is_over:
            await in_thread(self._steps.close)

    def _advance(self, step: Callable[[Any], Work | Event], value: object) -> Batch:
        """Do steps until the run waits for work, a request has failed, or the run is over."""
        assert self._steps is not None
        happened: list[Event] = []
        self.is_over = True
        with suppress(StopIteration):  # a StopIteration cannot leave a thread
            item = step(value)
            while not isinstance(item, Work):
                happened.append(item)
                if isinstance(item, RequestFailed):  # its reader may cancel before the next request is logged
                    break
                item = self._steps.send(None)
            self.is_over = False
            return happened, item if isinstance(item, Work) else None
        return happened, None

    async def _wait(self, work: Callable[[], Awaitable[R]], on_lost: Callable[[R], object] | None = None) -> R:
        """Wait for the work. Once `cancel` is set, the work is cancelled. Raises RunStopped then.

        `on_lost`: called with the result of the work if the task is cancelled just when the work is done.
        """
        check_cancel(self._cancel)
        if self._cancel is None:
            return await work()
        done: list[R] = []
        failed: Exception | None = None
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(_cancel_when_set, self._cancel, group.cancel_scope)
                try:
                    done.append(await work())
                except Exception as error:  # noqa: BLE001 - raised below, outside of the group, which would wrap it
                    failed = error
                group.cancel_scope.cancel()
        except BaseException:
            if done and on_lost is not None:
                on_lost(done[0])
            raise
        if done:
            return done[0]
        if failed is None or self._cancel.is_set():
            raise cancelled() from failed
        raise failed

    # ---- work

    async def perform(self, work: Any) -> object:
        """Do a piece of work, other than to stream or to run tools, and return its outcome. A ProviderError is
        returned, not raised. Raises RunStopped once `cancel` is set."""
        return await self._wait(partial(self._perform, work), partial(self._keep_late, work))

    def _keep_late(self, work: Any, outcome: object) -> None:
        if isinstance(work, CallModel) and work.on_late is not None:
            self._log_late = partial(work.on_late, outcome)

    async def _perform(self, work: Any) -> object:
        if isinstance(work, CallModel):
            try:
                return await work.provider.acomplete(work.request, max_tokens=work.max_tokens, timeout=work.timeout)
            except ProviderError as error:
                check_cancel(self._cancel)
                return error
        if isinstance(work, Approve):
            assert self._approve is not None
            verdict = self._approve(work.job.call)
            return await verdict if inspect.isawaitable(verdict) else verdict
        if isinstance(work, AwaitSummary):
            return await await_summary_async(work)
        assert isinstance(work, Sleep)
        await anyio.sleep(work.seconds)
        return None

    async def streamed(self, work: CallModel) -> AsyncGenerator[Event, None]:
        """Yield the events of a streamed reply. If the reply breaks off, `error` has the ProviderError afterwards; else
        None."""
        assert work.accumulator is not None
        self.error = None
        check_cancel(self._cancel)
        try:
            chunks = work.provider.astream(work.request, max_tokens=work.max_tokens, timeout=work.timeout)
            try:
                arriving = aiter(chunks)
                next_chunk, feed_left = partial(anext, arriving, _END), partial(feed_left_chunk, work)
                while (chunk := await self._wait(next_chunk, feed_left)) is not _END:
                    for event in fed(work.accumulator, chunk):
                        yield event
                    check_cancel(self._cancel)
            finally:
                if (close := getattr(chunks, "aclose", None)) is not None:
                    with CancelScope(shield=True):
                        await close()
        except ProviderError as error:
            check_cancel(self._cancel)
            self.error = error

    async def run_tools(self, work: RunTools) -> Batch:
        """Run these calls at the same time, and send each result into the run as it comes. Returns the events on the
        way, and the next work."""
        happened: list[Event] = []
        following: Work | None = None
        failed: BaseException | None = None
        send, receive = anyio.create_memory_object_stream[ToolJob](len(work.jobs))
        with send, receive:
            async with anyio.create_task_group() as group:
                for job in work.jobs:
                    group.start_soon(self._run_job, job, send)
                try:
                    for _ in work.jobs:
                        events, following = await self.send(await self._wait(receive.receive))
                        happened += events
                except Exception as error:  # noqa: BLE001 - raised below, outside of the group, which would wrap it
                    failed = error
                    group.cancel_scope.cancel()
        if failed is not None:
            raise failed
        return happened, following

    async def _run_job(self, job: ToolJob, send: Any) -> None:
        start = time.monotonic()
        job.started = True
        with anyio.move_on_after(job.timeout):
            await self._call(job, start)
        job.give_up(out_of_time(job))
        await send.send(job)

    async def _call(self, job: ToolJob, start: float) -> None:
        """Run a call and finish its job; a thread does so itself, since whoever waits for it may be gone by then."""
        assert job.tool is not None
        function = job.tool.function
        CURRENT_JOB.set(job)
        try:
            if inspect.iscoroutinefunction(function):
                value = await function(**job.arguments)
            else:
                value = await to_thread.run_sync(
                    partial(_finish_in_thread, job, start), abandon_on_cancel=True, limiter=self._tool_threads
                )
                if value is None:
                    return
                value = await value
            outcome = as_outcome(value)
        except BaseException as error:
            if _is_from_outside(error):
                raise
            outcome = ToolOutcome(content=error_text(error), failed=True)
        job.finish(timed(outcome, start))


def _is_from_outside(error: BaseException) -> bool:
    """Whether an error that left an async tool comes from who cancels the task, closes it or stops the program. All
    others are the tool's own, and the model reads them as a result: also the `CancelledError` of a task for which the
    tool waited and which somebody else has cancelled. On trio nobody but the scope raises `Cancelled`."""
    if _holds(error, get_cancelled_exc_class()):
        task = asyncio.current_task() if is_asyncio() else None
        return task is None or task.cancelling() > 0
    return _holds(error, (KeyboardInterrupt, GeneratorExit))


def _holds(error: BaseException, kind: type[BaseException] | tuple[type[BaseException], ...]) -> bool:
    """Whether the error is of a kind, or a group with such an error in it."""
    if isinstance(error, BaseExceptionGroup):
        return any(_holds(each, kind) for each in cast("BaseExceptionGroup[BaseException]", error).exceptions)
    return isinstance(error, kind)


def _finish_in_thread(job: ToolJob, start: float) -> Awaitable[object] | None:
    """Call a sync tool in this thread and finish its job."""
    assert job.tool is not None
    try:
        value = job.tool.function(**job.arguments)
        if inspect.isawaitable(value):
            return value
        outcome = as_outcome(value)
    except BaseException as error:  # noqa: BLE001 - whatever a tool does; Ctrl-C reaches only the main thread
        outcome = ToolOutcome(content=error_text(error), failed=True)
    job.finish(timed(outcome, start))
    return None


async def _cancel_when_set(cancel: Cancel, scope: CancelScope) -> None:
    while not cancel.is_set():  # noqa: ASYNC110 - nobody wakes this loop when another thread sets the event
        await anyio.sleep(TICK)
    scope.cancel()


async def await_summary_async(work: AwaitSummary) -> SummaryOutcome:
    """Make a summary on an event loop, and return the outcome; after the deadline it has an error. A cancellation
    passes."""
    with anyio.move_on_after(work.deadline):
        return await run_job_async(work.job)
    return work.job.failed(f"no answer within {work.deadline:g} seconds")
