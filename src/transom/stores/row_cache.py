"""Rows of entries that were read or written lately: a compaction reads single entries, and each would be a round trip.

Entries never change, so a row is right for ever. The id of a forgotten log is never given again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import Lock

Row = tuple[int, bytes, bytes | None]
"""The number of an entry, the entry, and the key of its large body if that is stored apart."""

CACHED_BYTES = 16_000_000
BLOCK = 64
"""Entries that are fetched together when one of them is read."""


class RowCache:
    """The rows that were used last, of all logs of a store, up to a number of bytes."""

    def __init__(self, most: int = CACHED_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._rows: OrderedDict[tuple[int, int], Row] = OrderedDict()
        self._lock = Lock()

    def find(self, log: int, seq: int) -> Row | None:
        """The row, if it is here."""
        with self._lock:
            row = self._rows.get((log, seq))
            if row is not None:
                self._rows.move_to_end((log, seq))
            return row

    def add(self, log: int, rows: Iterable[Row]) -> None:
        """Keep these, and drop those that were not used for longest."""
        with self._lock:
            for row in rows:
                before = self._rows.pop((log, row[0]), None)
                self._bytes += len(row[1]) - (0 if before is None else len(before[1]))
                self._rows[log, row[0]] = row
            while self._bytes > self._most:
                _, dropped = self._rows.popitem(last=False)
                self._bytes -= len(dropped[1])
