"""Conversations in one SQLite file: the default store.

Rules: what `append` returned from is on disk (WAL, synchronous=FULL); a body stands in `blobs` before the entry that
points at it; a file that is not ours is never changed. One connection serves all threads, one statement at a time, and
no statement stays open between two calls, so that a half-read log never blocks a write. The number of a log is never
given again: of a forgotten one a row without its name stays, of generation 1 until no byte of the rest does, then 2.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock

from transom.core.codec import decode
from transom.core.entry import Entry
from transom.errors import Conflict, InvalidSetting, StoreDamaged, TransomError, UnknownLog
from transom.stores.base import damage, forgotten, known, numbered, outage, unknown, wiping
from transom.stores.blobs import join, key, split

_APPLICATION = 0x7472616E
"""Marks the file as ours: "tran"."""
_VERSION = 1
_PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""
_PAUSE = 0.01
"""Seconds between two tries where SQLite does not wait by itself."""
_BATCH = 64
"""Entries fetched at once when reading; large bodies are not among them."""

_SCHEMA = (
    "CREATE TABLE logs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL DEFAULT 0)",
    """CREATE TABLE entries (log INTEGER NOT NULL REFERENCES logs, seq INTEGER NOT NULL, body BLOB NOT NULL,
       blob TEXT REFERENCES blobs, PRIMARY KEY (log, seq))""",
    "CREATE TABLE blobs (key TEXT PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE snapshots (log INTEGER PRIMARY KEY REFERENCES logs, at INTEGER NOT NULL, view BLOB NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_VERSION}",
)

_LENGTH = "SELECT coalesce(max(seq) + 1, 0) FROM entries WHERE log = ?"
_ROWS = "SELECT seq, body, blob FROM entries WHERE log = ? AND seq >= ? AND seq < ? ORDER BY seq LIMIT ?"
_NAMES = "SELECT name FROM logs WHERE generation = 0 ORDER BY id"
_NAMED = "SELECT id FROM logs WHERE name = ?"
_FORGET = (
    "DELETE FROM snapshots WHERE log = ?1",
    """DELETE FROM blobs WHERE key IN (SELECT blob FROM entries WHERE log = ?1)
       AND key NOT IN (SELECT blob FROM entries WHERE log <> ?1 AND blob IS NOT NULL)""",
    "DELETE FROM entries WHERE log = ?1",
    "UPDATE logs SET name = CAST(id AS BLOB), generation = 1 WHERE id = ?1",
)
_LEFT = "SELECT id FROM logs WHERE generation = 1"
_WIPED = "UPDATE logs SET generation = 2 WHERE id = ?"


class SqliteLog:
    """One conversation in the file."""

    mended = ""

    def __init__(self, store: SqliteStore, name: str) -> None:
        self.name = name
        self._store, self._n = store, 0
        self._id: int | None = None
        self.refresh()

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, seq: int, /) -> Entry:
        rows = self._rows(known(seq, self._n), seq + 1)
        return self._entry(seq, rows[0] if rows else None)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        end = self._n if stop is None else min(stop, self._n)
        while start < end:
            for row in self._rows(start, end) or [None]:
                yield self._entry(start, row)
                start += 1

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        pairs = [split(entry) for entry in numbered(entries, expect)]
        with self._store.writing() as db:
            log = self._find(db)
            found = 0 if log is None else db.execute(_LENGTH, (log,)).fetchone()[0]
            if found != expect:
                raise Conflict(expect, found)
            if pairs:
                log = self._create(db) if log is None else log
                rows = [(log, seq, row, _kept(db, body)) for seq, (row, body) in enumerate(pairs, start=expect)]
                db.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
        self._id, self._n = log, expect + len(pairs)

    def refresh(self) -> int:
        with self._store.reading() as db:
            self._id = self._find(db)
            n = 0 if self._id is None else db.execute(_LENGTH, (self._id,)).fetchone()[0]
        if n < self._n:
            raise self._damaged(n, "it is missing")
        self._n = n
        return n

    def save(self, at: int, snapshot: bytes) -> None:
        with suppress(UnknownLog), self._store.writing() as db:
            if (log := self._find(db)) is not None:
                db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?)", (log, at, snapshot))

    def saved(self) -> tuple[int, bytes] | None:
        with self._store.reading() as db:
            return db.execute("SELECT at, view FROM snapshots WHERE log = ?", (self._id,)).fetchone()

    def _find(self, db: sqlite3.Connection) -> int | None:
        row = db.execute(_NAMED, (_stored_name(self.name),)).fetchone()
        found = None if row is None else row[0]
        if self._id not in {None, found}:
            raise forgotten(self.name)
        return found

    def _create(self, db: sqlite3.Connection) -> int | None:
        return db.execute("INSERT INTO logs (name) VALUES (?)", (_stored_name(self.name),)).lastrowid

    def _rows(self, start: int, stop: int) -> list[tuple[int, bytes, str | None]]:
        with self._store.reading() as db:
            return db.execute(_ROWS, (self._id, start, stop, _BATCH)).fetchall()

    def _entry(self, seq: int, row: tuple[int, bytes, str | None] | None) -> Entry:
        if row is None or row[0] != seq:
            raise self._damaged(seq, "it is missing")
        try:
            entry = decode(row[1] if row[2] is None else join(row[1], self._body(seq, row[2])))
        except (ValueError, TypeError) as problem:
            raise self._damaged(seq, problem) from problem
        if entry.seq != seq:
            raise self._damaged(seq, f"it says it is entry {entry.seq}")
        return entry

    def _body(self, seq: int, blob: str) -> bytes:
        with self._store.reading() as db:
            row = db.execute("SELECT body FROM blobs WHERE key = ?", (blob,)).fetchone()
        if row is None:
            raise self._damaged(seq, "its body is missing")
        return row[0]

    def _damaged(self, seq: int, why: object) -> StoreDamaged:
        with self._store.reading() as db:
            self._find(db)  # it may have been forgotten meanwhile
        return damage(self._store.path, f"conversation {self.name!r}, entry {seq}: {why}")


class SqliteStore:
    """All conversations of one file. Raises InvalidSetting if it cannot be opened, StoreDamaged if it is not ours."""

    def __init__(self, path: str, *, synchronous: str = "full") -> None:
        self.path = str(Path(path).absolute())
        self._lock = RLock()
        try:
            self._db = sqlite3.connect(*_target(self.path), isolation_level=None, check_same_thread=False, uri=True)
        except sqlite3.Error as problem:
            raise InvalidSetting(f"{self.path}: {problem}") from problem
        try:
            self._prepare(synchronous)
        except BaseException:
            self._db.close()
            raise

    def open(self, name: str) -> SqliteLog:
        return SqliteLog(self, name)

    def names(self) -> list[str]:
        with self.reading() as db:
            return [_true_name(name) for (name,) in db.execute(_NAMES)]

    def forget(self, name: str) -> None:
        with self.writing() as db:
            if (row := db.execute(_NAMED, (_stored_name(name),)).fetchone()) is not None:
                for statement in _FORGET:
                    db.execute(statement, row)
            if not (left := db.execute(_LEFT).fetchall()):
                raise unknown(name)
        with self.reading() as db, wiping(self.path):
            db.execute("VACUUM")  # deleting alone, even securely, leaves copies where rows were moved
            _empty_wal(db)
            db.executemany(_WIPED, left)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def reading(self) -> Generator[sqlite3.Connection]:
        """The connection, for this thread alone; what SQLite says is said in our words."""
        with self._lock:
            try:
                yield self._db
            except sqlite3.DatabaseError as problem:
                raise self._failed(problem) from problem

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """The connection in a transaction that no other process can come between: all of it, or nothing."""
        with self.reading() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # some failures have already rolled back
                    db.execute("ROLLBACK")
                raise

    def _prepare(self, synchronous: str) -> None:
        with self.reading() as db:
            db.execute(f"PRAGMA synchronous = {synchronous}")
            db.execute("BEGIN")  # one look: somebody may be making the file right now
            try:
                new = self._is_new(db)
            finally:
                db.execute("COMMIT")
            if not new:
                return
            _use_wal(db)
        with self.writing() as db:
            if self._is_new(db):  # nobody was faster
                for statement in _SCHEMA:
                    db.execute(statement)

    def _is_new(self, db: sqlite3.Connection) -> bool:
        """Whether the file is empty; raises if it holds something else than our tables."""
        owner, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
        if owner == _APPLICATION:
            if version > _VERSION:
                raise damage(self.path, f"a newer Transom wrote this (format {version}, this one reads {_VERSION})")
            return False
        if owner or version or db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            raise damage(self.path, "this is another program's database")
        return True

    def _failed(self, problem: sqlite3.DatabaseError) -> TransomError:
        if isinstance(problem, sqlite3.ProgrammingError):
            closed = "closed database" in str(problem)
            return InvalidSetting(f"{self.path}: {'the store is closed' if closed else problem}")
        if isinstance(problem, sqlite3.OperationalError):
            if problem.sqlite_errorcode & 0xFF == sqlite3.SQLITE_CANTOPEN:
                return InvalidSetting(f"{self.path}: {problem}")
            if problem.sqlite_errorcode != sqlite3.SQLITE_ERROR:  # that one: a table of ours is not there
                return outage(self.path, problem)
        return damage(self.path, problem)


def _target(path: str) -> tuple[str, float]:
    """What to open. A file that may only be read, and beside which nobody has written, needs no lock and no log."""
    whole = Path(path)
    beside = whole.with_name(f"{whole.name}-wal")
    fixed = whole.exists() and not os.access(path, os.W_OK) and not (beside.exists() and beside.stat().st_size)
    return whole.as_uri() + ("?mode=ro&immutable=1" if fixed else ""), _PATIENCE


def _empty_wal(db: sqlite3.Connection) -> None:
    """SQLite waits for readers, but not for another that does the same at once."""
    stop = time.monotonic() + _PATIENCE
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
        if time.monotonic() > stop:
            raise TimeoutError("others are reading")
        time.sleep(_PAUSE)


def _use_wal(db: sqlite3.Connection) -> None:
    """Two that make one file at once: SQLite does not wait for this statement by itself."""
    for left in reversed(range(int(_PATIENCE / _PAUSE) + 1)):
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or not left:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _kept(db: sqlite3.Connection, body: bytes | None) -> str | None:
    """The key of a body that is now in the file."""
    if body is None:
        return None
    name = key(body)
    db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (name, body))
    return name


def _stored_name(name: str) -> str | bytes:
    """SQLite takes any name but one with lone surrogates; that goes in as bytes."""
    raw = name.encode("utf-8", "surrogatepass")
    return name if raw.decode("utf-8", "ignore") == name else raw


def _true_name(stored: str | bytes) -> str:
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")
