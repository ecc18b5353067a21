"""A few threads that make summaries in the background, shared by all conversations of the process."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

R = TypeVar("R")
_logger = logging.getLogger(__name__)

WORKERS = 4
"""Summaries that are made at the same time."""


class Ticket(Generic[R]):
    """A piece of work that was handed in. `done`: an event that is set when the work has ended. `result`: what it
    returned; None before that, and if it raised."""

    def __init__(self, work: Callable[[], R]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: R | None = None

    def run(self) -> None:
        """Do the work in the calling thread. Raises what the work raises; `done` is set then too."""
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
    """A pool of daemon threads, which do not keep the process from ending. They start when there is work for them.
    `workers`: how many work at the same time. What a piece of work raises is logged with `logging`; its ticket is done
    then, without a result.

    A thread whose work was abandoned may hang for ever, so another one takes its place.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self._free = workers
        self._lock = threading.Lock()
        self._waiting: deque[Ticket[object]] = deque()
        self._running: set[Ticket[object]] = set()

    def submit(self, work: Callable[[], R]) -> Ticket[R]:
        """Queue the work; return the ticket on which its result will be."""
        ticket: Ticket[R] = Ticket(work)
        with self._lock:
            self._waiting.append(ticket)  # pyright: ignore[reportArgumentType] - only run, never read
            self._start()
        return ticket

    def abandon(self, ticket: Ticket[R]) -> None:
        """Remove work from the queue. If the work has begun, its thread no longer counts as one of the pool's, and
        another thread takes its place."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)  # pyright: ignore[reportArgumentType]
            elif ticket in self._running:
                self._running.remove(ticket)  # pyright: ignore[reportArgumentType]
                self._free += 1
                self._start()

    def _start(self) -> None:
        """Start threads for waiting work, as many as are free. The lock is held."""
        while self._free and self._waiting:
            self._free -= 1
            first = self._waiting.popleft()
            self._running.add(first)
            threading.Thread(target=self._work, args=(first,), name="transom summary", daemon=True).start()

    def _work(self, ticket: Ticket[object]) -> None:
        while True:
            try:
                ticket.run()
            except BaseException:
                _logger.exception("work in the background failed")
            with self._lock:
                abandoned = ticket not in self._running
                self._running.discard(ticket)
                following = None
                if not abandoned:
                    if self._waiting:
                        following = self._waiting.popleft()
                        self._running.add(following)
                    else:
                        self._free += 1
            if following is None:
                return
            ticket = following


class InPlace:
    """A pool without threads: work is done when it is handed in. For replays, whose windows must be the same in each
    run."""

    def submit(self, work: Callable[[], R]) -> Ticket[R]:
        """Do the work before returning its ticket, which is done. Raises what the work raises."""
        ticket: Ticket[R] = Ticket(work)
        ticket.run()
        return ticket

    def abandon(self, ticket: Ticket[R]) -> None:
        """Does nothing: the work of every ticket is done already."""


SHARED_POOL = WorkerPool()
"""The pool of all conversations that were given none."""
