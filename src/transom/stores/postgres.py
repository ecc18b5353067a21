"""A store on a PostgreSQL server: for several processes and hosts. Needs the extra `transom[postgres]`.

Entries are on the server's disk when `append` returns. An append is one statement, which raises the length in the
conversation's row of `logs` and stores the entries, or does nothing: so several writers of one conversation come one
after another. If the connection is lost, the append is tried again, after a look whether it was stored.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import LiteralString

from transom.core.entry import Entry
from transom.errors import Conflict, InvalidSetting, StoreDamaged
from transom.stores.base import (
    check_index,
    check_seqs,
    check_snapshot,
    entry_damaged,
    listed_names,
    log_forgotten,
    no_such_log,
)
from transom.stores.blobs import RowLog, body_key, encode_entry, split_entry
from transom.stores.postgres_database import (
    BLOCK,
    SHARED_DATABASES,
    Db,
    PostgresDatabase,
    Row,
    channel,
    name_of,
    raw_name,
)
from transom.stores.postgres_search import PostgresIndex, forget_words
from transom.stores.postgres_url import parse_postgres_url
from transom.stores.prefix_index import KnownPrefix
from transom.stores.view_cache import ViewCache

__all__ = ["PostgresLog", "PostgresStore"]

_BATCH = 128
"""Entries fetched at once when reading; large bodies are not among them."""
_APPEND: LiteralString = """
WITH log AS (__LOG__), new_blobs AS (
    INSERT INTO {s}.blobs (key, body)
    SELECT large.key, large.body FROM log, unnest(%b::bytea[], %b::bytea[]) AS large (key, body)
    ON CONFLICT DO NOTHING
), new_entries AS (
    INSERT INTO {s}.entries (log, seq, append, body, blob)
    SELECT log.id, %s::bigint + row.number - 1, %s::bigint, row.body, row.blob
    FROM log, unnest(%b::bytea[], %b::bytea[]) WITH ORDINALITY AS row (body, blob, number)
)
SELECT log.id, CASE WHEN log.followed THEN pg_notify(%s, %s)::text END FROM log"""
_CREATE = _APPEND.replace(
    "__LOG__",
    """INSERT INTO {s}.logs (name, length) VALUES (%s, %s) ON CONFLICT (sha256(name)) DO NOTHING
    RETURNING id, true AS followed""",
)
_EXTEND = _APPEND.replace(
    "__LOG__",
    """UPDATE {s}.logs SET length = length + %s WHERE id = %s AND length = %s
    RETURNING id, followed_until > now() AS followed""",
)
_BY_NAME = "SELECT id, length FROM {s}.logs WHERE sha256(name) = %s"
_LENGTH = "SELECT length FROM {s}.logs WHERE id = %s"
_APPENDED = "SELECT 1 FROM {s}.entries WHERE log = %s AND seq = %s AND append = %s"
_ROWS = "SELECT seq, body, blob FROM {s}.entries WHERE log = %s AND seq >= %s AND seq < %s ORDER BY seq LIMIT %s"
_SAVE = """INSERT INTO {s}.snapshots SELECT id, %s, %b FROM {s}.logs WHERE id = %s
    ON CONFLICT (log) DO UPDATE SET at = excluded.at, view = excluded.view"""
_FOLLOW = """UPDATE {s}.logs SET followed_until = now() + interval '60 seconds'
    WHERE id = %s AND (followed_until < now() + interval '30 seconds') IS NOT FALSE"""
"""Announce appends to a conversation for the next 60 seconds; run each time somebody waits for one."""
_FORK = """
WITH source AS (SELECT id FROM {s}.logs WHERE id = %s), log AS (
    INSERT INTO {s}.logs (name, length) SELECT %s, %s::bigint + 1 FROM source
    ON CONFLICT (sha256(name)) DO NOTHING RETURNING id, length - 1 AS stop
), copied AS (
    INSERT INTO {s}.entries (log, seq, append, body, blob)
    SELECT log.id, old.seq, old.append, old.body, old.blob
    FROM log, source, {s}.entries AS old WHERE old.log = source.id AND old.seq < log.stop
), one_more AS (
    INSERT INTO {s}.entries (log, seq, append, body) SELECT log.id, log.stop, %s, %b FROM log
), snapshot AS (
    INSERT INTO {s}.snapshots (log, at, view)
    SELECT log.id, old.at, old.view
    FROM log, source, {s}.snapshots AS old WHERE old.log = source.id AND old.at <= log.stop
)
SELECT id FROM log"""
_TAKE_LEASE = """
WITH taken AS (
    INSERT INTO {s}.leases AS old (name, holder, until) VALUES (%s, %s, now() + make_interval(secs => %s))
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE old.holder = excluded.holder OR old.until <= now() RETURNING holder
)
SELECT holder FROM taken UNION ALL SELECT holder FROM {s}.leases WHERE name = %s LIMIT 1"""
_RELEASE_LEASE = "DELETE FROM {s}.leases WHERE name = %s AND holder = %s"
_UNNAME = "DELETE FROM {s}.logs WHERE sha256(name) = %s RETURNING id"
_BODIES = "SELECT DISTINCT blob FROM {s}.entries WHERE log = %s AND blob IS NOT NULL"
_DELETE_ENTRIES = "DELETE FROM {s}.entries WHERE log = %s"
_DELETE_BODIES = """DELETE FROM {s}.blobs WHERE key = ANY(%b::bytea[])
    AND NOT EXISTS (SELECT FROM {s}.entries WHERE blob = key)"""


class PostgresLog(RowLog):
    """The log of one conversation in the database (a `StoredLog`). It sees what other handles and processes have
    appended only after `refresh` or `wait`."""

    def __init__(self, store: PostgresStore, name: str) -> None:
        self.name, self.view_cache = name, store.view_cache
        self._store = store
        self._id: int | None = None
        self.refresh()

    def __getitem__(self, seq: int, /) -> Entry:
        check_index(seq, self._n)
        log, database = self._id, self._store.database
        assert log is not None, "a log with entries has an id"
        if (row := database.cached_rows.get((log, seq))) is None:
            start = seq - seq % BLOCK
            rows = self._rows(start, min(start + BLOCK, self._n))
            database.cache_rows(log, rows)
            row = next((one for one in rows if one[0] == seq), None)
        return self._entry(seq, row)

    @property
    def id(self) -> int | None:
        """The id of the conversation in the database, which no other conversation ever gets; None if nothing was
        appended yet, as far as this handle knows.
        """
        return self._id

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Store all of these entries or none, as `StoredLog.append` says.

        It takes one round trip, or two if another writer was faster or the handle has not seen the log yet. Raises
        StoreUnavailable also if the connection was lost and the server did not come back in time; the message says
        whether it is known that nothing was stored.
        """
        pairs = [split_entry(entry) for entry in check_seqs(entries, expect)]
        if not pairs or (self._id is None and expect):
            self._must_have(expect)
        while pairs:
            if (log := self._append(pairs, expect)) is not None:
                self._id, self._n = log, expect + len(pairs)
                return
            self._must_have(expect)  # else it was forgotten since: the next try begins it anew

    def _append(self, pairs: Sequence[tuple[bytes, bytes | None]], expect: int) -> int | None:
        """Store entries, as `split_entry` returns them, and return the id of the log; None, with nothing stored, if it
        has another length or was forgotten. By a random number a second try finds out whether the first was stored."""
        database, known, number = self._store.database, self._id, secrets.randbits(63)
        keys = [None if body is None else bytes.fromhex(body_key(body)) for _, body in pairs]
        bodies = {key: body for key, (_, body) in zip(keys, pairs, strict=True) if key is not None}
        large = sorted(bodies.items())  # in one order for all writers: two of them never wait for each other
        name, lines = raw_name(self.name), [line for line, _ in pairs]
        parameters = (
            [key for key, _ in large],
            [body for _, body in large],
            expect,
            number,
            lines,
            keys,
            channel(database.schema),
            _key(self.name),
        )

        def append(db: Db) -> int | None:
            if known is None:
                found = database.rows(db, _CREATE, name, len(lines), *parameters)
            else:
                found = database.rows(db, _EXTEND, len(lines), known, expect, *parameters)
            return found[0][0] if found else None

        def stored(db: Db) -> int | None:
            named = [] if known is not None else database.rows(db, _BY_NAME, sha256(name).digest())
            log = named[0][0] if named else known
            return log if database.rows(db, _APPENDED, log, expect, number) else None

        if (log := database.run_once(append, stored)) is not None:
            rows = zip(lines, keys, strict=True)
            database.cache_rows(log, ((seq, *row) for seq, row in enumerate(rows, expect)))
        return log

    def refresh(self) -> int:
        log, n = self._look()
        if n < self._n:
            raise self._damaged(n, "it is missing")
        self._id, self._n = log, n
        return n

    def wait(self, timeout: float) -> int:
        """Wait until somebody appends, at most `timeout` seconds; take in the new entries and return the new length.

        Returns at once if there are entries already that this handle does not know. The length is the same as before if
        the time passes without an append, or if the connection was lost meanwhile. The conversation need not exist yet.
        Raises as `refresh` does.
        """
        known, database = self._n, self._store.database
        with database.listener.waiting_for(_key(self.name)) as event:
            if self._id is not None:
                database.fetch(_FOLLOW, self._id)  # from now on appends are announced
            if self.refresh() > known:
                return self._n
            event.wait(timeout)
        return self.refresh()

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        check_snapshot(at, self._n)
        if self._id is not None:
            self._store.database.fetch(_SAVE, at, snapshot, self._id)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        rows = self._store.database.fetch("SELECT at, view FROM {s}.snapshots WHERE log = %s", self._id)
        return rows[0] if rows else None

    def copy_to(self, name: str, stop: int, then: Entry) -> None:
        """Create the conversation `name` from the first `stop` entries of this one, its snapshot if that covers no
        more, and `then`, whose seq must be `stop` (not checked).

        It is one statement: the entries do not leave the server. Raises Conflict if there is a conversation by that
        name, UnknownLog if this one was forgotten, ValueError unless 0 <= `stop` <= len(self).
        """
        check_snapshot(stop, self._n)
        database, number, row = self._store.database, secrets.randbits(63), encode_entry(then)

        def stored(db: Db) -> list[Row] | None:
            found = database.rows(db, _BY_NAME, sha256(raw_name(name)).digest())
            return database.rows(db, _APPENDED, found[0][0], stop, number) if found else None

        if not database.run_once(
            lambda db: database.rows(db, _FORK, self._id, raw_name(name), stop, number, row), stored
        ):
            self._look()  # raises UnknownLog if it was forgotten
            raise Conflict(0, len(self._store.open(name)))

    def take_lease(self, holder: str, seconds: float) -> str:
        """Take or renew the lease of this conversation for `seconds`, unless another holder has it. Return who holds it
        then: `holder`, or the other. The lease ends by the server's clock."""
        key = sha256(raw_name(self.name)).digest()
        while True:  # another one may give it back between the two halves of the statement
            if found := self._store.database.fetch(_TAKE_LEASE, key, holder, seconds, key):
                return found[0][0]

    def release_lease(self, holder: str) -> None:
        """End the lease if `holder` has it."""
        self._store.database.fetch(_RELEASE_LEASE, sha256(raw_name(self.name)).digest(), holder)

    def _look(self) -> tuple[int | None, int]:
        """Read the log's id and length from the server. Raises UnknownLog if its conversation was forgotten."""
        database = self._store.database
        if self._id is None:
            rows = database.fetch(_BY_NAME, sha256(raw_name(self.name)).digest())
            return rows[0] if rows else (None, 0)
        rows = database.fetch(_LENGTH, self._id)
        if not rows:
            raise log_forgotten(self.name)
        return self._id, rows[0][0]

    def _must_have(self, expect: int) -> None:
        """Raise Conflict if the stored log does not have `expect` entries, UnknownLog if it was forgotten."""
        log, n = self._look()
        if n != expect:
            raise Conflict(expect, n)
        self._id = log

    def _rows(self, start: int, stop: int) -> list[Row]:
        return self._store.database.fetch(_ROWS, self._id, start, stop, _BATCH)

    def _body(self, key: bytes) -> bytes | None:
        rows = self._store.database.fetch("SELECT body FROM {s}.blobs WHERE key = %s", key)
        return rows[0][0] if rows else None

    def _damaged(self, seq: int, why: object) -> StoreDamaged:
        self._look()  # raises UnknownLog if it was forgotten meanwhile
        return entry_damaged(self._store.place, self.name, seq, why)


