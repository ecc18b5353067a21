"""What the stores of one process share: one connection, or one pool of them, for each place.

Each store on a place is a user of the same resource; the last one that closes, closes it. A store that is dropped
without `close` stops being a user when it is garbage collected. `docs/why/shared-stores.md` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary


class Resource(Protocol):
    """What is shared."""

    users: WeakSet[object]

    def is_current(self) -> bool:
        """Whether the place still leads to what is open."""
        ...

    def close(self) -> None:
        """Nobody uses it any more."""
        ...


R = TypeVar("R", bound=Resource)


class Shared(Generic[R]):
    """The open resources of this process, by what was opened and how."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: WeakValueDictionary[Hashable, R] = WeakValueDictionary()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def use(self, key: Hashable, user: object, make: Callable[[], R]) -> R:
        """The open resource, or a new one, with one more user.

        Two threads that open a place for the first time at once may get a resource each. That is correct, and rare.
        """
        with self._lock:
            found = self._open.get(key)
            if found is not None and found.is_current():
                found.users.add(user)
                return found
        made = make()
        with self._lock:
            self._open[key] = made
            made.users.add(user)
        return made

    def release(self, resource: R, user: object) -> None:
        """One user less; the last one closes it."""
        with self._lock:
            resource.users.discard(user)
            if resource.users:
                return
            for key in [key for key, value in self._open.items() if value is resource]:
                del self._open[key]
        resource.close()

    def _reset(self) -> None:
        """In a child process after a fork: it must not use its parent's connections, and nobody releases the lock."""
        self._lock = Lock()
        self._open = WeakValueDictionary()
