"""The log as a view reads it: a sequence of entries that only grows at its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from transom.core.entry import Entry


class Log(Protocol):
    """Gives an entry by its seq. How entries are stored is the log's own business."""

    def __len__(self) -> int: ...

    def __getitem__(self, seq: int, /) -> Entry: ...


class PendingLog(Struct, frozen=True, eq=False):
    """A log with entries of a plan that are not in it yet."""

    log: Log
    entries: Sequence[Entry]

    def __len__(self) -> int:
        return len(self.log) + len(self.entries)

    def __getitem__(self, seq: int, /) -> Entry:
        first = self.entries[0].seq if self.entries else len(self.log)
        return self.entries[seq - first] if seq >= first else self.log[seq]


def stored(log: Log) -> int:
    """How many entries a log holds, without those of a plan that is not appended."""
    while isinstance(log, PendingLog):
        log = log.log
    return len(log)
