"""Search by meaning in a PostgreSQL store: vectors of entries are computed, stored and compared.

Where the extension pgvector is there, the server compares them: one by one, or by an HNSW index of an embedder that has
many. Where it was missing when the tables were created, `search_vectors.vector` has bytes, which this process reads and
compares. Both give the same entries; an HNSW index may miss some.

All vectors have length 1, so the largest inner product is the nearest by cosine. Unlike the cosine, it is defined for a
vector of zeros too.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, LiteralString, NamedTuple

from psycopg.errors import InsufficientPrivilege
from psycopg.sql import SQL, Identifier, Literal

from transom.errors import InvalidSetting
from transom.search.base import Embedder
from transom.search.vectors import BATCH_ENTRIES, MAX_PARTS, PART_CHARACTERS, by_nearness, embedded, parts_of
from transom.stores.postgres_database import Db, PostgresDatabase
from transom.stores.postgres_search_query import Place, Ranking, SqlFilter

INDEXED_FROM = 10_000
"""How many vectors an embedder must have to get an HNSW index. Fewer are compared one by one."""
MOST_DIMENSIONS = 16_000
"""The longest vector of pgvector."""
MOST_INDEXED_DIMENSIONS = 2_000
"""The longest vector that an HNSW index takes."""

_MISSING: LiteralString = """SELECT log, seq, text FROM {s}.search_entries AS entry
    WHERE part = 0 AND NOT EXISTS (SELECT FROM {s}.search_vectors AS vector
        WHERE (vector.log, vector.seq, vector.model) = (entry.log, entry.seq, %s))"""
_ORDER: LiteralString = " ORDER BY log, seq LIMIT %s"
_ADD_BYTES: LiteralString = """INSERT INTO {s}.search_vectors (log, seq, part, model, vector)
    SELECT log, seq, %s, %s, %b FROM {s}.search_entries WHERE log = %s AND seq = %s AND part = 0
    ON CONFLICT DO NOTHING"""
_ADD: LiteralString = """INSERT INTO {s}.search_vectors (log, seq, part, model, vector)
    SELECT log, seq, %s, %s, %s::{v}.vector FROM {s}.search_entries WHERE log = %s AND seq = %s AND part = 0
    ON CONFLICT DO NOTHING"""
_STATE: LiteralString = """SELECT nspname, string_to_array(extversion, '.')::int[] >= ARRAY[0, 8]
    FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
    WHERE extname = 'vector' AND 'bytea'::regtype <> (SELECT atttypid FROM pg_attribute
        WHERE attrelid = '{s}.search_vectors'::regclass AND attname = 'vector')"""
_IS_INDEXED: LiteralString = "SELECT to_regclass('{s}.{i}') IS NOT NULL"
_MANY: LiteralString = """SELECT count(*) = %s FROM (SELECT FROM {s}.search_vectors
    WHERE model = %s AND {v}.vector_dims(vector) = {n} LIMIT %s) AS counted"""
_INDEX: LiteralString = """CREATE INDEX IF NOT EXISTS {i} ON {s}.search_vectors
    USING hnsw ((vector::{v}.vector({n})) {v}.vector_ip_ops) WHERE model = {m} AND {v}.vector_dims(vector) = {n}"""

_FROM: LiteralString = """ FROM {s}.search_vectors AS vector
    JOIN {s}.search_entries AS entry ON (entry.log, entry.seq, entry.part) = (vector.log, vector.seq, 0) """
_BYTES: LiteralString = (
    "SELECT vector.log, vector.seq, vector.vector"
    + _FROM
    + "WHERE vector.model = %s__CONDITIONS__ ORDER BY vector.log, vector.seq, vector.part"
)
_EXACT: LiteralString = """WITH near AS MATERIALIZED (
        SELECT log, seq, min(distance) AS distance FROM (
            SELECT vector.log, vector.seq, CASE WHEN {v}.vector_dims(vector.vector) = {n}
                THEN vector.vector OPERATOR({v}.<#>) %s::{v}.vector END AS distance
            FROM {s}.search_vectors AS vector WHERE vector.model = %s__LOGS__
            OFFSET 0 -- compute first: else whole vectors are sorted
        ) AS each WHERE distance IS NOT NULL GROUP BY log, seq
    )
    SELECT near.log, near.seq FROM near
    JOIN {s}.search_entries AS entry ON (entry.log, entry.seq, entry.part) = (near.log, near.seq, 0)
    WHERE true__CONDITIONS__ ORDER BY near.distance, near.log, near.seq LIMIT %s"""
_BY_INDEX: LiteralString = (
    "WITH near AS MATERIALIZED (SELECT vector.log, vector.seq, "  # noqa: S608 - all parts are ours
    "vector.vector::{v}.vector({n}) OPERATOR({v}.<#>) %s::{v}.vector AS distance"
    + _FROM
    + """WHERE vector.model = {m} AND {v}.vector_dims(vector.vector) = {n}__CONDITIONS__ ORDER BY distance LIMIT %s)
    SELECT log, seq FROM near GROUP BY log, seq ORDER BY min(distance), log, seq LIMIT %s"""
)
_SCAN: LiteralString = "SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true)"


class _Pgvector(NamedTuple):
    """The extension of a database. `schema`: where its type and operators are. `scans_on`: whether an HNSW scan can go
    on until enough of what it finds passes the filters (version 0.8 or later)."""

    schema: str
    scans_on: bool


class _Statements(NamedTuple):
    """Fills in the names and numbers in the statements about the vectors of one embedder and number of dimensions:
    those in braces, which cannot be parameters."""

    schema: str
    extension: str
    model: str
    dimensions: int

    def of(self, text: LiteralString, *, parameters: bool = True) -> bytes:
        """Return a statement with its names and numbers filled in. `parameters`: whether it is executed with
        parameters: then a % in a name must be doubled."""
        model = self.model.replace("%", "%%") if parameters else self.model
        key = sha256(self.model.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        composed = SQL(text).format(
            s=Identifier(self.schema),
            v=Identifier(self.extension),
            m=Literal(model),
            n=Literal(self.dimensions),
            i=Identifier(f"search_vectors_{key}_{self.dimensions}"),
        )
        return composed.as_bytes()


def update_vectors(database: PostgresDatabase, embedder: Embedder, logs: Sequence[int] | None, most: int | None) -> int:
    """Compute and store the vectors of the indexed entries of these conversations that have none by this embedder.
    Return how many entries got vectors.

    `logs`: the ids of the conversations; None: all. `most`: stop when this many entries are done, a whole batch at a
    time; None: no limit.

    If the embedder has at least INDEXED_FROM vectors then, it gets an HNSW index: where pgvector is there in version
    0.8 or later, the vectors have at most MOST_INDEXED_DIMENSIONS, and this role may create one. Raises InvalidSetting
    for vectors that are longer than pgvector takes.
    """
    done, model, dimensions = 0, embedder.name, 0
    while most is None or done < most:
        if logs is None:
            rows = database.fetch(_MISSING + _ORDER, model, BATCH_ENTRIES)
        else:
            rows = database.fetch(_MISSING + " AND log = ANY(%s::bigint[])" + _ORDER, model, list(logs), BATCH_ENTRIES)
        if not rows:
            break
        places = [(log, seq, part, text) for log, seq, all_of_it in rows for part, text in parts_of(all_of_it)]
        vectors = embedded(embedder, [text for *_, text in places])
        dimensions = vectors.shape[1]
        _add(database, model, [place[:3] for place in places], vectors)
        done += len(rows)
    if done and dimensions <= MOST_INDEXED_DIMENSIONS:
        _index(database, model, dimensions)
    return done


def nearest(database: PostgresDatabase, embedder: Embedder, query: str, where: SqlFilter) -> Ranking:
    """Return the ranking of the entries whose vectors are nearest to that of the query by cosine, the nearest first: a
    function that returns as many places as it is asked for, or all there are. With an HNSW index, unless the filter
    names conversations, it may miss some.

    The query is embedded here, once, and only its first PART_CHARACTERS. For a blank query the ranking is empty.
    `where`: only entries that pass this filter are ranked.
    """
    if not query.strip():
        return lambda _: []
    (wanted,) = embedded(embedder, [query[:PART_CHARACTERS]])
    return partial(_nearest, database, embedder.name, wanted, where)


def _nearest(database: PostgresDatabase, model: str, wanted: Any, where: SqlFilter, limit: int) -> list[Place]:
    def work(db: Db) -> list[Place]:
        found = _pgvector(database, db)
        if found is None:
            return _nearest_bytes(database, db, model, wanted, where, limit)
        statements = _Statements(database.schema, found.schema, model, len(wanted))
        places = list[Place]()
        if found.scans_on and not where.named:
            places = _nearest_by_index(db, statements, wanted, where, limit)
        return places if len(places) == limit else _nearest_exact(db, statements, wanted, where, limit)

    return database.run(work)


def _pgvector(database: PostgresDatabase, db: Db) -> _Pgvector | None:
    """Return what is known of the extension; None if it was not there when the tables were created."""
    rows = database.rows(db, _STATE)
    return _Pgvector(*rows[0]) if rows else None


def _add(database: PostgresDatabase, model: str, places: Sequence[tuple[int, int, int]], vectors: Any) -> None:
    """Store the vectors of entries, but not of those that were forgotten meanwhile. `places`: for each vector the id of
    the conversation, the seq of the entry, and the number of the part."""

    def work(db: Db) -> None:
        with db.transaction():
            found = _pgvector(database, db)
            if found is None:
                statement, stored = database.statement(_ADD_BYTES), [vector.tobytes() for vector in vectors]
            else:
                if vectors.shape[1] > MOST_DIMENSIONS:
                    limit = f"pgvector takes {MOST_DIMENSIONS:,} at most"
                    raise InvalidSetting(f"embedder {model!r}: vectors of {vectors.shape[1]:,} dimensions; {limit}")
                statement = _Statements(database.schema, found.schema, model, 0).of(_ADD)
                stored = [_text(vector) for vector in vectors]
            rows = [(part, model, vector, log, seq) for (log, seq, part), vector in zip(places, stored, strict=True)]
            with db.cursor() as cursor:
                cursor.executemany(statement, rows)

    database.run(work)


def _index(database: PostgresDatabase, model: str, dimensions: int) -> None:
    """Create the HNSW index of an embedder that has many vectors and no index yet. Writers of vectors wait for it."""

    def work(db: Db) -> None:
        found = _pgvector(database, db)
        if found is None or not found.scans_on:
            return
        statements = _Statements(database.schema, found.schema, model, dimensions)
        if _is_indexed(db, statements):
            return
        if _one(db.execute(statements.of(_MANY), (INDEXED_FROM, model, INDEXED_FROM)).fetchone()):
            with suppress(InsufficientPrivilege):  # only the owner of the tables may
                db.execute(statements.of(_INDEX, parameters=False))

    database.run(work)


def _nearest_by_index(db: Db, statements: _Statements, wanted: Any, where: SqlFilter, limit: int) -> list[Place]:
    """Return the nearest places by the HNSW index, at most `limit`; none without an index. The scan stops after
    `hnsw.max_scan_tuples`, so it may miss all entries of a small scope."""
    if not _is_indexed(db, statements):
        return []
    with db.transaction():
        db.execute(_SCAN)
        values = (_text(wanted), *where.values, limit * MAX_PARTS, limit)
        return _places(db, statements.of(_BY_INDEX.replace("__CONDITIONS__", where.conditions)), values)


def _nearest_exact(db: Db, statements: _Statements, wanted: Any, where: SqlFilter, limit: int) -> list[Place]:
    statement = _EXACT.replace("__LOGS__", where.log_conditions.replace("entry.log", "vector.log"))
    values = (_text(wanted), statements.model, *where.log_values, *where.values, limit)
    return _places(db, statements.of(statement.replace("__CONDITIONS__", where.conditions)), values)


def _nearest_bytes(
    database: PostgresDatabase, db: Db, model: str, wanted: Any, where: SqlFilter, limit: int
) -> list[Place]:
    """Read the vectors and compare them in this process."""
    rows = database.rows(db, _BYTES.replace("__CONDITIONS__", where.conditions), model, *where.values)
    return by_nearness([((log, seq), vector) for log, seq, vector in rows], wanted)[:limit]


def _is_indexed(db: Db, statements: _Statements) -> bool:
    return _one(db.execute(statements.of(_IS_INDEXED)).fetchone())


def _places(db: Db, statement: bytes, values: Sequence[object]) -> list[Place]:
    return db.cursor(binary=True).execute(statement, values).fetchall()


def _one(row: tuple[Any, ...] | None) -> bool:
    return row is not None and bool(row[0])


def _text(vector: Any) -> str:
    """Write a vector as pgvector reads it, with all its digits."""
    return str(vector.tolist())
