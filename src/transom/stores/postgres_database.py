"""One PostgreSQL database: the pool of connections that this process has to it, what to do when one breaks, and errors
in our words.

A connection breaks when the server restarts or the network fails. Then the work is done again on another connection,
for up to PATIENCE seconds. Work that may not be done twice finds out by itself whether it was done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, LiteralString, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from transom.errors import InvalidSetting, StoreUnavailable, TransomError
from transom.stores.checks import store_damaged, store_unavailable
from transom.stores.postgres_listener import Listener
from transom.stores.postgres_schema import prepare_tables, qualified
from transom.stores.postgres_url import PostgresUrl
from transom.stores.row_cache import RowCache
from transom.stores.shared import Shared

PATIENCE = 30.0
"""Seconds to try again when the server cannot be reached."""
OPENING_PATIENCE = 5.0
"""Seconds that opening a store waits for a server that is just being restarted."""
MAX_CONNECTIONS = 10
"""Connections of one process to one database, at most."""
_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds before each new try; then the last one again and again."""

_DEFAULTS = {"connect_timeout": "10", "tcp_user_timeout": "30000", "application_name": "transom"}
_STARTING = ("08", "57P01", "57P02", "57P03")
"""SQLSTATEs of a server that closes connections or is not ready."""
_RESTARTING = ("starting up", "shutting down", "not yet accepting", "refused", "No such file", "closed the connection")
"""In the message of a failed connection, which has no SQLSTATE."""
_AGAIN = ("40001", "40P01", "23503")
"""SQLSTATEs of a transaction that lost to another one: nothing was stored, and the same work may succeed now."""
_DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"

T = TypeVar("T")
Db = Connection[TupleRow]


class PostgresDatabase:
    """A pool of connections to one schema of one database. Any thread may use it."""

    def __init__(self, url: PostgresUrl) -> None:
        self.users: WeakSet[object] = WeakSet()
        self.place = url.shown
        self.schema = url.schema
        self._process = os.getpid()
        self.cache = RowCache()
        self._statements: dict[str, bytes] = {}
        self._lock = Lock()
        self._listener: Listener | None = None
        try:
            self._settings = _DEFAULTS | {key: str(value) for key, value in conninfo_to_dict(url.conninfo).items()}
        except psycopg.ProgrammingError:  # its text may quote the password
            raise InvalidSetting(f"store {url.shown!r}: libpq does not take this URL") from None
        self._prepare()
        self._pool = ConnectionPool(
            kwargs={**self._settings, "autocommit": True},
            min_size=0,
            max_size=MAX_CONNECTIONS,
            num_workers=1,
            open=True,
            configure=_configure,
            reconnect_timeout=PATIENCE,
        )

    def __repr__(self) -> str:
        return f"PostgresDatabase({self.place!r})"

    def is_current(self) -> bool:
        """A URL leads to the same database for ever; connections are made anew when they break."""
        return not self._pool.closed

    def close(self) -> None:
        """Close all connections."""
        if self._process != os.getpid():
            return
        if self._listener is not None:
            self._listener.close()
        self._pool.close()

    def statement(self, text: LiteralString) -> bytes:
        """A statement for this schema, which stands for `{s}`."""
        found = self._statements.get(text)
        return self._statements.setdefault(text, qualified(text, self.schema)) if found is None else found

    def fetch(self, text: LiteralString, *parameters: object) -> list[Any]:
        """All rows of one statement, which may be done twice. Raises StoreUnavailable, StoreDamaged."""
        return self.run(lambda db: self.rows(db, text, *parameters))

    def rows(self, db: Db, text: LiteralString, *parameters: object) -> list[Any]:
        """All rows of one statement: one round trip."""
        cursor = db.cursor(binary=True)
        cursor.execute(self.statement(text), parameters)
        return cursor.fetchall() if cursor.description else []

    def run(self, work: Callable[[Db], T], in_doubt: Callable[[], bool] | None = None) -> T:
        """Do this work on a connection; again if the connection breaks, or another transaction was in the way.

        `in_doubt`: after a failure, whether the work may have been done all the same; the error says so. Raises
        StoreUnavailable, StoreDamaged, InvalidSetting.
        """
        self._check_process()
        stop, tries = time.monotonic() + PATIENCE, 0
        while True:
            try:
                with self._pool.connection(timeout=max(0.1, stop - time.monotonic())) as db:
                    return work(db)
            except PoolClosed as problem:
                raise InvalidSetting(f"{self.place}: the store is closed") from problem
            except psycopg.Error as problem:
                again = _is_lost(problem) or problem.sqlstate in _AGAIN
                if not again or isinstance(problem, PoolTimeout) or time.monotonic() > stop:
                    raise self._translated(problem, in_doubt) from problem
                if tries == 0 and _is_lost(problem):
                    self._pool.check()  # the other idle connections are as old as this one
            time.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1

    @property
    def listener(self) -> Listener:
        """The connection that hears of appends; opened when it is first asked for."""
        with self._lock:
            if self._listener is None:
                self._listener = Listener(self.connect, channel(self.schema))
            return self._listener

    def connect(self) -> Db:
        """A connection of its own, outside the pool."""
        return Connection.connect(**self._settings, autocommit=True)  # pyright: ignore[reportArgumentType]

    def _prepare(self) -> None:
        """Make the tables what this version needs. This connection also gives a clear error where a pool has none."""
        stop = time.monotonic() + OPENING_PATIENCE
        while True:
            try:
                with self.connect() as db:
                    prepare_tables(db, self.schema, self.place)
            except psycopg.Error as problem:
                restarting = _is_lost(problem) and any(word in str(problem) for word in _RESTARTING)
                if not restarting or time.monotonic() > stop:
                    raise self._translated(problem) from problem
                time.sleep(_PAUSES[-1])
            else:
                return

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise InvalidSetting(f"{self.place}: the store was opened before a fork; open it again in this process")

    def _translated(self, problem: psycopg.Error, in_doubt: Callable[[], bool] | None = None) -> TransomError:
        why = f"no connection within {PATIENCE:.0f} s" if isinstance(problem, PoolTimeout) else one_line(problem)
        if in_doubt is not None and in_doubt():
            doubt = "whether this append was stored is not known: refresh the log before it is tried again"
            return StoreUnavailable(f"{self.place}: {why}; {doubt}")
        if isinstance(problem, (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.DataError)):
            return store_damaged(self.place, why)
        return store_unavailable(self.place, why)


def channel(schema: str) -> str:
    """The channel on which appends to followed conversations are announced."""
    return f"transom_{schema}"


def one_line(problem: BaseException) -> str:
    """The first line of a message of PostgreSQL."""
    return (str(problem).strip() or type(problem).__name__).splitlines()[0]


def _configure(db: Db) -> None:
    """Acknowledged means on disk, also where the server's default says otherwise."""
    db.execute(_DURABLE)


def _is_lost(problem: psycopg.Error) -> bool:
    state = problem.sqlstate or ""
    return isinstance(problem, psycopg.OperationalError) and (not state or state.startswith(_STARTING))


_shared: Shared[PostgresDatabase] = Shared()


def shared_database(url: PostgresUrl, user: object) -> PostgresDatabase:
    """The pool of this process for a URL, with one more user."""
    return _shared.use((url.conninfo, url.schema), user, lambda: PostgresDatabase(url))


def release_database(database: PostgresDatabase, user: object) -> None:
    """One user less; the last one closes the pool."""
    _shared.release(database, user)
