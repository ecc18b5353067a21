"""The worker threads in which an event loop runs what plans and logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from anyio import CancelScope, CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

R = TypeVar("R")

AT_ONCE = 2
"""Threads at work at the same time, for each event loop.

A plan is CPU work under Python's interpreter lock, so more threads make nothing faster. But the loop itself waits for
the lock behind every thread that is at work, 5 ms each: with many of them it would be blocked.
"""

_limiter: RunVar[CapacityLimiter] = RunVar("transom_threads")


async def in_thread(call: Callable[[], R]) -> R:
    """Call it in a worker thread. It is never abandoned: what it logs is logged before a cancellation is noticed."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = CapacityLimiter(AT_ONCE)
        _limiter.set(limiter)
    with CancelScope(shield=True):
        return await to_thread.run_sync(call, limiter=limiter)
    raise AssertionError("nobody cancels this scope")
