"""A store that conversations opened by its URL: the last one that closes, closes it."""

from __future__ import annotations

from threading import Lock

from transom.stores import Store


class OwnedStore:
    """A store with the number of conversations that keep it open: a conversation and its forks."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users, self._lock = 1, Lock()

    def share(self) -> OwnedStore:
        """The same, for one more conversation."""
        with self._lock:
            self._users += 1
        return self

    def close(self) -> None:
        """One conversation less."""
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
        if is_last:
            self._store.close()
