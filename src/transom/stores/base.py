"""The protocol of a store: conversations by name, each an append-only log that several writers may share.

`docs/write-your-own-store.md` shows a whole store, and `transom.testing.StoreConformance` proves one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from transom.core.entry import Entry


class StoredLog(Protocol):
    """One conversation in a store, as one handle knows it.

    Other handles and processes may append to the same conversation; `refresh` takes in what they appended. Every
    method may be called from any thread. Entries are decoded each time they are read; a caller that needs an entry
    twice keeps it.

    A handle that knows entries belongs to their conversation only. After that conversation is forgotten, `append` and
    `refresh` raise UnknownLog, even if a new conversation has the same name; `save_snapshot` stores nothing; reading
    raises UnknownLog or gives what is still in this process's memory.
    """

    @property
    def name(self) -> str:
        """The conversation's id."""
        ...

    @property
    def repaired(self) -> str:
        """One line about the unfinished append that was found when the log was opened; empty if there was none."""
        ...

    def __len__(self) -> int:
        """The number of entries this handle knows."""
        ...

    def __getitem__(self, seq: int, /) -> Entry:
        """The entry with this number. Raises IndexError outside the log, StoreDamaged if the entry cannot be read."""
        ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """The known entries from `start` to before `stop`, in order. Only a few are in memory at a time."""
        ...

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Store all of these entries or none; they are durable when this returns. Their seqs begin at `expect`.

        Raises Conflict, with nothing stored, if the stored log does not have exactly `expect` entries.
        """
        ...

    def refresh(self) -> int:
        """Look for entries that others appended; gives the new length."""
        ...

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        """Store the snapshot of a view of the first `at` entries, in place of the last one. A store may lose it.

        Raises ValueError if the handle knows fewer than `at` entries.
        """
        ...

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """The snapshot that was stored last, with its number of entries."""
        ...


class Store(Protocol):
    """A place that holds conversations.

    Two methods are optional. A log with `copy_to` copies itself in one transaction (see `fork_log`). A log with `wait`
    announces appends (see `follow`).
    """

    def open(self, name: str) -> StoredLog:
        """The conversation with this name. An unknown name is an empty log; its first append creates it.

        Raises StoreDamaged if entries are missing or unreadable and the store can know it without reading them all.
        """
        ...

    def names(self) -> list[str]:
        """The names of all conversations, in the order in which they were created."""
        ...

    def forget(self, name: str) -> None:
        """Remove a conversation for good: entries, snapshot, and large bodies that no other conversation here has.

        When this returns, no file of the store has those bytes; on a server, no table (see PostgresStore). If the
        process dies before, the conversation is either whole, or it is gone and the next `forget`, of any name, removes
        the bytes that are left. It waits for writers, and its work grows with the store. Raises UnknownLog, with
        nothing changed, if there is no such conversation and nothing is left of an older one. Raises StoreUnavailable
        if it fails; the message says whether the conversation is gone.
        """
        ...

    def close(self) -> None:
        """Release files and connections. What was appended is safe without it."""
        ...
