"""The protocol of a store: conversations by name, each an append-only log that several writers may share.

Also the checks and errors that all stores have in common, and `follow`, which gives the entries that others append.
`docs/write-your-own-store.md` shows a whole store, and `transom.testing.StoreConformance` tests one. Leases are in
`leases.py`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Event
from typing import Protocol

from transom.core.entry import Entry
from transom.errors import StoreDamaged, StoreUnavailable, UnknownLog
from transom.search.indexed_store import is_own_log

__all__ = ["check_index", "check_seqs", "check_snapshot", "listed_names", "log_forgotten", "no_such_log"]
"""The helpers for stores outside of this package."""


class StoredLog(Protocol):
    """One handle of one conversation in a store.

    Other handles and processes may append to the same conversation; this handle knows their entries after `refresh`.
    Every method may be called from any thread. A store may decode an entry each time it is read, so a caller that needs
    an entry twice should keep it.

    A handle that knows entries belongs to their conversation for good. After that conversation was forgotten, `append`
    and `refresh` raise UnknownLog, even if a new conversation has the same name; `save_snapshot` stores nothing; and
    reading raises UnknownLog, or still returns entries that are in this process's memory or in a file that it has open.
    A handle that knows no entry belongs to the conversation that has its name now.
    """

    @property
    def name(self) -> str:
        """The name of the conversation in its store."""
        ...

    @property
    def repaired(self) -> str:
        """What opening the log found to be unfinished or lost, and what became of it, in one line for people: such as
        an append that was cut off. Empty if there was nothing.
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
        """Yield the entries from `start` (0 or more) up to, but not including, `stop`, in order: those that the handle
        knows when the first is asked for. `stop` None, or beyond the last: all of them.

        Only a few entries are in memory at a time. Raises StoreDamaged at the first entry that cannot be read.
        """
        ...

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Store all of these entries or none; they are durable when this returns. The handle knows them then, and all
        entries before them.

        `expect` is the number of entries that the caller believes the stored log to have, also those that this handle
        does not know; so the seqs of the entries are `expect`, `expect` + 1, …. Without entries only that number is
        checked.

        Raises, with nothing stored: Conflict if the stored log has another number of entries (call `refresh` then);
        ValueError if the seqs are others; InvalidMessage for an entry that is not JSON; UnknownLog if the conversation
        of this handle was forgotten; StoreUnavailable if the store cannot be written now (disk full, locked, no
        connection).
        """
        ...

    def refresh(self) -> int:
        """Take in the entries that others have appended, and return the new number of known entries.

        Raises UnknownLog if the conversation of this handle was forgotten, StoreDamaged if entries that the handle
        knows are gone or the store sees that new ones are damaged, and StoreUnavailable if it cannot be read now.
        """
        ...

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        """Store the snapshot of a view of the first `at` entries, in place of the snapshot before: bytes that the store
        does not read. A store may lose it, or keep none.

        Raises ValueError unless 0 <= `at` <= len(self).
        """
        ...

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return `(at, snapshot)`: the number of entries that the newest snapshot covers, and its bytes.

        `at` may be more than this handle knows, if another one has saved it. None if there is none, or if it is
        damaged.
        """
        ...


class Store(Protocol):
    """A place that holds conversations by name.

    Some things are optional:

    - A store with `forget_all(names)` forgets several conversations in one go, and ignores unknown names.
    - A store with `search_index()` or `prefix_index()` keeps its index of words, or of message prefixes (see
      `transom.http`), for the next process. Without them these are made in memory.
    - A log with `copy_to(name, stop, then)` makes the conversation `name` of its first `stop` entries and the entry
      `then`, in one transaction; it raises Conflict if there is one by that name (see `fork_log`).
    - A log with `wait(timeout)` learns of appends at once: it returns after an append, or after so many seconds, and
      has taken the new entries in as `refresh` does (see `follow`).
    - A log with `take_lease` and `release_lease` lets one handle at a time run its conversation (see
      `transom.stores.leases.LeasedLog`). Without them, everybody may run it at any time.
    - A log whose `view_cache` is the `transom.stores.view_cache.ViewCache` of its store is opened again without
      applying its entries again.
    """

    def open(self, name: str) -> StoredLog:
        """Return a handle of the conversation with this name.

        An unknown name gives an empty log; its first append creates it. Raises StoreDamaged if entries are missing or
        unreadable and the store can know it without reading them all.
        """
        ...

    def names(self, prefix: str = "") -> list[str]:
        """Return the names of all conversations, in the order in which they were created.

        With a `prefix`: the names of all logs that begin with it, also of Transom's own logs, which are no
        conversations (".memory/…"). `listed_names` makes this list from all names.
        """
        ...

    def forget(self, name: str) -> None:
        """Remove a conversation for good: its entries, its snapshot, and those of its large bodies that no other
        conversation of the store has.

        When this returns, no file of the store has those bytes; on a server, no table has (see PostgresStore). If the
        process dies before, the conversation is either whole, or it is gone and the next `forget`, of any name, removes
        the bytes that are left. `forget` waits for writers, and its work grows with the size of the store.

        Raises UnknownLog, with nothing changed, if there is no such conversation and no bytes are left of a forgotten
        one; StoreUnavailable if the removal fails: then the message says whether the conversation is gone.
        """
        ...

    def close(self) -> None:
        """Release files and connections. Appended entries are durable without it."""
        ...