class PostgresStore:
    """All conversations of one schema of a PostgreSQL database. Stores with the same URL share a pool of connections.

    `url`: "postgresql://USER:PASSWORD@HOST:PORT/DATABASE", with libpq's options and with `?schema=NAME` (default
    "transom"). Missing tables are created. Raises InvalidSetting for a URL that is not of this form, StoreUnavailable
    if the server cannot be reached, StoreDamaged if the schema has other tables of these names, or was written by a
    newer version. No error and no repr contains the password.
    """

    def __init__(self, url: str) -> None:
        parsed = parse_postgres_url(url)
        self.place, self.view_cache = parsed.shown, ViewCache()
        key = parsed.conninfo, parsed.schema
        self._database: PostgresDatabase | None = SHARED_DATABASES.use(key, self, lambda: PostgresDatabase(parsed))

    def __repr__(self) -> str:
        return f"PostgresStore({self.place!r})"

    def open(self, name: str) -> PostgresLog:
        return PostgresLog(self, name)

    def names(self, prefix: str = "") -> list[str]:
        rows = self.database.fetch("SELECT name FROM {s}.logs ORDER BY id")
        return listed_names((name_of(name) for (name,) in rows), prefix)

    def search_index(self) -> PostgresIndex:
        """Return the search index of this store. It is in tables of the same schema, so all processes share it."""
        return PostgresIndex(self)

    def prefix_index(self) -> PostgresPrefixIndex:
        """Return the index of message prefixes (`stores.prefix_index`), which is a table of the same schema."""
        return PostgresPrefixIndex(self.database)

    def forget(self, name: str) -> None:
        """Remove a conversation for good: all its rows are deleted in one transaction, or none.

        PostgreSQL keeps the bytes of deleted rows in its files until they are vacuumed and overwritten, and in its
        write-ahead log and backups for as long as you keep those. Raises UnknownLog if there is no such conversation,
        StoreUnavailable if the server cannot be reached.
        """
        if not self.forget_all((name,)):
            raise no_such_log(name)

    def forget_all(self, names: Iterable[str]) -> bool:
        """Forget several conversations in one transaction; unknown names are ignored.

        False if there was nothing to remove. True too if the connection was lost and the removal was tried again:
        nobody knows then whether the first try had removed them.
        """
        names = list(names)
        self.view_cache.forget(names)
        raw = [*map(raw_name, names)]
        keys = [sha256(name).digest() for name in raw]
        database, tried = self.database, False

        def work(db: Db) -> bool:
            nonlocal tried
            was_tried, tried = tried, True
            with db.transaction():
                forget_words(database, db, keys)
                database.rows(db, FORGET_PREFIXES, raw)
                found = [row for key in keys for row in database.rows(db, _UNNAME, key)]
                for (log,) in found:
                    _delete_entries(database, db, log)
            return bool(found) or was_tried  # a first try whose connection was lost may have done it

        return database.run(work)

    def close(self) -> None:
        """Close this store. To read or write it then, also through its logs, raises InvalidSetting. Other stores with
        the same URL stay open; the last one closes their connections."""
        self.view_cache.clear()
        database, self._database = self._database, None
        if database is not None:
            SHARED_DATABASES.release(database, self)

    @property
    def database(self) -> PostgresDatabase:
        """The pool of connections, shared with other stores of the same URL.

        Raises InvalidSetting if this store is closed.
        """
        if self._database is None:
            raise InvalidSetting(f"{self.place}: the store is closed")
        return self._database


