"""A log that has one writer: an append behind the entries of somebody else is refused.

A conversation that goes on takes in what other writers appended. A replay must not: its log holds one recorded
conversation, and two replays that write to it at once would append each message twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.core.entry import Entry
from transom.errors import Conflict, StoreUnavailable, quote
from transom.stores import StoredLog


class SoleWriterLog:
    """A stored log, without what others append after it was opened. `append` raises StoreUnavailable after that."""

    def __init__(self, log: StoredLog) -> None:
        self._log = log
        self._length = len(log)

    @property
    def name(self) -> str:
        """The conversation's id."""
        return self._log.name

    @property
    def repaired(self) -> str:
        """One line about the unfinished append that was found when the log was opened; empty if there was none."""
        return self._log.repaired

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, seq: int, /) -> Entry:
        return self._log[seq]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """The entries from `start` to before `stop`."""
        return self._log.read(start, self._length if stop is None else stop)

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Store all of these entries or none. Raises StoreUnavailable if somebody else has appended."""
        try:
            self._log.append(entries, expect)
        except Conflict:
            raise StoreUnavailable(
                f"another process is writing conversation {quote(self.name)}, perhaps the same replay: "
                "wait until it has finished, or give this one a --store of its own"
            ) from None
        self._length = expect + len(entries)

    def refresh(self) -> int:
        """The length as this writer knows it."""
        return self._length

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        """Store the snapshot of a view of the first `at` entries."""
        self._log.save_snapshot(at, snapshot)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """The snapshot that was stored last, if it is of entries that this writer knows."""
        found = self._log.load_snapshot()
        return found if found is None or found[0] <= self._length else None
