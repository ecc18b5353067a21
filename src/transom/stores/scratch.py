"""A log whose appends stay in memory: to try what an operation would do before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from transom.core.entry import Entry
from transom.errors import Conflict
from transom.stores.base import StoredLog, check_index


class ScratchLog:
    """A log with the entries that another log has now. What is appended to it stays in memory, in `appended`.

    It is a `StoredLog`: a `Conversation` of it does everything that it would do on the log itself (plan, compact,
    undo), and then `appended` has what it would have written. Entries that others append to the log meanwhile are not
    seen.
    """

    def __init__(self, log: StoredLog) -> None:
        self._log, self._length = log, len(log)
        self.appended: list[Entry] = []

    @property
    def name(self) -> str:
        """The name of the log."""
        return self._log.name

    @property
    def repaired(self) -> str:
        """What opening the log has repaired."""
        return self._log.repaired

    def __len__(self) -> int:
        return self._length + len(self.appended)

    def __getitem__(self, seq: int, /) -> Entry:
        check_index(seq, len(self))
        return self._log[seq] if seq < self._length else self.appended[seq - self._length]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """Yield the entries of the log, and then those that were appended here."""
        end = len(self) if stop is None else min(stop, len(self))
        if start < self._length:
            yield from self._log.read(start, min(end, self._length))
        yield from self.appended[max(0, start - self._length) : max(0, end - self._length)]

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Keep these entries in memory. Raises Conflict unless there are `expect` entries now."""
        if expect != len(self):
            raise Conflict(expect, len(self))
        self.appended.extend(entries)

    def refresh(self) -> int:
        """Return the number of entries: nobody else appends here."""
        return len(self)

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        """Keep nothing: opening the log again must not find what was only tried."""

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return the snapshot of the log; None if it has none, or one of more entries than this log knows of it."""
        saved = self._log.load_snapshot()
        return saved if saved is None or saved[0] <= self._length else None
