"""What every store gives: conversations by name, each an append-only log that several writers may share."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from transom.core.entry import Entry
from transom.errors import StoreDamaged, StoreUnavailable, TransomError, UnknownLog


class StoredLog(Protocol):
    """One conversation in a store, as this handle knows it. Others may append: `refresh` looks.

    Entries are decoded anew each time; whoever needs one twice keeps it. Every method may be called from any thread.
    A handle that knows entries is of their conversation alone: once that is forgotten, `append` and `refresh` raise
    UnknownLog, also if there is a new one by the name; `save` keeps nothing; reading raises UnknownLog, or gives what
    this process still holds.
    """

    @property
    def name(self) -> str:
        """The conversation's id."""
        ...

    @property
    def mended(self) -> str:
        """One line that says what was repaired when the log was opened, or nothing."""
        ...

    def __len__(self) -> int:
        """Entries this handle knows of."""
        ...

    def __getitem__(self, seq: int, /) -> Entry:
        """The entry with this number. Raises IndexError outside, StoreDamaged if it cannot be read."""
        ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """The known entries from `start` to before `stop`, in order, a few in memory at a time."""
        ...

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Store all of these entries or none; durable when it returns. Their seqs are `expect`, `expect` + 1, …

        Raises Conflict, with nothing stored, if the log in the store does not have `expect` entries.
        """
        ...

    def refresh(self) -> int:
        """Look for entries that others appended; the new length."""
        ...

    def save(self, at: int, snapshot: bytes) -> None:
        """Keep this snapshot of a view of the first `at` entries in place of the last one. It may be forgotten."""
        ...

    def saved(self) -> tuple[int, bytes] | None:
        """The snapshot kept last, with its number of entries."""
        ...


class Store(Protocol):
    """Where conversations are kept."""

    def open(self, name: str) -> StoredLog:
        """The conversation with this name; an unknown one is an empty log, made at its first append."""
        ...

    def names(self) -> list[str]:
        """All conversations, in the order they were made."""
        ...

    def forget(self, name: str) -> None:
        """Remove a conversation for good: entries, snapshot, and large bodies that no other one here holds.

        When it returns, no file of the store has their bytes. Killed before, the conversation is whole, or it is gone
        and the next `forget`, by this name or any, removes what bytes are left. It waits for others who write; its work
        grows with the store. Raises UnknownLog, with nothing changed, if there is no such conversation, and nothing
        left of any that is gone; StoreUnavailable, which says if the conversation is gone all the same.
        """
        ...

    def close(self) -> None:
        """Let go of files. What was appended is safe without it."""
        ...


def numbered(entries: Sequence[Entry], expect: int) -> Sequence[Entry]:
    """The entries, if they are numbered as they will stand. A log with a wrong number in it could never be read."""
    for seq, entry in enumerate(entries, expect):
        if entry.seq != seq:
            raise ValueError(f"entry {entry.seq} cannot stand at {seq}")
    return entries


def known(seq: int, length: int) -> int:
    """The seq, if it is one of the log's. Raises IndexError."""
    if not 0 <= seq < length:
        raise IndexError(f"no entry {seq} in a log of {length}")
    return seq


def outage(path: str, why: object) -> TransomError:
    """The store's place cannot be written or read now (disk full, locked, gone); the log stays usable."""
    return StoreUnavailable(f"{path}: {why}; this changed nothing, what was stored before is intact")


def unknown(name: str) -> UnknownLog:
    """There is nothing to forget."""
    return UnknownLog(f"no conversation {name!r} in the store")


def forgotten(name: str) -> UnknownLog:
    """What a handle knows is not there any more; it must not become the beginning of something else."""
    return UnknownLog(f"the conversation {name!r} is no longer in the store: open it again to begin a new one")


@contextmanager
def wiping(path: str) -> Generator[None]:
    """The conversation is gone already; what fails now leaves bytes of it."""
    try:
        yield
    except (OSError, sqlite3.Error) as problem:
        why = "the conversation is gone, but bytes of it stay there until it is forgotten once more"
        raise StoreUnavailable(f"{path}: {problem}; {why}") from problem


def damage(path: str, why: object) -> StoreDamaged:
    """What stands in the store is not what was written."""
    return StoreDamaged(f"{path}: {why}", "nothing was changed")
