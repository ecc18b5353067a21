"""The protocol of a store: conversations by name, each an append-only log that several writers may share.

`docs/write-your-own-store.md` shows a whole store, and `transom.testing.StoreConformance` proves one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol, cast

from transom.core.entry import Entry
from transom.errors import UnknownLog


class StoredLog(Protocol):
    """One handle of one conversation in a store.

    Other handles and processes may append to the same conversation; this handle knows their entries after `refresh`.
    Every method may be called from any thread. Entries are decoded each time they are read; a caller that needs an
    entry twice keeps it.

    A handle that knows entries belongs to their conversation only. After that conversation is forgotten, `append` and
    `refresh` raise UnknownLog, even if a new conversation has the same name; `save_snapshot` stores nothing; reading
    raises UnknownLog, or returns entries that are still in this process's memory or in a file that it has open.
    """

    @property
    def name(self) -> str:
        """The name of the conversation in its store."""
        ...

    @property
    def repaired(self) -> str:
        """One line that describes the unfinished append found (and cut off, where the file may be written) when the log
        was opened; empty if there was none.
        """
        ...

    def __len__(self) -> int:
        """The number of entries that this handle knows. The stored log may be longer: see `refresh`."""
        ...

    def __getitem__(self, seq: int, /) -> Entry:
        """Return entry `seq`.

        Raises IndexError unless 0 <= `seq` < len(self), StoreDamaged if the entry cannot be read.
        """
        ...

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """Yield the known entries from `start` up to, but not including, `stop` (default: all), in order.

        Only a few entries are in memory at a time. Raises StoreDamaged at the first entry that cannot be read.
        """
        ...

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Store all of these entries or none; they are durable when this returns.

        Their seqs are `expect`, `expect` + 1, ….

        `expect` is the number of entries that the caller believes the stored log to have. Raises Conflict, with nothing
        stored, if it has another number; ValueError if the seqs are others; InvalidMessage for an entry that is not
        JSON; StoreUnavailable if the store cannot be written now (disk full, locked, no connection).
        """
        ...

    def refresh(self) -> int:
        """Take in the entries that others have appended, and return the new number of known entries."""
        ...

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        """Store the snapshot of a view of the first `at` entries, in place of the snapshot before. A store may lose it.

        Raises ValueError if the handle knows fewer than `at` entries.
        """
        ...

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return `(at, snapshot)`: the snapshot that was saved last, and the number of entries it covers.

        None if there is none, or only a damaged one.
        """
        ...


class Store(Protocol):
    """A place that holds conversations by name.

    Some methods are optional. A store with `forget_all(names)` forgets several conversations in one go. A log
    with `copy_to` copies itself in one transaction (see `fork_log`). A log with `wait` announces appends (see
    `follow`). A log with `take_lease` and `release_lease` lets one handle at a time run a conversation (see
    `transom.stores.leases.LeasedLog`); without them, everybody may run it at any time. A log whose `view_cache` is the
    `transom.stores.view_cache.ViewCache` of its store is opened again without applying its entries again.
    """

    def open(self, name: str) -> StoredLog:
        """Return a handle of the conversation with this name.

        An unknown name gives an empty log; its first append creates it. Raises StoreDamaged if entries are missing or
        unreadable and the store can know it without reading them all.
        """
        ...

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all conversations, in the order in which they were created.

        With a `prefix`: of all logs whose name begins with it, also of Transom's own, which are no conversations
        (".memory/"). `listed_names` makes this list from all names.
        """
        ...

    def forget(self, name: str) -> None:
        """Remove a conversation for good: its entries, its snapshot, and the large bodies that no other conversation
        here has.

        When this returns, no file of the store has those bytes; on a server, no table (see PostgresStore). If the
        process dies before, the conversation is either whole, or it is gone and the next `forget`, of any name, removes
        the bytes that are left. `forget` waits for writers, and its work grows with the store. Raises UnknownLog, with
        nothing changed, if there is no such conversation and no bytes are left of a forgotten one. Raises
        StoreUnavailable if the removal fails; the message says whether the conversation is gone.
        """
        ...

    def close(self) -> None:
        """Release files and connections. Appended entries are durable without it."""
        ...


class _ForgetsAll(Protocol):
    def forget_all(self, names: Iterable[str]) -> bool: ...


def forget_all(store: Store, names: Iterable[str]) -> None:
    """Forget several conversations: with the store's own `forget_all`, else one by one. Unknown names are ignored."""
    if hasattr(store, "forget_all"):
        cast("_ForgetsAll", store).forget_all(names)
        return
    for name in names:
        with suppress(UnknownLog):
            store.forget(name)
