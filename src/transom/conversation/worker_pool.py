"""A few threads that make summaries in the background, shared by all conversations of the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

R = TypeVar("R")

WORKERS = 4
"""Summaries that are made at the same time."""


class Ticket(Generic[R]):
    """A piece of work that was handed in. `done`: an event that is set when the work has ended. `result`: what it
    returned; None before that, and if it raised."""

    def __init__(self, work: Callable[[], R]) -> None:
        self.work = work
        self.is_wanted = True
        self.done = threading.Event()
        self.result: R | None = None

    def run(self) -> None:
        """Do the work, in whatever thread this is."""
        try:
            self.result = self.work()
        finally:
            self.done.set()


class Pool(Protocol):
    """Does work in the background: `WorkerPool`, or one of the caller's."""

    def submit(self, work: Callable[[], R]) -> Ticket[R]:
        """Hand in work, to be done when there is a thread for it. Returns its ticket at once."""
        ...

    def abandon(self, ticket: Ticket[R]) -> None:
        """Forget the work of this ticket: nobody waits for it any more. If it hangs, it must not keep other work
        waiting."""
        ...


class WorkerPool:
    """Does a few pieces of work at the same time, each in a daemon thread, which does not keep the process from ending.

    A thread whose work was abandoned may hang for ever, so it does not count any more.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self._free = threading.Semaphore(workers)
        self._lock = threading.Lock()
        self._counted: set[Ticket[Any]] = set()

    def submit(self, work: Callable[[], R]) -> Ticket[R]:
        """Begin the work in a thread as soon as fewer than `workers` are at work; return the ticket for its result."""
        ticket: Ticket[R] = Ticket(work)
        threading.Thread(target=self._work, args=(ticket,), name="transom summary", daemon=True).start()
        return ticket

    def abandon(self, ticket: Ticket[R]) -> None:
        """Give work up: it does not begin any more, or its thread does not count any more."""
        ticket.is_wanted = False
        self._leave(ticket)

    def _work(self, ticket: Ticket[Any]) -> None:
        self._free.acquire()
        with self._lock:
            self._counted.add(ticket)
        try:
            if ticket.is_wanted:
                ticket.run()
        finally:
            self._leave(ticket)

    def _leave(self, ticket: Ticket[Any]) -> None:
        with self._lock:
            if ticket in self._counted:
                self._counted.remove(ticket)
                self._free.release()


class InPlace:
    """A pool without threads: work is done when it is handed in. For replays, whose windows must be the same in each
    run."""

    def submit(self, work: Callable[[], R]) -> Ticket[R]:
        """Do the work; return its ticket, which is done."""
        ticket: Ticket[R] = Ticket(work)
        ticket.run()
        return ticket

    def abandon(self, ticket: Ticket[R]) -> None:
        """Nothing is at work."""


SHARED_POOL = WorkerPool()
"""The pool of all conversations that were given none."""
