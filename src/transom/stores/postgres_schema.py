"""The tables of a PostgreSQL store: their definitions, and how they are created.

The version of the tables is in `migrations`. They are created in one transaction, under a lock that other processes
wait for.

`logs.length` is the number of entries of a conversation. An append raises it from the length that the writer expects,
in the statement that stores the entries: the second of two writers finds another length. `logs.id` is never used again,
so a handle of a forgotten conversation reaches no other. `entries.append` is a number that each append draws at random:
after a lost connection it says whether that append is there. `blobs` has large bodies by the hash of their content. The
foreign key keeps a body for as long as an entry refers to it, whoever forgets at the same time.
"""

from __future__ import annotations

from functools import cache
from typing import Any, LiteralString

from psycopg import Connection, Error
from psycopg.errors import DuplicateTable, UndefinedTable
from psycopg.sql import SQL, Identifier

from transom.stores.base import store_damaged
from transom.stores.postgres_url import parse_postgres_url

TABLES: tuple[LiteralString, ...] = (
    """CREATE TABLE {s}.logs (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name bytea NOT NULL,
            length bigint NOT NULL,
            followed_until timestamptz
        ) WITH (fillfactor = 70)""",
    "CREATE UNIQUE INDEX logs_name ON {s}.logs (sha256(name))",  # a name may be too long for an index
    "CREATE TABLE {s}.blobs (key bytea PRIMARY KEY, body bytea NOT NULL)",
    """CREATE TABLE {s}.entries (
            log bigint NOT NULL,
            seq bigint NOT NULL,
            append bigint NOT NULL,
            body bytea NOT NULL,
            blob bytea REFERENCES {s}.blobs,
            PRIMARY KEY (log, seq)
        )""",
    "CREATE INDEX entries_blob ON {s}.entries (blob) WHERE blob IS NOT NULL",
    """CREATE TABLE {s}.snapshots (
            log bigint PRIMARY KEY REFERENCES {s}.logs ON DELETE CASCADE,
            at bigint NOT NULL,
            view bytea NOT NULL
        )""",
    "CREATE TEXT SEARCH DICTIONARY {s}.stem (TEMPLATE = snowball, LANGUAGE = english)",  # no stop words
    "CREATE TEXT SEARCH CONFIGURATION {s}.words (COPY = simple)",
    """ALTER TEXT SEARCH CONFIGURATION {s}.words ALTER MAPPING FOR asciiword, word, numword WITH {s}.stem""",
    """CREATE TABLE {s}.search_logs (
            log bigint PRIMARY KEY REFERENCES {s}.logs ON DELETE CASCADE,
            length bigint NOT NULL,
            user_key bytea,
            session_key bytea,
            family bigint
        )""",
    "CREATE INDEX search_logs_user ON {s}.search_logs (user_key)",
    "CREATE INDEX search_logs_family ON {s}.search_logs (family, log)",
    """CREATE TABLE {s}.search_entries (
            log bigint NOT NULL REFERENCES {s}.search_logs ON DELETE CASCADE,
            seq bigint NOT NULL,
            part integer NOT NULL,
            at float8 NOT NULL,
            role text NOT NULL,
            tool text NOT NULL,
            tools text[] NOT NULL,
            run_id text NOT NULL,
            hidden boolean NOT NULL,
            names text[] NOT NULL,
            text text NOT NULL,
            words tsvector NOT NULL,
            PRIMARY KEY (log, seq, part)
        )""",
    "CREATE INDEX search_entries_words ON {s}.search_entries USING gin (words)",
    # for dates far back, without the rows of newer ones
    "CREATE INDEX search_entries_at ON {s}.search_entries (at, log, seq)",
    """CREATE TABLE {s}.search_vectors (
            log bigint NOT NULL REFERENCES {s}.search_logs ON DELETE CASCADE,
            seq bigint NOT NULL,
            part integer NOT NULL,
            model text NOT NULL,
            vector bytea NOT NULL,
            PRIMARY KEY (log, seq, model, part)
        )""",
    "CREATE TABLE {s}.search_words (word text PRIMARY KEY, entries bigint NOT NULL)",
    "CREATE INDEX search_words_unused ON {s}.search_words (word) WHERE entries <= 0",
    # pg_trgm makes the search for parts of words fast. Where it is missing they are looked through.
    """DO $$ DECLARE place text; BEGIN
            BEGIN
                CREATE EXTENSION IF NOT EXISTS pg_trgm;
            EXCEPTION WHEN OTHERS THEN NULL; -- it is not there, or this role may not
            END;
            SELECT nspname INTO place FROM pg_opclass JOIN pg_namespace ON pg_namespace.oid = opcnamespace
                WHERE opcname = 'gin_trgm_ops' LIMIT 1;
            IF place IS NOT NULL THEN
                EXECUTE format('CREATE INDEX search_words_parts ON {s}.search_words USING gin (word %I.gin_trgm_ops)',
                    place);
            END IF;
        EXCEPTION WHEN OTHERS THEN NULL; -- this role may not use the schema of the extension
        END $$""",
    # pgvector compares vectors on the server. Where it is missing now, the column has bytes for good.
    """DO $$ DECLARE place text; BEGIN
            BEGIN
                CREATE EXTENSION IF NOT EXISTS vector;
            EXCEPTION WHEN OTHERS THEN NULL; -- it is not there, or this role may not
            END;
            SELECT nspname INTO place FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
                WHERE extname = 'vector';
            IF place IS NOT NULL THEN
                EXECUTE format('ALTER TABLE {s}.search_vectors ALTER COLUMN vector TYPE %I.vector USING NULL', place);
            END IF;
        EXCEPTION WHEN OTHERS THEN NULL; -- this role may not use the schema of the extension
        END $$""",
    # what it holds may be lost: without a write-ahead log no commit of it waits for the disk
    """CREATE UNLOGGED TABLE {s}.leases (
            name bytea PRIMARY KEY,
            holder text NOT NULL,
            until timestamptz NOT NULL
        ) WITH (fillfactor = 50)""",
    # likewise
    "CREATE UNLOGGED TABLE {s}.prefixes (key bytea PRIMARY KEY, name bytea NOT NULL, length bigint NOT NULL)",
)
VERSION = 1

