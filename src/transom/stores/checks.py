"""What every store checks, and the errors it raises, so that they read the same for every store."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from transom.core.entry import Entry
from transom.errors import StoreDamaged, StoreUnavailable, UnknownLog


def check_seqs(entries: Sequence[Entry], expect: int) -> Sequence[Entry]:
    """The entries, if their seqs are `expect`, `expect` + 1, …; a log with a wrong seq could not be read again.

    Raises ValueError.
    """
    for seq, entry in enumerate(entries, expect):
        if entry.seq != seq:
            raise ValueError(f"entry {entry.seq} cannot stand at {seq}")
    return entries


def check_index(seq: int, length: int) -> int:
    """The seq, if a log of this length has it. Raises IndexError."""
    if not 0 <= seq < length:
        raise IndexError(f"no entry {seq} in a log of {length}")
    return seq


def check_snapshot(at: int, length: int) -> int:
    """`at`, if a log of this length has as many entries. Raises ValueError."""
    if not 0 <= at <= length:
        raise ValueError(f"a snapshot of {at} entries, in a log of {length}")
    return at


def store_unavailable(place: str, why: object) -> StoreUnavailable:
    """The place cannot be written or read now: disk full, locked, removed. The log stays usable."""
    return StoreUnavailable(f"{place}: {why}; this changed nothing, what was stored before is intact")


def store_damaged(place: str, why: object) -> StoreDamaged:
    """The store does not have what was written to it."""
    return StoreDamaged(f"{place}: {why}", "nothing was changed")


def entries_missing(place: str, found: int, at: int, remedy: str) -> StoreDamaged:
    """A snapshot proves that the log once had more entries. `remedy` is how to go on with those that are left."""
    why = f"its snapshot was made of {at:,} entries, but only {found:,} are left"
    return StoreDamaged(f"{place}: {why}", f"nothing was changed; restore it from a backup, or {remedy}")


def no_such_log(name: str) -> UnknownLog:
    """There is nothing to forget."""
    return UnknownLog(f"no conversation {name!r} in the store")


def log_forgotten(name: str) -> UnknownLog:
    """The conversation that a handle knows was removed. The handle must not write into a later one by that name."""
    return UnknownLog(f"the conversation {name!r} is no longer in the store: open it again to begin a new one")


@contextmanager
def reporting_leftovers(place: str) -> Generator[None]:
    """For the end of a forget: the conversation is gone, and a failure from now on leaves bytes of it in the files."""
    try:
        yield
    except (OSError, sqlite3.Error) as problem:
        why = "the conversation is gone, but bytes of it stay there until it is forgotten once more"
        raise StoreUnavailable(f"{place}: {problem}; {why}") from problem
