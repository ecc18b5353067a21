"""The SQLite file of an index: the tables of a search index, the connection, and how a damaged file is replaced.

A search index can be made again from the store, and an index of message prefixes may be lost. So each is a file of its
own beside the store: the store never waits for it, and a file that is damaged or of another version is deleted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from weakref import finalize

from transom.errors import StoreUnavailable
from transom.private_files import create_file
from transom.sqlite_tables import OtherProgramsFileError, Tables, create_tables, transaction

VERSION = 6
APPLICATION = 0x74727378
"""The application_id that marks the file as ours: "trsx" in ASCII."""
PATIENCE = 30.0
"""Seconds to wait while another process is indexing."""
MEMORY = ":memory:"
_CACHE_KIB = 32_768

_TABLES = (
    """CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, identity TEXT NOT NULL,
       stamp TEXT NOT NULL, length INTEGER NOT NULL, user_id TEXT NOT NULL, session_id TEXT NOT NULL)""",
    """CREATE TABLE entries (row INTEGER PRIMARY KEY, at REAL NOT NULL, role TEXT NOT NULL, tool TEXT NOT NULL,
       hidden INTEGER NOT NULL, same INTEGER NOT NULL, said_in NOT NULL, is_copy INTEGER NOT NULL)""",
    "CREATE INDEX entries_at ON entries (at)",
    "CREATE INDEX entries_same ON entries (same, said_in)",
    """CREATE VIRTUAL TABLE words USING fts5(scope, about, text,
       tokenize = 'porter unicode61 remove_diacritics 2')""",
    "CREATE TABLE vocabulary (id INTEGER PRIMARY KEY, word TEXT NOT NULL UNIQUE, entries INTEGER NOT NULL)",
    """CREATE VIRTUAL TABLE parts USING fts5(word, content = 'vocabulary', content_rowid = 'id', detail = none,
       tokenize = 'trigram')""",
    """CREATE TABLE vectors (entry INTEGER NOT NULL, part INTEGER NOT NULL, model TEXT NOT NULL, vector BLOB NOT NULL,
       PRIMARY KEY (model, entry, part)) WITHOUT ROWID""",
)
SEARCH_TABLES = Tables(APPLICATION, VERSION, _TABLES)


class IndexFile:
    """One connection to an index, used by one thread at a time. `path`: a file, or ":memory:". `tables`: those that the
    file must have, which are created; by default those of a search index. `what`: how errors name the index.

    A file that is damaged or of another version is deleted and made anew. Raises StoreUnavailable if it can neither be
    opened nor made, or is another program's database.
    """

    def __init__(self, path: str, tables: Tables = SEARCH_TABLES, what: str = "search index") -> None:
        self.path, self._tables, self._what = path, tables, what
        self._lock = RLock()
        self._use(self._open())

    @contextmanager
    def connection(self) -> Generator[sqlite3.Connection]:
        """Hold the connection during the block; other threads wait. No transaction is begun.

        Errors of SQLite are raised as StoreUnavailable.
        """
        with self._lock:
            if self._process != os.getpid():  # a connection must not be used after a fork
                self._finalizer.detach()
                self._use(self._open())
            try:
                yield self._db
            except sqlite3.DatabaseError as problem:
                raise self._unavailable(problem) from problem

    @contextmanager
    def writing(self) -> Generator[sqlite3.Connection]:
        """Hold the connection during the block, in a transaction that no other process can interrupt: committed at the
        end, and rolled back if the block raises. Errors as for `connection`."""
        with self.connection() as db, transaction(db):
            yield db

    def wipe_free_pages(self) -> None:
        """Rewrite the file so that it has no byte of what was deleted. Only for a file with the tables of a search
        index."""
        with self.connection() as db:
            for table in ("words", "parts"):
                db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608 - names of ours
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connection. Each use after that raises StoreUnavailable."""
        with self._lock:
            self._finalizer()

    def _use(self, db: sqlite3.Connection) -> None:
        """Take this connection for the process that runs now. It is closed when this object is freed."""
        self._db, self._process = db, os.getpid()
        self._finalizer = finalize(self, db.close)
        self._finalizer.atexit = False

    def _open(self) -> sqlite3.Connection:
        try:
            try:
                return self._connect()
            except (sqlite3.OperationalError, OtherProgramsFileError):  # locked, may not be written, or not ours
                raise
            except sqlite3.DatabaseError:
                for end in ("", "-wal", "-shm"):
                    with suppress(OSError):
                        Path(self.path + end).unlink(missing_ok=True)
            return self._connect()
        except OtherProgramsFileError as problem:
            raise StoreUnavailable(f"{self.path}: {problem}, where the {self._what} belongs; move it away") from problem
        except sqlite3.DatabaseError as problem:
            raise self._unavailable(problem) from problem

    def _connect(self) -> sqlite3.Connection:
        if self.path != MEMORY:
            create_file(self.path)
        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            db.execute("PRAGMA synchronous = NORMAL")
            found = create_tables(db, self._tables, PATIENCE)
        except BaseException:
            db.close()
            raise
        if found != self._tables.version:
            db.close()
            raise sqlite3.DatabaseError("it is of another version")
        return db

    def _unavailable(self, problem: Exception) -> StoreUnavailable:
        return StoreUnavailable(f"{self.path}: {problem}; the {self._what} can be deleted: it is made again")
