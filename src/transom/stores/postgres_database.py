"""One PostgreSQL database: the pool of connections that this process has to it, retries after a lost connection, and
our errors in place of psycopg's.

A connection breaks when the server restarts or the network fails. Then the work is done again on another connection,
until RETRY_SECONDS have passed. Work that must not be done twice checks by itself whether it was done.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread
from typing import Any, LiteralString, TypeVar
from weakref import WeakSet

from transom.errors import InvalidSetting, StoreUnavailable, TransomError
from transom.extras import imports_of
from transom.stores.base import store_damaged, store_unavailable
from transom.stores.lru_cache import LruCache
from transom.stores.postgres_url import PostgresUrl
from transom.stores.shared import Shared

with imports_of("postgres"):
    import psycopg
    from psycopg import Connection
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.rows import TupleRow
    from psycopg.sql import SQL, Identifier
    from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

    from transom.stores.postgres_schema import prepare_tables, qualified

Row = tuple[int, bytes, bytes | None]
"""The seq of an entry, the encoded entry, and the key of its large body if that is stored apart."""

CACHED_BYTES = 16_000_000
"""The most bytes of encoded entries that are cached; large bodies are not among them."""
BLOCK = 64
"""Entries that are fetched together when one of them is read."""


_LOOK = 0.25
"""Seconds after which the thread checks whether it should end."""
_PAUSE = 0.5
"""Seconds before a lost connection is opened again."""


class Listener:
    """A thread that listens for announcements of appends, and wakes whoever waits for the conversation. Making one
    starts the thread. `connect`: opens the connection on which it listens; `channel`: the name of the announcements.

    If the connection is lost, announcements may be missed. That only delays a follower, which looks by itself from time
    to time.
    """

    def __init__(self, connect: Callable[[], Connection[Any]], channel: str) -> None:
        self._connect, self._channel = connect, channel
        self._lock = Lock()
        self._waiting: dict[str, set[Event]] = {}
        self._closed = Event()
        self._thread = Thread(target=self._listen, name=f"{channel} listener", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and wake all who wait. Returns when the thread has ended, or after 5 seconds."""
        self._closed.set()
        self._wake()
        self._thread.join(timeout=5)

    @contextmanager
    def waiting_for(self, key: str) -> Generator[Event]:
        """Yield an event that is set when the conversation may have new entries; also when the connection was lost and
        made again, and by `close`. After the block nothing sets it any more. `key`: the SHA-256 hash of the
        conversation's name, in hex digits, as announcements have it.
        """
        event = Event()
        with self._lock:
            self._waiting.setdefault(key, set()).add(event)
        try:
            yield event
        finally:
            with self._lock:
                events = self._waiting[key]
                events.discard(event)
                if not events:
                    del self._waiting[key]

    def _listen(self) -> None:
        while not self._closed.is_set():
            with suppress(psycopg.Error), self._connect() as db:
                db.execute(SQL("LISTEN {}").format(Identifier(self._channel)))
                self._wake()  # something may have come while nobody listened
                while not self._closed.is_set():
                    for notify in db.notifies(timeout=_LOOK):
                        self._wake(notify.payload)
            self._closed.wait(_PAUSE)

    def _wake(self, key: str | None = None) -> None:
        with self._lock:
            found = self._waiting.values() if key is None else [self._waiting.get(key, set[Event]())]
            for events in found:
                for event in events:
                    event.set()


