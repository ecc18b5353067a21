"""A store in one SQLite file: the default.

With `synchronous="full"`, the default, entries are on disk when `append` returns; with "normal" the last ones may be
lost when power fails. SQLite keeps a write-ahead log beside the file. A body is in `blobs` before the entry that names
it. Every entry and every snapshot has a checksum, and every large body is named by its hash; they are compared when
they are read. A file that is not ours is never changed.

The id of a log is never used again. Of a forgotten log one row of `logs` stays, without its name. Its column
`generation` says what became of the log: 0 if it is there; 1 if it was forgotten and bytes of it may be left in the
file; 2 if none are.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from transom.clock import system_clock
from transom.core.entry import Entry
from transom.errors import Conflict, InvalidSetting, StoreDamaged, StoreUnavailable, UnknownLog
from transom.search.indexed_store import LogStamp, stored_name, true_name
from transom.stores.base import (
    check_index,
    check_seqs,
    check_snapshot,
    entry_damaged,
    listed_names,
    log_forgotten,
    store_damaged,
)
from transom.stores.blobs import RowLog, body_key, split_entry
from transom.stores.files import absolute_path
from transom.stores.local_store import LocalStore
from transom.stores.sqlite_file import SHARED_FILES, SqliteFile, shared_file
from transom.stores.view_cache import ViewCache

_BATCH = 64
"""Entries fetched at once when reading; large bodies are not among them."""

_LENGTH = "SELECT coalesce(max(seq) + 1, 0) FROM entries WHERE log = ?"
_ROWS = "SELECT seq, body, blob, crc FROM entries WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?"
_ADD = "INSERT INTO entries VALUES (?, ?, ?, ?, ?)"
_COPY_SNAPSHOT = "INSERT INTO snapshots SELECT ?, at, view, crc FROM snapshots WHERE log = ? AND at <= ?"
_SNAPSHOT = "SELECT at, view, crc FROM snapshots WHERE log = ?"
_SNAPSHOT_AHEAD = "SELECT 1 FROM snapshots WHERE log = ? AND at > ?"
_NAMES = "SELECT name FROM logs WHERE generation = 0 ORDER BY id"
_NAMED = "SELECT id FROM logs WHERE name = ?"
_STAMPS = "SELECT name, id, (SELECT max(seq) + 1 FROM entries WHERE log = id) FROM logs WHERE generation = 0"
_STAMP = f"{_STAMPS} AND name = ?"
_FORGET = (
    "DELETE FROM snapshots WHERE log = :log",
    """DELETE FROM blobs WHERE key IN (SELECT blob FROM entries WHERE log = :log)
       AND key NOT IN (SELECT blob FROM entries WHERE log <> :log AND blob IS NOT NULL)""",
    "DELETE FROM entries WHERE log = :log",
    "UPDATE logs SET name = CAST(id AS BLOB), generation = 1 WHERE id = :log",
)
_LEFT = "SELECT id FROM logs WHERE generation = 1"
_WIPED = "UPDATE logs SET generation = 2 WHERE id = ?"

_LEASES = "CREATE TABLE IF NOT EXISTS leases (name PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL)"
_TAKE_LEASE = """INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE
    SET holder = excluded.holder, until = excluded.until WHERE holder = excluded.holder OR until <= ?"""
_LEASE = "SELECT holder FROM leases WHERE name = ?"
_RELEASE_LEASE = "DELETE FROM leases WHERE name = ? AND holder = ?"

_Row = tuple[int, bytes, str | None, int]


class SqliteLog(RowLog):
    """One handle of one conversation in the file (a `StoredLog`)."""

    def __init__(self, store: SqliteStore, name: str) -> None:
        self.name, self.view_cache = name, store.view_cache
        self._store = store
        self._id: int | None = None
        self.refresh()
        self._check_against_snapshot()

    def __getitem__(self, seq: int, /) -> Entry:
        rows = self._rows(check_index(seq, self._n), seq + 1)
        return self._entry(seq, rows[0] if rows else None)

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        pairs = [split_entry(entry) for entry in check_seqs(entries, expect)]
        with self._store.file.writing() as db:
            row_id = self._find_id(db)
            found = 0 if row_id is None else db.execute(_LENGTH, (row_id,)).fetchone()[0]
            if found != expect:
                raise Conflict(expect, found)
            if pairs:
                row_id = self._create(db, self.name) if row_id is None else row_id
                rows = [_stored_row(db, row_id, seq, pair) for seq, pair in enumerate(pairs, start=expect)]
                db.executemany(_ADD, rows)
        self._id, self._n = row_id, expect + len(pairs)

    def refresh(self) -> int:
        with self._store.file.connection() as db:
            self._id = self._find_id(db)
            n = 0 if self._id is None else db.execute(_LENGTH, (self._id,)).fetchone()[0]
        if n < self._n:
            raise self._damaged(n, "it is missing")
        self._n = n
        return n

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        check_snapshot(at, self._n)
        with suppress(UnknownLog), self._store.file.writing() as db:
            if (row_id := self._find_id(db)) is not None:
                row = (row_id, at, snapshot, _snapshot_crc(at, snapshot))
                db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", row)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        for at, snapshot, crc in self._store.file.fetch(_SNAPSHOT, (self._id,)):
            if crc == _snapshot_crc(at, snapshot):
                return at, snapshot
        return None

    def copy_to(self, name: str, stop: int, then: Entry) -> None:
        """Create the conversation `name` from the first `stop` entries of this one, its snapshot if that covers no
        more, and `then`, whose seq must be `stop` (not checked).

        It is one transaction. Raises Conflict if there is a conversation by that name, UnknownLog if this one was
        forgotten, ValueError unless 0 <= `stop` <= len(self), StoreDamaged if a row is missing or damaged.
        """
        check_snapshot(stop, self._n)
        with self._store.file.writing() as db:
            source = self._find_id(db)
            if (taken := db.execute(_NAMED, (stored_name(name),)).fetchone()) is not None:
                raise Conflict(0, db.execute(_LENGTH, taken).fetchone()[0])
            log = self._create(db, name)
            for start in range(0, stop, _BATCH):
                rows = db.execute(_ROWS, (source, start, stop, _BATCH)).fetchall()
                db.executemany(_ADD, [self._row_for(log, seq, row) for seq, row in enumerate(rows, start)])
                if len(rows) < min(_BATCH, stop - start):
                    raise self._damaged(start + len(rows), "it is missing")
            db.execute(_ADD, _stored_row(db, log, stop, split_entry(then)))
            db.execute(_COPY_SNAPSHOT, (log, source, stop))

    def take_lease(self, holder: str, seconds: float) -> str:
        name, now = stored_name(self.name), system_clock()
        with self._store.file.writing_unsynced() as db:
            db.execute(_LEASES)
            db.execute(_TAKE_LEASE, (name, holder, now + seconds, now))
            return db.execute(_LEASE, (name,)).fetchone()[0]

    def release_lease(self, holder: str) -> None:
        with self._store.file.writing_unsynced() as db:
            db.execute(_RELEASE_LEASE, (stored_name(self.name), holder))

    def _row_for(self, log: int, seq: int, row: _Row) -> tuple[int, int, bytes, str | None, int]:
        """Make the row for another log from a row of this one. Raises StoreDamaged: a new checksum must not hide
        damage."""
        found, body, blob, _ = row
        if found != seq:
            raise self._damaged(seq, "it is missing")
        try:
            self._check(row)
        except ValueError as problem:
            raise self._damaged(seq, problem) from problem
        return log, seq, body, blob, _row_crc(log, body, blob)

    def _check_against_snapshot(self) -> None:
        """Raise StoreDamaged if the snapshot was made of more entries than the log has now."""
        if self._id is None or not self._store.file.fetch(_SNAPSHOT_AHEAD, (self._id, self._n)):
            return
        if (found := self.load_snapshot()) is None or found[0] <= self.refresh():
            return
        why = f"its snapshot was made of {found[0]:,} entries, but only {self._n:,} are left"
        way_out = f"delete row {self._id} of its table `snapshots` to go on with the entries that are left"
        place = f"{self._store.path}: conversation {self.name!r}"
        raise store_damaged(place, why, f"restore it from a backup, or {way_out}")

    def _find_id(self, db: sqlite3.Connection) -> int | None:
        """Return the log's id, None if nothing was stored. Raises UnknownLog if it is not the log of this handle."""
        row = db.execute(_NAMED, (stored_name(self.name),)).fetchone()
        found = None if row is None else row[0]
        if self._id not in {None, found}:
            raise log_forgotten(self.name)
        return found

    @staticmethod
    def _create(db: sqlite3.Connection, name: str) -> int:
        log = db.execute("INSERT INTO logs (name) VALUES (?)", (stored_name(name),)).lastrowid
        assert log is not None
        return log

    def _rows(self, start: int, stop: int) -> list[_Row]:
        return self._store.file.fetch(_ROWS, (self._id, start, stop, _BATCH))

    def _check(self, row: _Row) -> None:
        _, body, blob, crc = row
        if crc != _row_crc(self._id, body, blob):
            raise ValueError("its checksum is wrong")

    def _body(self, key: str) -> bytes | None:
        rows = self._store.file.fetch("SELECT body FROM blobs WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    def _damaged(self, seq: int, why: object) -> StoreDamaged:
        with self._store.file.connection() as db:
            self._find_id(db)  # raises UnknownLog if it was forgotten meanwhile
        return entry_damaged(self._store.path, self.name, seq, why)


class SqliteStore(LocalStore):
    """All conversations of one SQLite file, which is created if it does not exist; its folder must. `path`: of the
    file; `~` at its beginning is the home folder.

    Stores of one process on one file, with the same `synchronous`, share a connection.

    `synchronous`: "full", or "normal", which is faster but may lose the last appends when power fails. Raises
    InvalidSetting for another value or if the file cannot be opened, StoreDamaged if it is another program's file or
    was written by a newer version.
    """

    def __init__(self, path: str | os.PathLike[str], *, synchronous: str = "full") -> None:
        if synchronous not in {"full", "normal"}:
            raise InvalidSetting(f"synchronous must be 'full' or 'normal', not {synchronous!r}")
        self.path, self.view_cache = str(absolute_path(path)), ViewCache()
        self._file: SqliteFile | None = shared_file(self.path, synchronous, self)
        self._search_file, self._prefix_file = Path(f"{self.path}.search"), Path(f"{self.path}.prefixes")

    def open(self, name: str) -> SqliteLog:
        return SqliteLog(self, name)

    def names(self, prefix: str = "") -> list[str]:
        with self.file.connection() as db:
            return listed_names([true_name(name) for (name,) in db.execute(_NAMES)], prefix)

    def _forget_all(self, names: Iterable[str]) -> bool:
        self.view_cache.forget(names)
        with self.file.writing() as db:
            for name in names:
                if (row := db.execute(_NAMED, (stored_name(name),)).fetchone()) is not None:
                    for statement in _FORGET:
                        db.execute(statement, {"log": row[0]})
            left = db.execute(_LEFT).fetchall()
        if left:
            with self.file.connection() as db:
                try:
                    db.execute("VACUUM")  # deleting alone, even securely, leaves copies where rows were moved
                    self.file.empty_write_ahead_log()
                    db.executemany(_WIPED, left)
                except (OSError, sqlite3.Error) as problem:
                    why = "the conversation is gone, but bytes of it stay there until it is forgotten once more"
                    raise StoreUnavailable(f"{self.path}: {problem}; {why}") from problem
        return bool(left)

    def stamp(self) -> object:
        """Return a value that differs when anything in the file has changed, by this connection or by another."""
        with self.file.connection() as db:
            return id(db), db.total_changes, db.execute("PRAGMA data_version").fetchone()[0]

    def log_stamps(self, names: Iterable[str] | None = None) -> list[LogStamp]:
        """Return the stamps of the logs with these names, in any order; unknown names are left out. None: the stamps of
        every log, also of Transom's own. A stamp changes with the number of entries."""
        with self.file.connection() as db:
            if names is None:
                rows = db.execute(_STAMPS).fetchall()
            else:
                rows = [row for name in set(names) for row in db.execute(_STAMP, (stored_name(name),))]
        return [LogStamp(true_name(name), str(log), str(length)) for name, log, length in rows]

    def close(self) -> None:
        """Close this store. To read or write it then, also through its logs, raises InvalidSetting. Other stores on the
        same file stay open; the last one closes the connection."""
        self.view_cache.clear()
        super().close()
        file, self._file = self._file, None
        if file is not None:
            SHARED_FILES.release(file, self)

    @property
    def file(self) -> SqliteFile:
        """The file with its connection, shared with other stores on it.

        Raises InvalidSetting if this store is closed.
        """
        if self._file is None:
            raise InvalidSetting(f"{self.path}: the store is closed")
        return self._file


def _stored_row(
    db: sqlite3.Connection, log: int, seq: int, pair: tuple[bytes, bytes | None]
) -> tuple[int, int, bytes, str | None, int]:
    """Make the row of an entry, and insert its large body, if it has one, into `blobs`."""
    row, body = pair
    key = None
    if body is not None:
        key = body_key(body)
        db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (key, body))
    return log, seq, row, key, _row_crc(log, row, key)


def _row_crc(log: int | None, row: bytes, key: str | None) -> int:
    """Compute the checksum of a row, which covers the entry, the key of its body, and the id of its log."""
    crc = zlib.crc32(row, log or 0)
    return crc if key is None else zlib.crc32(str(key).encode(), crc)  # a damaged key need not be a text


def _snapshot_crc(at: int, snapshot: bytes) -> int:
    return zlib.crc32(snapshot, at)