def forget_all(store: Store, names: Iterable[str]) -> None:
    """Forget several conversations; unknown names are ignored.

    A store with a `forget_all` of its own forgets them in one operation. Else they are forgotten one after another: if
    one fails, its error is raised, those before it are gone and the rest is still there.
    """
    if (own := getattr(store, "forget_all", None)) is not None:
        own(names)
        return
    for name in names:
        with suppress(UnknownLog):
            store.forget(name)


# ---- checks and errors


def listed_names(names: Iterable[str], prefix: str = "") -> list[str]:
    """Choose from the names of all logs of a store those that `Store.names` must return, in the given order. With a
    `prefix`: the names that begin with it. Without one: all but those of Transom's own logs (".memory/…")."""
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
    """Make the error for a file or server that cannot be written or read now: disk full, locked, removed. `place`: how
    the message names it; `why`: the reason, in a few words. The message says that nothing was changed: the caller must
    be sure of that.
    """
    return StoreUnavailable(f"{place}: {why}; this changed nothing, what was stored before is intact")


def store_damaged(place: str, why: object, remedy: str = "") -> StoreDamaged:
    """Make the error for a store that does not have what was written to it. `why`: what is wrong, in a few words;
    `remedy`: how to go on, if that is known.
    """
    return StoreDamaged(f"{place}: {why}", "nothing was changed" + (f"; {remedy}" if remedy else ""))


def entry_damaged(place: str, name: str, seq: int, why: object) -> StoreDamaged:
    """Make the error for an entry that cannot be read as it was stored. The message says what is damaged, and how to go
    on: from a backup, or with a fork of the entries before entry `seq`. `place`: the store; `name`: the conversation.
    """
    copy = f", or go on with a copy of the entries before it: transom fork ID --at {seq - 1}" if seq else ""
    return store_damaged(place, f"conversation {name!r}, entry {seq}: {why}", f"restore it from a backup{copy}")


def no_such_log(name: str) -> UnknownLog:
    """Make the error for a conversation that cannot be forgotten because the store does not have it."""
    return UnknownLog(f"no conversation {name!r} in the store")


def log_forgotten(name: str) -> UnknownLog:
    """Make the error for a handle whose conversation was forgotten: it must not write into a later one of the same
    name.
    """
    return UnknownLog(f"the conversation {name!r} is no longer in the store: open it again to begin a new one")


# ---- following a log

POLL_INTERVAL = 0.5
"""Seconds between two looks at a store that does not announce appends."""
POLL_INTERVAL_ANNOUNCED = 5.0
"""Seconds between two looks at a store that announces appends: they only find entries whose announcement got lost."""


def follow(
    log: StoredLog, start: int | None = None, *, stop: Event | None = None, poll_interval: float | None = None
) -> Generator[Entry]:
    """Yield every entry of a log from `start` on as soon as it is stored. `start`: None means the entries that `log`
    does not know yet.

    The generator blocks its thread while it waits. A PostgreSQL store announces appends, so their entries come at once;
    it is also looked at every `poll_interval` seconds (5 if that is None). Any other store is only looked at, every
    `poll_interval` seconds (0.5). When `stop` is set, the generator ends: at once, but with a PostgreSQL store after at
    most `poll_interval` seconds. Without `stop` it never ends by itself.

    `log` is refreshed, so pass a handle that nobody else uses: `store.open(name)`. Raises UnknownLog if the
    conversation was forgotten, StoreUnavailable if the store cannot be read, StoreDamaged if an entry is damaged.
    """
    stop = Event() if stop is None else stop
    seq = len(log) if start is None else start
    wait = getattr(log, "wait", None)
    while not stop.is_set():
        for entry in log.read(seq):
            seq = entry.seq + 1
            yield entry
            if stop.is_set():
                return
        if wait is not None:
            wait(POLL_INTERVAL_ANNOUNCED if poll_interval is None else poll_interval)
        elif not stop.wait(POLL_INTERVAL if poll_interval is None else poll_interval):
            log.refresh()
