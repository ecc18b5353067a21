"""Calls functions in worker threads, so that planning and logging do not block an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

R = TypeVar("R")

THREADS_AT_ONCE = 2
"""Threads at work at the same time, for each event loop.

A plan is CPU work under Python's interpreter lock, so more threads make nothing faster. But the loop itself waits for
the lock behind every thread that is at work, 5 ms each: with many of them it would be blocked.
"""

_limiter: RunVar[CapacityLimiter] = RunVar("transom_threads")


async def in_thread(call: Callable[[], R]) -> R:
    """Call a function in a worker thread, and return its result or raise its error. On each event loop two calls at
    most are at work (`THREADS_AT_ONCE`); the others wait for their turn.

    A call that has begun is never abandoned: if the task is cancelled meanwhile, the cancellation waits until the
    function has returned, so that everything it logs is logged. That holds for a cancelled scope of anyio or trio, and
    for the `Task.cancel` of asyncio, which knows no shield.
    """
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = CapacityLimiter(THREADS_AT_ONCE)
        _limiter.set(limiter)
    with CancelScope(shield=True):
        work = to_thread.run_sync(call, limiter=limiter)
        return await (_to_its_end(asyncio.ensure_future(work)) if is_asyncio() else work)
    raise AssertionError("nobody cancels this scope")


def is_asyncio() -> bool:
    """Whether the code runs on a loop of asyncio."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _to_its_end(work: asyncio.Task[R]) -> R:
    """Wait until the work is done, and return its result. A cancellation is raised later, at the next wait."""
    stopped: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError as reason:
            stopped = reason
    task = asyncio.current_task()
    if stopped is not None and task is not None:
        task.uncancel()  # counted once, as `asyncio.timeout` expects
        task.cancel(*stopped.args)
    return work.result()