def _delete_entries(database: PostgresDatabase, db: Db, log: int) -> None:
    """Delete the entries of a conversation, and the large bodies that no other conversation has."""
    keys = [key for (key,) in database.rows(db, _BODIES, log)]
    database.rows(db, _DELETE_ENTRIES, log)
    if keys:
        database.rows(db, _DELETE_BODIES, keys)


def _key(name: str) -> str:
    """Return the key of a conversation in announcements: a hash, since anyone in the database can read them."""
    return sha256(raw_name(name)).hexdigest()


_FIND: LiteralString = "SELECT key, name, length FROM {s}.prefixes WHERE key = ANY(%s)"
_ADD: LiteralString = """INSERT INTO {s}.prefixes SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[])
    ON CONFLICT (key) DO UPDATE SET name = excluded.name, length = excluded.length"""
FORGET_PREFIXES: LiteralString = "DELETE FROM {s}.prefixes WHERE name = ANY(%s)"


class PostgresPrefixIndex:
    """An index of message prefixes (a `PrefixIndex`) in a table of the store's schema, for all processes that use the
    store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def find(self, keys: Sequence[bytes]) -> dict[bytes, KnownPrefix]:
        rows = self._database.fetch(_FIND, list(keys)) if keys else []
        return {bytes(key): KnownPrefix(name_of(name), length) for key, name, length in rows}

    def add(self, places: Iterable[tuple[bytes, KnownPrefix]]) -> None:
        known = dict(places)  # one row a key: a statement may not change a row twice
        names = [raw_name(place.name) for place in known.values()]
        self._database.fetch(_ADD, list(known), names, [place.length for place in known.values()])

    def forget(self, names: Iterable[str]) -> None:
        self._database.fetch(FORGET_PREFIXES, [raw_name(name) for name in names])
