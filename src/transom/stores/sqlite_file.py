"""One SQLite file: the connection that all stores of this process on it share, its tables, and our errors in place of
SQLite's.
"""

from __future__ import annotations

import os
import shlex
import sqlite3
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import RLock
from typing import Any
from weakref import WeakSet, finalize

from transom import private_files
from transom.errors import InvalidSetting, StoreUnavailable, TransomError
from transom.sqlite_tables import PAUSE_SECONDS, Tables, create_tables, transaction
from transom.stores.base import store_damaged, store_unavailable
from transom.stores.shared import Shared

APPLICATION = 0x7472616E
"""The application_id that marks a file as ours: "tran" in ASCII."""
VERSION = 1
"""The version of the tables."""
MAX_WAIT = 30.0
"""Seconds to wait while another process is writing."""

_FROM_BACKUP = "restore it from a backup"

_TABLES = (
    "CREATE TABLE logs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL DEFAULT 0)",
    """CREATE TABLE entries (log INTEGER NOT NULL REFERENCES logs, seq INTEGER NOT NULL, body BLOB NOT NULL,
       blob TEXT REFERENCES blobs, crc INTEGER NOT NULL, PRIMARY KEY (log, seq))""",
    "CREATE TABLE blobs (key TEXT PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE snapshots (log INTEGER PRIMARY KEY REFERENCES logs, at INTEGER NOT NULL, view BLOB NOT NULL,
       crc INTEGER NOT NULL)""",
)


class SqliteFile:
    """One connection to a file, for all threads. One statement runs at a time, and none stays open between two calls.

    Making one opens the file, and creates it and its tables if it is missing or empty. `path`: as errors name it;
    `uri`: what SQLite opens; `synchronous`: "full", or "normal", which does not wait for the disk at each commit.
    Raises InvalidSetting if the file cannot be opened, StoreDamaged if it is another program's or of a newer version.
    """

    def __init__(self, path: str, uri: str, synchronous: str) -> None:
        self.path = path
        self.users: WeakSet[object] = WeakSet()
        self._synchronous = synchronous
        self._lock = RLock()
        self._process = os.getpid()
        if not uri.endswith(_IMMUTABLE):
            private_files.create_file(path)
        try:
            self._db = sqlite3.connect(uri, timeout=MAX_WAIT, isolation_level=None, check_same_thread=False, uri=True)
        except sqlite3.Error as problem:
            raise InvalidSetting(f"{path}: {_why_not_opened(path, problem)}") from problem
        finalize(self, self._db.close).atexit = False
        try:
            self._prepare(synchronous)
        except BaseException:
            self._db.close()
            raise
        self._identity = _identity(path)

    def is_current(self) -> bool:
        """True if the path still leads to the file that is open, and not to one that has replaced it."""
        return self._identity is not None and self._identity == _identity(self.path)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._db.close()

    def fetch(self, statement: str, parameters: tuple[Any, ...]) -> list[Any]:
        """Execute one statement that reads, and return all its rows. It costs half as much as a block of `connection`.

        Errors of SQLite are raised as StoreUnavailable, StoreDamaged or InvalidSetting (closed, or opened before a
        fork of this process).
        """
        self._check_process()
        with self._lock:
            try:
                return self._db.execute(statement, parameters).fetchall()
            except sqlite3.DatabaseError as problem:
                raise self._translated(problem) from problem

    @contextmanager
    def connection(self) -> Generator[sqlite3.Connection]:
        """Hold the connection during the block; other threads wait. No transaction is begun.

        Errors of SQLite in the block are raised as `fetch` says.
        """
        self._check_process()
        with self._lock:
            try:
                yield self._db
            except sqlite3.DatabaseError as problem:
                raise self._translated(problem) from problem
            except UnicodeDecodeError as problem:  # of the message in which SQLite quotes what it cannot read
                no_text = "bytes that are no text, in the definition of a table"
                raise store_damaged(self.path, no_text, _FROM_BACKUP) from problem

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Hold the connection during the block, in a transaction that no other writer can interrupt.

        It is committed at the end, and rolled back if the block raises. Another process that writes is waited for, at
        most 30 seconds (MAX_WAIT). Raises StoreUnavailable if it is still writing then, if the file may only be read,
        and if the file was removed or replaced since it was opened.
        """
        self._check_place()
        with self.connection() as db, transaction(db):
            yield db

    @contextmanager
    def writing_unsynced(self) -> Generator[sqlite3.Connection]:
        """Hold the connection during the block, in a transaction, as `writing` does; but the commit does not wait for
        the disk. It is for what may be lost when power fails."""
        self._check_place()
        with self.connection() as db:
            db.execute("PRAGMA synchronous = normal")
            try:
                with transaction(db):
                    yield db
            finally:
                db.execute(f"PRAGMA synchronous = {self._synchronous}")

    def empty_write_ahead_log(self) -> None:
        """Copy what the write-ahead log has into the file, and empty the log.

        Raises TimeoutError if others keep reading for 30 seconds. SQLite waits for readers by itself, but not for
        another process that does the same: so it is tried again and again.
        """
        stop = time.monotonic() + MAX_WAIT
        with self.connection() as db:
            while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > stop:
                    raise TimeoutError("others are reading")
                time.sleep(PAUSE_SECONDS)

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise InvalidSetting(f"{self.path}: the store was opened before a fork; open it again in this process")

    def _check_place(self) -> None:
        """Raise StoreUnavailable if the file was removed or replaced: SQLite would go on writing where nobody reads."""
        if not self.is_current():
            gone = "the file was removed, moved or replaced since it was opened, and nothing was written"
            raise StoreUnavailable(f"{self.path}: {gone}; open the store again to go on with what is there now")

    def _prepare(self, synchronous: str) -> None:
        with self.connection() as db:
            version = create_tables(db, Tables(APPLICATION, VERSION, _TABLES), MAX_WAIT)
            db.execute(f"PRAGMA synchronous = {synchronous}")
        if version != VERSION:
            newer = f"a newer Transom wrote this (format {version}, this one reads {VERSION})"
            raise store_damaged(self.path, newer, "update Transom")
        self._check_columns()

    def _check_columns(self) -> None:
        """Raise StoreDamaged if a table is not defined as ours are. SQLite itself accepts nearly every definition:
        without its primary key, a table of logs would be read as an empty one.

        Columns are compared, not the text of the definition, which may be written in another way. More columns than
        ours are allowed.
        """
        with self.connection() as db:
            found = _columns(db)
        tables = {table for table, _ in found}
        for table, column in sorted(_expected_columns() - found):
            if table not in tables:
                raise store_damaged(self.path, f"there is no table {table}", _FROM_BACKUP)
            raise store_damaged(self.path, f"the table {table} has no column {column}", _FROM_BACKUP)

    def _translated(self, problem: sqlite3.DatabaseError) -> TransomError:
        if isinstance(problem, sqlite3.ProgrammingError):
            return InvalidSetting(f"{self.path}: {problem}")
        if isinstance(problem, sqlite3.OperationalError):
            code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR)  # absent for a text that is not UTF-8
            if code & 0xFF == sqlite3.SQLITE_CANTOPEN:
                return InvalidSetting(f"{self.path}: {_why_not_opened(self.path, problem)}")
            if code != sqlite3.SQLITE_ERROR:  # that one: a table of ours is missing
                return store_unavailable(self.path, problem)
        remedies = {
            sqlite3.SQLITE_CORRUPT: f", or copy what is whole: sqlite3 {shlex.quote(self.path)} .recover | sqlite3 NEW",
            sqlite3.SQLITE_NOTADB: ", or name another file for the store",
        }
        way_out = remedies.get(getattr(problem, "sqlite_errorcode", 0) & 0xFF, "")
        return store_damaged(self.path, problem, f"{_FROM_BACKUP}{way_out}")