RETRY_SECONDS = 30.0
"""How long work is tried again while the server cannot be reached."""
RETRY_SECONDS_OPENING = 5.0
"""How long opening a store waits for a server that is just being restarted."""
MAX_CONNECTIONS = 10
"""The most connections that one process has to one database."""
_PAUSES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Seconds before the first, second, … new try; all later ones wait as long as the last."""

_DEFAULTS = {"connect_timeout": "10", "tcp_user_timeout": "30000", "application_name": "transom"}
_STARTING = ("08", "57P01", "57P02", "57P03")
"""How the SQLSTATEs of a server begin that closes its connections or is not ready yet."""
_RESTARTING = (
    "starting up",
    "shutting down",
    "terminating connection",
    "not yet accepting",
    "refused",
    "No such file",
    "closed the connection",
)
"""Phrases in the message of a connection that could not be opened that mean a restart; such an error has no
SQLSTATE."""
_AGAIN = ("40001", "40P01", "23503")
"""SQLSTATEs of a transaction that lost to another one: nothing was stored, and the same work may succeed now."""
_DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"

T = TypeVar("T")
Db = Connection[TupleRow]


class PostgresDatabase:
    """A pool of connections to one schema of one database. Any thread may use it.

    Creating one connects, for at most 5 seconds while the server is restarting (RETRY_SECONDS_OPENING), and creates
    missing tables. Raises InvalidSetting for a URL that libpq does not take, StoreUnavailable if the server cannot be
    reached or refuses, StoreDamaged if the schema has other tables of our names, or tables of a newer version.
    """

    def __init__(self, url: PostgresUrl) -> None:
        self.users: WeakSet[object] = WeakSet()
        self.place = url.shown
        self.schema = url.schema
        self._process = os.getpid()
        self.cached_rows: LruCache[tuple[int, int], Row] = LruCache(CACHED_BYTES)
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
            reconnect_timeout=RETRY_SECONDS,
        )

    def __repr__(self) -> str:
        return f"PostgresDatabase({self.place!r})"

    def is_current(self) -> bool:
        """Whether the pool is open. (`Shared` asks before it gives the pool out again. A URL, unlike a file, always
        names the same database.)"""
        return not self._pool.closed

    def close(self) -> None:
        """Close all connections. In a forked child process this does nothing: they are the parent's."""
        if self._process != os.getpid():
            return
        if self._listener is not None:
            self._listener.close()
        self._pool.close()

    def cache_rows(self, log: int, rows: Iterable[Row]) -> None:
        """Add rows of the log with this id to `cached_rows`, whose keys are pairs of log and seq. Rows that were not
        used for longest are dropped above CACHED_BYTES."""
        for row in rows:
            self.cached_rows.put((log, row[0]), row, len(row[1]))

    def statement(self, text: LiteralString) -> bytes:
        """Return the statement with this database's schema in place of `{s}`."""
        return qualified(text, self.schema)

    def fetch(self, text: LiteralString, *parameters: object) -> list[Any]:
        """Execute one statement on a connection of the pool and return all its rows. `{s}` stands for the schema.

        It may be executed twice if the connection breaks, so it must be safe to repeat. Raises StoreUnavailable if the
        server cannot be reached or refuses, StoreDamaged if a table is missing or different, InvalidSetting if the
        store is closed or was opened before a fork of this process.
        """
        return self.run(lambda db: self.rows(db, text, *parameters))

    def rows(self, db: Db, text: LiteralString, *parameters: object) -> list[Any]:
        """Execute one statement, in which `{s}` stands for the schema, on this connection and return all its rows: one
        round trip. Raises psycopg's errors."""
        cursor = db.cursor(binary=True)
        cursor.execute(self.statement(text), parameters)
        return cursor.fetchall() if cursor.description else []

    def run_once(self, append: Callable[[Db], T], stored: Callable[[Db], T | None]) -> T:
        """Call `append` with a connection and return its result, as `run` does, but never store anything twice. Before
        `append` is called again, `stored` must say whether an earlier call has stored: with the result if so, else with
        None. If the last try fails after `append` was called, StoreUnavailable says that it is not known whether
        anything was stored, whatever the error was."""
        tried = False

        def work(db: Db) -> T:
            nonlocal tried
            if tried and (found := stored(db)) is not None:
                return found
            tried = True
            return append(db)

        return self.run(work, in_doubt=lambda: tried)

    def run(self, work: Callable[[Db], T], in_doubt: Callable[[], bool] = lambda: False) -> T:
        """Call `work` with a connection and return its result. Each statement is committed by itself, unless `work`
        begins a transaction.

        `work` is called again, for at most 30 seconds (RETRY_SECONDS), if the connection breaks or another transaction
        was in the way, so it must be safe to repeat. `in_doubt`: asked when the last try has failed; if it returns
        true, the error says that it is not known whether anything was stored.

        Raises StoreUnavailable if the server cannot be reached or refuses, StoreDamaged if a table is missing or
        different, InvalidSetting if the store is closed or was opened before a fork of this process.
        """
        if self._process != os.getpid():
            raise InvalidSetting(f"{self.place}: the store was opened before a fork; open it again in this process")
        stop, tries = time.monotonic() + RETRY_SECONDS, 0
        while True:
            try:
                with self._pool.connection(timeout=max(0.1, stop - time.monotonic())) as db:
                    return work(db)
            except PoolClosed as problem:
                raise InvalidSetting(f"{self.place}: the store is closed") from problem
            except psycopg.Error as problem:
                may_retry = _is_lost(problem) or problem.sqlstate in _AGAIN
                if not may_retry or isinstance(problem, PoolTimeout) or time.monotonic() > stop:
                    raise self._translated(problem, in_doubt) from problem
                if tries == 0 and _is_lost(problem):
                    self._pool.check()  # the other idle connections are as old as this one
            time.sleep(_PAUSES[min(tries, len(_PAUSES) - 1)])
            tries += 1

    @property
    def listener(self) -> Listener:
        """The thread that hears of appends, on a connection outside the pool. The first access starts it."""
        with self._lock:
            if self._listener is None:
                self._listener = Listener(self.connect, channel(self.schema))
            return self._listener

    def connect(self) -> Db:
        """Open a new connection outside the pool; the caller closes it. Raises psycopg's errors."""
        return Connection.connect(**self._settings, autocommit=True)  # pyright: ignore[reportArgumentType]

    def _prepare(self) -> None:
        """Create missing tables. It connects without the pool, which reports a wrong password only as a timeout."""
        stop = time.monotonic() + RETRY_SECONDS_OPENING
        while True:
            connected = False
            try:
                with self.connect() as db:
                    connected = True
                    prepare_tables(db, self.schema, self.place)
            except psycopg.Error as problem:
                # a wrong host is an error at once; a connection that was open and broke is a restart, whatever it says
                restarting = connected or any(word in str(problem) for word in _RESTARTING)
                if not (_is_lost(problem) and restarting) or time.monotonic() > stop:
                    raise self._translated(problem) from problem
                time.sleep(_PAUSES[-1])
            else:
                return

    def _translated(self, problem: psycopg.Error, in_doubt: Callable[[], bool] = lambda: False) -> TransomError:
        why = f"no connection within {RETRY_SECONDS:.0f} s" if isinstance(problem, PoolTimeout) else error_line(problem)
        if in_doubt():
            doubt = "whether this append was stored is not known: refresh the log before it is tried again"
            return StoreUnavailable(f"{self.place}: {why}; {doubt}")
        if isinstance(problem, (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn, psycopg.DataError)):
            return store_damaged(self.place, why)
        return store_unavailable(self.place, why)


def channel(schema: str) -> str:
    """Return the name of the channel on which appends to followed conversations are announced."""
    return f"transom_{schema}"


def error_line(problem: BaseException) -> str:
    """Return the first line of an error's message, or the error's type if it has none."""
    return (str(problem).strip() or type(problem).__name__).splitlines()[0]


def _configure(db: Db) -> None:
    """Make a new connection wait for the disk at each commit, also where the server's default says otherwise."""
    db.execute(_DURABLE)


def _is_lost(problem: psycopg.Error) -> bool:
    state = problem.sqlstate or ""
    return isinstance(problem, psycopg.OperationalError) and (not state or state.startswith(_STARTING))


SHARED_DATABASES: Shared[PostgresDatabase] = Shared()
"""The pools of this process, by the connection and the schema."""


def raw_name(name: str) -> bytes:
    """Return the bytes of a name, as the tables keep it: a text of PostgreSQL has no lone surrogates."""
    return name.encode("utf-8", "surrogatepass")


def name_of(stored: bytes) -> str:
    """Convert the bytes of `raw_name` back to the name."""
    return bytes(stored).decode("utf-8", "surrogatepass")
