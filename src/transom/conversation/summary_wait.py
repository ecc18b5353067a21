"""Waiting for a summary in the caller's thread. On an event loop: `async_pump.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from transom.conversation.effects import AwaitSummary, SummarySteps
from transom.conversation.summary_job import SummaryOutcome, run_job

R = TypeVar("R")


def await_summary(want: AwaitSummary, *, check: Callable[[], None] = lambda: None, tick: float = 0.1) -> SummaryOutcome:
    """Make a summary in a thread of the pool, and wait for it until its deadline. After that the outcome is an error.

    One that only our own code makes is made in this thread. `check` is called every `tick` seconds; if it raises, the
    work is given up.
    """
    job = want.job
    if job.needs_no_model:
        return run_job(job)
    ticket = want.pool.submit(lambda: run_job(job))
    left = want.deadline
    try:
        while left > 0:
            check()
            if ticket.done.wait(min(tick, left)):
                return ticket.result or job.failed("its work broke off")
            left -= tick
    finally:
        if not ticket.done.is_set():
            want.pool.abandon(ticket)
    return job.failed(f"no answer within {want.deadline:g} seconds")


def run_steps(steps: SummarySteps[R]) -> R:
    """Do what the steps of a request or a compaction want, in this thread; what they return."""
    try:
        want = next(steps)
        while True:
            want = steps.send(await_summary(want))
    except StopIteration as done:
        return done.value
