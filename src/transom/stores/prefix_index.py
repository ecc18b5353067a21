"""Finds the conversation of a store to which a list of messages belongs: an index from the digests of the beginnings of
lists to places in logs.

`transom.http` gets a whole list of messages with each request, and must find the log that has them. If the index is
lost, a new conversation begins where an old one could have gone on. So it may be a file of its own beside the store,
which is not synchronised with every write.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from transom.search.index_file import MEMORY, IndexFile
from transom.search.indexed_store import stored_name, true_name
from transom.sqlite_tables import Tables
from transom.stores.base import Store

APPLICATION = 0x74727078
"""The application_id that marks the file as ours: "trpx" in ASCII."""
_TABLES = Tables(
    APPLICATION,
    2,
    ("CREATE TABLE prefixes (number INTEGER PRIMARY KEY, key BLOB UNIQUE, name TEXT NOT NULL, length INTEGER)",),
)
_AT_ONCE = 500
"""Keys in one statement."""
MOST_IN_MEMORY = 1 << 17
"""The most digests of an index in memory; of more, the oldest are dropped."""


class KnownPrefix(NamedTuple):
    """Where a beginning of messages ends: in the conversation `name`, whose log has `length` entries up to there."""

    name: str
    length: int


class PrefixIndex(Protocol):
    """Stores where the known beginnings of message lists end in logs. The key is the digest of such a beginning
    (`transom.http.prefix_hashes`), the value its `KnownPrefix`. An index may forget a beginning: then a new
    conversation begins. Any thread may call every method."""

    def find(self, keys: Sequence[bytes]) -> dict[bytes, KnownPrefix]:
        """Return the known prefixes of these keys; keys that are not known are left out."""
        ...

    def add(self, places: Iterable[tuple[bytes, KnownPrefix]]) -> None:
        """Store these known prefixes, each in place of an older one with the same key."""
        ...

    def forget(self, names: Iterable[str]) -> None:
        """Remove all known prefixes of these conversations."""
        ...


class SqlitePrefixIndex:
    """An index of message prefixes (a `PrefixIndex`) in a SQLite file beside the store, for all processes that use the
    store; or, for the path ":memory:", in the memory of this process. In memory it has the newest `most` prefixes, and
    at times up to twice as many; in a file `most` does not count."""

    def __init__(self, path: str = MEMORY, most: int = MOST_IN_MEMORY) -> None:
        self._file = IndexFile(path, _TABLES, "index of message prefixes")
        self._most = most if path == MEMORY else None
        self._added = 0

    def find(self, keys: Sequence[bytes]) -> dict[bytes, KnownPrefix]:
        out: dict[bytes, KnownPrefix] = {}
        with self._file.connection() as db:
            for at in range(0, len(keys), _AT_ONCE):
                some = keys[at : at + _AT_ONCE]
                marks = ", ".join("?" * len(some))
                rows = db.execute(f"SELECT key, name, length FROM prefixes WHERE key IN ({marks})", some)  # noqa: S608 - marks
                out.update((key, KnownPrefix(true_name(name), length)) for key, name, length in rows)
        return out

    def add(self, places: Iterable[tuple[bytes, KnownPrefix]]) -> None:
        with self._file.writing() as db:
            rows = [(key, stored_name(place.name), place.length) for key, place in places]
            db.executemany("INSERT OR REPLACE INTO prefixes (key, name, length) VALUES (?, ?, ?)", rows)
            if self._most is not None:
                self._added += len(rows)
                if self._added >= self._most:  # not at each addition: it walks through all of them
                    oldest = "SELECT number FROM prefixes ORDER BY number DESC LIMIT 1 OFFSET ?"
                    db.execute(f"DELETE FROM prefixes WHERE number <= ({oldest})", (self._most,))  # noqa: S608 - no input
                    self._added = 0

    def forget(self, names: Iterable[str]) -> None:
        with self._file.writing() as db:
            db.execute("PRAGMA secure_delete = ON")
            db.executemany("DELETE FROM prefixes WHERE name = ?", [(stored_name(name),) for name in names])
        with self._file.connection() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the file has the names until it is closed

    def close(self) -> None:
        """Close the file. The index cannot be used after that; one in memory is lost."""
        self._file.close()


def prefix_index(store: Store) -> PrefixIndex:
    """Return the prefix index of a store; for a store without one, a new one in memory at each call."""
    own = getattr(store, "prefix_index", None)
    return SqlitePrefixIndex() if own is None else own()