_LOCK = 0x7472616E736F6D
"""The number of the advisory lock that migrations take: "transom" in ASCII."""


def is_there(url: str) -> bool:
    """Whether the schema that a URL names has our tables. Also true if the server cannot be asked: opening the store
    then raises the error. Raises InvalidSetting if the URL is no valid one."""
    found = parse_postgres_url(url)
    try:
        with Connection.connect(found.conninfo, autocommit=True) as db:
            row = db.execute("SELECT to_regclass(%s)", (f'"{found.schema}".migrations',)).fetchone()
    except Error:
        return True
    return row is not None and row[0] is not None


def prepare_tables(db: Connection[Any], schema: str, place: str) -> None:
    """Create a schema and its tables, in one transaction, unless they are there. `db`: a connection in autocommit mode.
    `place`: the URL that errors show, without its password.

    Raises StoreDamaged if the schema has other tables of these names, or tables of a newer version; psycopg's errors.
    """
    if _version(db, schema, place) == VERSION:
        return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if _version(db, schema, place) == VERSION:  # another process was faster
            return
        _create_schema(db, schema)
        for statement in TABLES:
            try:
                db.execute(qualified(statement, schema))
            except DuplicateTable as problem:
                others = f"schema {schema} has other tables of these names: give another one with ?schema=NAME"
                raise store_damaged(place, others) from problem
        db.execute(qualified("INSERT INTO {s}.migrations (version) VALUES (%s)", schema), (VERSION,))


@cache
def qualified(statement: LiteralString, schema: str) -> bytes:
    """Return the statement with the quoted name of the schema in place of `{s}`."""
    return SQL(statement).format(s=Identifier(schema)).as_bytes()


def _version(db: Connection[Any], schema: str, place: str) -> int:
    """Return the version of the tables in the schema; 0 if there are none. Raises StoreDamaged if it is newer."""
    try:
        with db.transaction():
            row = db.execute(qualified("SELECT coalesce(max(version), 0) FROM {s}.migrations", schema)).fetchone()
    except UndefinedTable:
        return 0
    assert row is not None
    (version,) = row
    if version > VERSION:
        newer = f"a newer Transom wrote this (format {version}, this one reads {VERSION})"
        raise store_damaged(place, newer, "update Transom")
    return version


def _create_schema(db: Connection[Any], schema: str) -> None:
    found = db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone()
    if found is None:  # IF NOT EXISTS needs the right to create schemas, even if there is nothing to create
        db.execute(qualified("CREATE SCHEMA {s}", schema))
    migrations = """CREATE TABLE {s}.migrations (
        version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now()
    )"""
    db.execute(qualified(migrations, schema))
