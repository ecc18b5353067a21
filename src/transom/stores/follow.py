"""Follows a conversation that others write to: gives its entries as they are stored."""

from __future__ import annotations

from collections.abc import Generator
from threading import Event
from typing import Protocol, cast

from transom.core.entry import Entry
from transom.stores.base import StoredLog

LOOK = 0.5
"""Seconds between two looks at a store that does not announce appends."""
LOOK_ANNOUNCED = 5.0
"""Seconds between two looks at a store that announces appends: they only find entries whose announcement got lost."""


class _Announcing(Protocol):
    """A log of a store that announces appends."""

    def wait(self, timeout: float) -> int:
        """Wait until something was appended, at most `timeout` seconds; return the new number of entries."""
        ...


def follow(
    log: StoredLog, start: int | None = None, *, stop: Event | None = None, poll_interval: float | None = None
) -> Generator[Entry]:
    """Yield every entry from `start` on as soon as it is stored. Without `start`, the entries that `log` does not know
    yet: those behind `len(log)`.

    The generator blocks its thread while it waits, and ends when `stop` is set: at once, but with a PostgreSQL store
    after at most `poll_interval` seconds. A PostgreSQL store announces appends, so entries come at once
    (`poll_interval`: 5 seconds, if it is not given); any other store is looked at every `poll_interval` seconds (0.5).
    `log` is refreshed, so pass a handle that nobody else uses: `store.open(name)`. Raises UnknownLog when the
    conversation is forgotten, StoreUnavailable when the store cannot be read, StoreDamaged when an entry is damaged.
    """
    stop = Event() if stop is None else stop
    seq = len(log) if start is None else start
    announcing = cast("_Announcing", log) if hasattr(log, "wait") else None
    while not stop.is_set():
        for entry in log.read(seq):
            seq = entry.seq + 1
            yield entry
            if stop.is_set():
                return
        if announcing is not None:
            announcing.wait(LOOK_ANNOUNCED if poll_interval is None else poll_interval)
        elif not stop.wait(LOOK if poll_interval is None else poll_interval):
            log.refresh()
