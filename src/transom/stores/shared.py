"""Shared connections and shared stores: the stores of one process on one place share a connection, or a pool of
connections; and a conversation and its forks share a store. The last one that closes closes what is shared.

A store that is dropped without `close` stops being a user of its connection when it is garbage collected.
`docs/why/shared-stores.md` says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, Protocol, TypeVar
from weakref import WeakSet, WeakValueDictionary

from transom.stores.base import Store


class Resource(Protocol):
    """An open connection or pool that several stores share. `users`: the stores, held weakly."""

    users: WeakSet[object]

    def is_current(self) -> bool:
        """True if opening the place again would lead to this resource: its file was not replaced, its pool not
        closed.
        """
        ...

    def close(self) -> None:
        """Close the resource. `Shared` calls this when nobody uses it any more."""
        ...


R = TypeVar("R", bound=Resource)


class Shared(Generic[R]):
    """The open resources of one kind in this process, by key. A key says what was opened, and with which settings."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open: WeakValueDictionary[Hashable, R] = WeakValueDictionary()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def use(self, key: Hashable, user: object, make: Callable[[], R]) -> R:
        """Return the open resource of this key, and add `user` to its users. If none is open, or if it is not current,
        `make` opens a new one. Call `release` when `user` needs it no more.

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
        """Remove `user` from the users of the resource, and close the resource if nobody else uses it."""
        with self._lock:
            resource.users.discard(user)
            if resource.users:
                return
            for key in [key for key, value in self._open.items() if value is resource]:
                del self._open[key]
        resource.close()

    def _reset(self) -> None:
        """Begin with no resources, in a child process after a fork: they are the parent's. The lock is made anew,
        because the thread that held it may not exist here.
        """
        self._lock = Lock()
        self._open = WeakValueDictionary()


class OwnedStore:
    """A store that a conversation and its forks keep open. It counts them, 1 at first; the last `close` closes the
    store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users, self._lock = 1, Lock()

    def share(self) -> OwnedStore:
        """Count one more conversation; return the same object."""
        with self._lock:
            self._users += 1
        return self

    def close(self) -> None:
        """Count one conversation less; close the store if it was the last."""
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last:
            self._store.close()
