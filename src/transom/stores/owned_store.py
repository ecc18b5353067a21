"""Lets a conversation and its forks share a store that was opened for them."""

from __future__ import annotations

from threading import Lock

from transom.stores.base import Store


class OwnedStore:
    """A store that a conversation and its forks keep open. It counts them; the last one to close closes the store."""

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
