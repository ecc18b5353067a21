"""Follow a conversation that others write: the entries of a log as they come."""

from __future__ import annotations

from collections.abc import Generator
from threading import Event
from typing import Protocol, cast

from transom.core.entry import Entry
from transom.stores.base import StoredLog

LOOK = 0.5
"""Seconds between two looks at a store that does not announce appends."""
LOOK_ANNOUNCED = 5.0
"""The same for a store that does: only an announcement that got lost is found by looking."""


class _Announcing(Protocol):
    def wait(self, timeout: float) -> int:
        """Wait until something was appended, at most so many seconds; the new length."""
        ...


def follow(
    log: StoredLog, start: int | None = None, *, stop: Event | None = None, look: float | None = None
) -> Generator[Entry]:
    """Every entry from `start` on (default: those that are appended from now on), as soon as it is stored.

    It goes on until `stop` is set, and blocks its thread while it waits. A PostgreSQL store announces appends, so there
    entries come at once. Any other store is looked at every `look` seconds, 0.5 if not given. `stop` takes effect at
    the next look (PostgreSQL: within 5 seconds if `look` is not given). Give it a handle that nobody else uses:
    `store.open(name)`. Raises UnknownLog when the conversation is forgotten, StoreUnavailable.
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
            announcing.wait(LOOK_ANNOUNCED if look is None else look)
        elif not stop.wait(LOOK if look is None else look):
            log.refresh()
