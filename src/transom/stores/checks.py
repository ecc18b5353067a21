"""Checks that every store makes, and the errors that they all raise, in the same words."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager

from transom.core.entry import Entry
from transom.errors import StoreDamaged, StoreUnavailable, UnknownLog
from transom.search.source import is_own_log

__all__ = ["check_index", "check_seqs", "check_snapshot", "listed_names", "log_forgotten", "no_such_log"]


def listed_names(names: Iterable[str], prefix: str = "") -> list[str]:
    """Return what `Store.names` returns, from the names of all logs of a store, Transom's own included."""
    return [name for name in names if (name.startswith(prefix) if prefix else not is_own_log(name))]


def check_seqs(entries: Sequence[Entry], expect: int) -> Sequence[Entry]:
    """Return the entries unchanged if their seqs are `expect`, `expect` + 1, ….

    Raises ValueError for any other seq: a log that contains it could not be read again.
    """
    for seq, entry in enumerate(entries, expect):
        if entry.seq != seq:
            raise ValueError(f"entry {entry.seq} cannot stand at {seq}")
    return entries


def check_index(seq: int, length: int) -> int:
    """Return `seq`. Raises IndexError unless 0 <= `seq` < `length`, the number of entries of the log."""
    if not 0 <= seq < length:
        raise IndexError(f"no entry {seq} in a log of {length}")
    return seq


def check_snapshot(at: int, length: int) -> int:
    """Return `at`, the number of entries that a snapshot covers. `length`: the number of entries of its log.

    Raises ValueError unless 0 <= `at` <= `length`.
    """
    if not 0 <= at <= length:
        raise ValueError(f"a snapshot of {at} entries, in a log of {length}")
    return at


def store_unavailable(place: str, why: object) -> StoreUnavailable:
    """Make the error for a place that cannot be written or read now: disk full, locked, removed.

    The log stays usable.
    """
    return StoreUnavailable(f"{place}: {why}; this changed nothing, what was stored before is intact")


def store_damaged(place: str, why: object, remedy: str = "") -> StoreDamaged:
    """Make the error for a store that does not have what was written to it. `why`: what is wrong, in a few words;
    `remedy`: how to go on, if that is known.
    """
    return StoreDamaged(f"{place}: {why}", "nothing was changed" + (f"; {remedy}" if remedy else ""))


def entry_damaged(place: str, name: str, seq: int, why: object) -> StoreDamaged:
    """Make the error for an entry that is not what was stored: what is damaged, and how to go on without it."""
    copy = f", or go on with a copy of the entries before it: transom fork ID --at {seq - 1}" if seq else ""
    return store_damaged(place, f"conversation {name!r}, entry {seq}: {why}", f"restore it from a backup{copy}")


def entries_missing(place: str, found: int, at: int, remedy: str) -> StoreDamaged:
    """Make the error for a log that has `found` entries, although its snapshot was made of `at`, which is more.

    `remedy`: how to go on with the entries that are left; it ends the message.
    """
    why = f"its snapshot was made of {at:,} entries, but only {found:,} are left"
    return store_damaged(place, why, f"restore it from a backup, or {remedy}")


def no_such_log(name: str) -> UnknownLog:
    """Make the error for a conversation that cannot be forgotten because the store does not have it."""
    return UnknownLog(f"no conversation {name!r} in the store")


def log_forgotten(name: str) -> UnknownLog:
    """Make the error for a handle whose conversation was forgotten: it must not write into a later one of the same
    name.
    """
    return UnknownLog(f"the conversation {name!r} is no longer in the store: open it again to begin a new one")


@contextmanager
def reporting_leftovers(place: str) -> Generator[None]:
    """Raise StoreUnavailable for an error of the file system or of SQLite in this block, the last steps of a forget.

    By then the conversation is gone. The message says that bytes of it are left in the store's files, until it is
    forgotten once more.
    """
    try:
        yield
    except (OSError, sqlite3.Error) as problem:
        why = "the conversation is gone, but bytes of it stay there until it is forgotten once more"
        raise StoreUnavailable(f"{place}: {problem}; {why}") from problem
