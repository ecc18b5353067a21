"""Creates the tables of our SQLite files, where several processes may open a file for the first time at once.

A file says whose it is by its `application_id`, and which tables it has by its `user_version`: two numbers in its
header, 0 in an empty file.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

PAUSE_SECONDS = 0.01
"""Seconds between two tries where SQLite does not wait by itself."""
SILENT_MILLISECONDS = 1_000
"""How long to wait for a lock of another process before a warning says so."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tables:
    """The tables of one kind of file. `application`: its application_id. `version`: the user_version of these tables,
    at least 1. `statements` create them; those that set the two numbers are added.
    """

    application: int
    version: int
    statements: Sequence[str]


class OtherProgramsFileError(sqlite3.DatabaseError):
    """Raised for a file that is a database of another program: it has another `application_id`, or none and is not
    empty."""

    def __init__(self) -> None:
        super().__init__("this is another program's database")


def version_of(db: sqlite3.Connection, application: int) -> int:
    """Return the user_version of a file with this application_id; 0 if the file is empty.

    Raises OtherProgramsFileError if it has another application_id, or none and is not empty.
    """
    if not db.in_transaction:
        db.execute("BEGIN")  # one consistent look: another process may be creating the file right now
        try:
            return version_of(db, application)
        finally:
            db.execute("COMMIT")
    owner, version = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version"))
    if owner == application:
        return version
    if owner or version or db.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise OtherProgramsFileError
    return 0


def create_tables(db: sqlite3.Connection, tables: Tables, patience: float) -> int:
    """Create the tables if the file is empty, and switch it to a write-ahead log. Returns the version of the tables
    that the file has then. `db`: as for `transaction`.

    Several processes may do this at once: one creates the tables, and the others wait for it, up to `patience` seconds
    for the switch, and as long as the timeout of the connection says for the tables. A file that has tables of any
    version is not changed.

    Raises OtherProgramsFileError if the file is another program's, sqlite3.Error if it cannot be read or written.
    """
    _execute_or_wait(db, "SELECT 1 FROM sqlite_schema LIMIT 1")
    version = version_of(db, tables.application)
    if version == 0:
        _use_write_ahead_log(db, patience)
        with transaction(db):
            if version_of(db, tables.application) == 0:  # no other process was faster
                for statement in tables.statements:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {tables.application}")
                db.execute(f"PRAGMA user_version = {tables.version}")
        version = version_of(db, tables.application)
    return version


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """Run the block in a transaction that no other writer can interrupt.

    It is committed at the end, and rolled back if the block raises. It waits for another writer as long as the timeout
    of the connection says, and then raises sqlite3.OperationalError. The connection must be without transactions of
    Python's: `isolation_level=None`.
    """
    _execute_or_wait(db, "BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # some failures have already rolled back
            db.execute("ROLLBACK")
        raise


def _execute_or_wait(db: sqlite3.Connection, statement: str) -> None:
    """Execute a statement that may have to wait for a lock of another process: SQLite itself waits without a message.
    A warning is logged after SILENT_MILLISECONDS; then it waits for the rest of the connection's timeout."""
    timeout = db.execute("PRAGMA busy_timeout").fetchone()[0]
    try:
        db.execute(f"PRAGMA busy_timeout = {min(timeout, SILENT_MILLISECONDS)}")
        db.execute(statement).fetchall()
    except sqlite3.OperationalError as problem:
        if getattr(problem, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY or timeout <= SILENT_MILLISECONDS:
            raise
    else:
        return
    finally:
        db.execute(f"PRAGMA busy_timeout = {timeout}")
    _logger.warning("%s is locked: waiting for another process", db.execute("PRAGMA database_list").fetchone()[2])
    db.execute(statement).fetchall()


def _use_write_ahead_log(db: sqlite3.Connection, patience: float) -> None:
    """Switch the file to WAL mode. SQLite does not wait for another process that does the same: so it is tried again,
    for `patience` seconds.
    """
    stop = time.monotonic() + patience
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > stop:
                raise
            time.sleep(PAUSE_SECONDS)
        else:
            return
