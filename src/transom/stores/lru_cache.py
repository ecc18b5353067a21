"""A cache of limited size that drops what was not used for longest."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A cache of values by key. Any thread may use it. `most`: the greatest sum of the sizes of its values, in whatever
    unit the caller gives them."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> V | None:
        """Return the value of a key, which counts as used now; None if it is not there."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, size: int) -> None:
        """Add a value, in place of an older one with this key. `size`: counts against `most` of the cache. While all
        values together are larger than that, those that were not used for longest are dropped; in the end the new one
        too, if it is larger by itself."""
        with self._lock:
            self._drop(key)
            self._values[key] = value, size
            self._size += size
            while self._size > self._most:
                self._drop(next(iter(self._values)))

    def drop(self, key: K) -> None:
        """Remove a value, if it is there."""
        with self._lock:
            self._drop(key)

    def clear(self) -> None:
        """Remove all values."""
        with self._lock:
            self._values.clear()
            self._size = 0

    def _drop(self, key: K) -> None:
        if key in self._values:
            self._size -= self._values.pop(key)[1]