def _columns(db: sqlite3.Connection) -> frozenset[tuple[str, str]]:
    """Return the columns of all tables. For each: the name of its table, and one text with its name and type, then ",
    key" if it is a key, and ", not null" if it may not be null."""
    rows = db.execute(
        "SELECT CAST(m.name AS BLOB),"
        " CAST(c.name || ' ' || c.type || iif(c.pk, ', key', '') || iif(c.\"notnull\", ', not null', '') AS BLOB)"
        " FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
    )
    return frozenset((table.decode(errors="replace"), column.decode(errors="replace")) for table, column in rows)


@cache
def _expected_columns() -> frozenset[tuple[str, str]]:
    db = sqlite3.connect(":memory:")
    try:
        for statement in _TABLES:
            db.execute(statement)
        return _columns(db)
    finally:
        db.close()


SHARED_FILES: Shared[SqliteFile] = Shared()
"""The connections of this process to files."""


def shared_file(path: str, synchronous: str, user: object) -> SqliteFile:
    """Return the connection that this process has to a file, opened if there is none, and count `user` among its users.

    Release it with `SHARED_FILES.release`. Raises InvalidSetting if the file cannot be opened, StoreDamaged if it is
    not ours.
    """
    key = _uri(path), synchronous
    return SHARED_FILES.use(key, user, lambda: SqliteFile(path, *key))


def _why_not_opened(path: str, problem: sqlite3.Error) -> str:
    """Say why a file cannot be opened: it is a folder, or there is no folder for it; else what SQLite says, which is
    little."""
    place = Path(path)
    if place.is_dir():
        return "it is a folder; a SQLite store is a file (a folder of JSON Lines is jsonl:///folder)"
    if not place.parent.is_dir():
        return f"there is no folder {place.parent}"
    return str(problem)


def _identity(path: str) -> tuple[int, int] | None:
    """Return the device and the inode of the file at a path: they differ if another file has replaced it. None if there
    is no file."""
    with suppress(OSError):
        status = os.stat(path)  # noqa: PTH116 - before each write: a path object costs more than the call
        return status.st_dev, status.st_ino
    return None


_IMMUTABLE = "?mode=ro&immutable=1"


def _uri(path: str) -> str:
    """Return the URI with which SQLite opens the file. A file that may only be read, without a write-ahead log that has
    content, is opened as immutable: else SQLite would write into the folder even to read."""
    whole = Path(path)
    if not whole.exists():  # first: a file that another thread creates meanwhile must not look unwritable
        return whole.as_uri()
    beside = whole.with_name(f"{whole.name}-wal")
    is_writable = os.access(path, os.W_OK) and os.access(whole.parent, os.W_OK)
    is_immutable = not is_writable and not (beside.exists() and beside.stat().st_size)
    return whole.as_uri() + (_IMMUTABLE if is_immutable else "")
