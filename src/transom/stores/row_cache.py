"""A cache of rows that were read or written lately.

A compaction reads single entries; without it each would be a round trip. Entries never change, so a cached row is never
out of date. The id of a forgotten log is never used again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

Row = tuple[int, bytes, bytes | None]
"""The seq of an entry, the encoded entry, and the key of its large body if that is stored apart."""

CACHED_BYTES = 16_000_000
"""The most bytes of encoded entries that a cache keeps; large bodies are not in it."""
BLOCK = 64
"""Entries that are fetched together when one of them is read."""


class RowCache:
    """The rows that were used last, of all logs of a store. `most`: bytes of encoded entries that are kept at most."""

    def __init__(self, most: int = CACHED_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._rows: OrderedDict[tuple[int, int], Row] = OrderedDict()
        self._lock = Lock()

    def find(self, log: int, seq: int) -> Row | None:
        """Return the row of entry `seq` of a log, or None if it is not cached. It counts as used now."""
        with self._lock:
            row = self._rows.get((log, seq))
            if row is not None:
                self._rows.move_to_end((log, seq))
            return row

    def add(self, log: int, rows: Iterable[Row]) -> None:
        """Add rows of one log.

        While the cache has more than `most` bytes, the rows that were not used for longest are dropped.
        """
        with self._lock:
            for row in rows:
                before = self._rows.pop((log, row[0]), None)
                self._bytes += len(row[1]) - (0 if before is None else len(before[1]))
                self._rows[log, row[0]] = row
            while self._bytes > self._most:
                _, dropped = self._rows.popitem(last=False)
                self._bytes -= len(dropped[1])
