"""Who may use a conversation now: one thread at a time, one run at a time in any process, and nobody once it is closed.

A run, or a block of `Conversation.lease`, holds the conversation's lease until its end, and renews it meanwhile. In
one's own loop, `request` takes it, and the reply without calls gives it back; it is not renewed in between, because
nobody can see whether such a loop still goes on. A store without leases lets everybody run; then only this object is
protected.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from weakref import WeakSet

from transom.clock import Clock
from transom.errors import ConversationBusy, InvalidSetting, TransomError
from transom.stores import StoredLog
from transom.stores.leases import LEASE_SECONDS, describe_holder, is_gone, leased, new_holder

RENEWED_AFTER = LEASE_SECONDS / 3
"""Seconds after which a lease is renewed."""

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.2
"""Seconds between two looks at a lease that somebody else has: the pause doubles."""


class Lease:
    """Takes the lease of a conversation for one object that has opened it, renews it and gives it back. The lease keeps
    other objects and processes out, not other threads that use the same object.

    `clock`: gives the time in seconds. In a store without leases all methods do nothing, and `is_taken` is false. Any
    thread may use it.
    """

    def __init__(self, log: StoredLog, clock: Clock) -> None:
        self._log, self.name, self._clock = leased(log), log.name, clock
        self._holder = new_holder()
        self._lock = threading.Lock()
        self._taken_at: float | None = None
        self._blocks = 0

    @property
    def is_taken(self) -> bool:
        """Whether this object has taken the lease, and not given it back or lost it."""
        return self._taken_at is not None

    def take(self) -> None:
        """Take the lease, or renew it if it is due. Raises ConversationBusy if somebody else has it."""
        if self._log is None:
            return
        with self._lock:
            now = self._clock()
            if self._taken_at is None or not 0 <= now - self._taken_at < RENEWED_AFTER:
                self._renew(now)

    def check(self) -> None:
        """Raise ConversationBusy if somebody else has the lease. A lease that this call had to take is given back."""
        was_taken = self.is_taken
        self.take()
        if not was_taken:
            self.release()

    def renew(self) -> None:
        """Renew the lease if a block holds it; the thread that renews all leases calls this. Errors are ignored: if
        somebody else has the lease by now, the next `take` raises ConversationBusy."""
        with self._lock, suppress(TransomError):
            if self._blocks:
                self._renew(self._clock())

    def _renew(self, now: float) -> None:
        assert self._log is not None
        found = self._log.take_lease(self._holder, LEASE_SECONDS)
        if found != self._holder and is_gone(found):
            self._log.release_lease(found)
            found = self._log.take_lease(self._holder, LEASE_SECONDS)
        if found != self._holder:
            self._taken_at = None
            raise ConversationBusy(self.name, describe_holder(found))
        self._taken_at = now

    @contextmanager
    def hold(self) -> Generator[None]:
        """Hold the lease during the block, and renew it meanwhile. Blocks may be nested: the end of the last one gives
        the lease back. Raises ConversationBusy if somebody else has it."""
        self.take()
        with self._lock:
            self._blocks += 1
        if self._log is not None:
            _heartbeat.add(self)
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
            self.release()

    def release(self) -> None:
        """Give the lease back, unless a block of `hold` is still entered. An error of the store is ignored: the lease
        ends by itself."""
        with self._lock:
            if self._blocks or self._taken_at is None or self._log is None:
                return
            self._taken_at = None
            with suppress(TransomError):
                self._log.release_lease(self._holder)

    def release_later(self) -> None:
        """Give the lease back soon, in another thread. This takes no lock, because the garbage collector may call it in
        the middle of anything."""
        if self.is_taken:
            _heartbeat.dropped.put(self)


def until_free(take: Callable[[], object], wait: float) -> Generator[float]:
    """Call `take` until it does not raise ConversationBusy. Before each further call, yields the seconds for which the
    caller must pause. When the pauses add up to `wait` seconds, the next ConversationBusy passes."""
    left = pauses(wait)
    while True:
        try:
            take()
        except ConversationBusy:
            if (pause := next(left, None)) is None:
                raise
        else:
            return
        yield pause


def pauses(wait: float) -> Generator[float]:
    """The pauses between two tries to take a lease, in seconds. They double up to LONGEST_PAUSE, and add up to `wait`
    seconds."""
    pause = FIRST_PAUSE
    while wait > 0:
        yield min(pause, wait)
        wait, pause = wait - pause, min(2 * pause, LONGEST_PAUSE)


class _Heartbeat:
    """One thread of this process, which renews all leases that are held."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._leases: WeakSet[Lease] = WeakSet()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.dropped: queue.SimpleQueue[Lease] = queue.SimpleQueue()

    def add(self, lease: Lease) -> None:
        with self._lock:
            self._leases.add(lease)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="transom leases", daemon=True)
                self._thread.start()

    def _beat(self) -> None:
        while True:
            try:
                self.dropped.get(timeout=RENEWED_AFTER).release()
            except queue.Empty:
                self.renew_all()

    def renew_all(self) -> None:
        """Renew every lease that is held."""
        with self._lock:
            leases = [*self._leases]
        for lease in leases:
            lease.renew()


_heartbeat = _Heartbeat()


class Guard:
    """Guards one conversation object: its lock, its lease, whether it is closed, and whether a run of it is at work."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.lock = threading.RLock()
        self.is_closed = False
        self.is_running = False

    def must_be_open(self) -> None:
        """Raise InvalidSetting if the conversation is closed."""
        if self.is_closed:
            raise InvalidSetting("the conversation is closed")

    def must_not_run(self, why: str) -> None:
        """Raise InvalidSetting if a run of this object is at work. `why`: the text of the error."""
        if self.is_running:
            raise InvalidSetting(why)

    def hold_lease(self, stack: ExitStack) -> None:
        """Hold the lease until the end of the stack. Raises InvalidSetting if the conversation is closed,
        ConversationBusy if somebody else has the lease."""
        self.must_be_open()
        stack.enter_context(self.lease.hold())

    @contextmanager
    def run(self) -> Generator[None]:
        """A context manager for a run: only one run at a time, in all processes that have opened the conversation. It
        holds the lease. Raises InvalidSetting if the conversation is closed; ConversationBusy if another run of this
        object is at work, or if somebody else has the lease."""
        with self.lock:
            self.must_be_open()
            if self.is_running:
                raise ConversationBusy(self.lease.name, "another run of this object")
            self.is_running = True
        try:
            with self.lease.hold():
                yield
        finally:
            self.is_running = False
