"""Vectors in pgvector: the column, stores from before it, and the HNSW index of an embedder that has many vectors."""

from __future__ import annotations

import struct
from contextlib import closing
from urllib.parse import quote

import numpy as np
import psycopg
import pytest
from msgspec.structs import replace
from psycopg.conninfo import make_conninfo

from postgres_server import schema_for
from transom.core.entry import Meta
from transom.search import SearchFilters, search_index
from transom.search.indexed_store import ARCHIVE
from transom.stores import postgres_search_vectors
from transom.stores.postgres import PostgresStore
from transom.testing import talk

FAR = 200
"""Entries of ann's conversation: each is further away than the one before."""


class Numbers:
    """The vector of a text points where the number at its end says, in tenths of a degree. "here" is 0."""

    def __init__(self, name="100% 'numbers'"):
        self.name = name

    def embed(self, texts, /):
        angles = np.radians([float(text.split()[-1].replace("here", "0")) / 10 for text in texts])
        return np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)


def open_with(url, *options):
    return PostgresStore(url + "&options=" + quote(" ".join(f"-c {each}" for each in options)))


def append(store, name, texts, user_id):
    first, *rest = talk(*texts)
    store.open(name).append([replace(first, meta=Meta(user_id=user_id)), *rest], 0)


def nearest(store, embedder, text="nothing here", limit=3, **filters):
    hits = search_index(store).search(text, embedder=embedder, limit=limit, filters=SearchFilters(**filters))
    return [(hit.conversation, hit.entry) for hit in hits]


@pytest.fixture
def url(postgres, tmp_path):
    return postgres.url(schema_for(str(tmp_path)))


@pytest.fixture
def many(url, monkeypatch):
    """A store whose planner takes the HNSW index: 200 near of ann's, a far one of bob's, and an archive."""
    monkeypatch.setattr(postgres_search_vectors, "INDEXED_FROM", FAR)
    with closing(open_with(url, "enable_sort=off", "enable_seqscan=off")) as store:
        append(store, "ann", [f"a {n}" for n in range(FAR)], "ann")
        append(store, "bob", ["b 900"], "bob")
        append(store, ARCHIVE + "ann", ["c 0"], "ann")
        search_index(store).update(store.names(), embedder=Numbers())
        yield store


def indexes(store):
    return store.database.fetch(
        "SELECT indexdef, idx_scan FROM pg_indexes AS made JOIN pg_stat_user_indexes AS stat "
        "ON (made.schemaname, made.indexname) = (stat.schemaname, stat.indexrelname) "
        "WHERE made.schemaname = trim('\"' FROM '{s}') AND indexdef LIKE '%%hnsw%%'"
    )


def test_vectors_of_bytes_stay_bytes_if_pgvector_comes_later(url):
    with closing(PostgresStore(url)) as store:
        store.database.fetch("ALTER TABLE {s}.search_vectors ALTER COLUMN vector TYPE bytea USING NULL")
        append(store, "trip", [f"a {n}" for n in (-10, 5, 1799, 450)], "ann")
        search_index(store).update(embedder=Numbers())
        rows = store.database.fetch("SELECT vector FROM {s}.search_vectors ORDER BY seq")
        assert [len(struct.unpack("<3f", raw)) for (raw,) in rows] == [3, 3, 3, 3]
        assert nearest(store, Numbers()) == [("trip", 1), ("trip", 0), ("trip", 3)]


def test_many_vectors_get_an_index_which_a_search_uses(many, url):
    ((definition, _),) = indexes(many)
    assert "'100% ''numbers'''" in definition
    assert nearest(many, Numbers()) == [("ann", 0), ("ann", 1), ("ann", 2)]
    many.close()  # the server counts the scans of a connection when it ends
    with closing(PostgresStore(url)) as store:
        for _ in range(100):
            if indexes(store)[0][1]:
                break
        assert indexes(store)[0][1] > 0


def test_few_vectors_get_no_index(many):
    other = Numbers("others")
    search_index(many).update(["ann"], embedder=other)
    assert len(indexes(many)) == 2
    search_index(many).update(["bob"], embedder=Numbers("few"))
    assert len(indexes(many)) == 2


def test_the_scope_holds_with_an_index(many):
    embedder = Numbers()
    every = [("ann", n) for n in range(FAR)]
    assert nearest(many, embedder, limit=FAR + 5) == [*every, ("bob", 0)]
    assert nearest(many, embedder, user_id="bob") == [("bob", 0)]
    assert nearest(many, embedder, user_id="ann", limit=FAR + 5) == every
    assert nearest(many, embedder, conversations=("bob",)) == [("bob", 0)]
    assert nearest(many, embedder, user_id="bob", conversations=("ann",)) == []
    assert nearest(many, embedder, roles=("tool",)) == []
    many.forget("ann")
    assert nearest(many, embedder) == [("bob", 0)]


def test_a_scan_that_ends_too_early_is_done_again_without_the_index(many, url):
    few = ("hnsw.max_scan_tuples=1", "hnsw.ef_search=1", "enable_sort=off", "enable_seqscan=off")
    with closing(open_with(url, *few)) as store:
        assert nearest(store, Numbers(), user_id="bob") == [("bob", 0)]
        assert nearest(store, Numbers(), limit=50) == [("ann", n) for n in range(50)]


def test_another_number_of_dimensions_can_be_added_beside_an_index(many):
    class Flat(Numbers):
        def embed(self, texts, /):
            return super().embed(texts)[:, :2]

    append(many, "flat", ["d 3", "d 1"], "ann")
    search_index(many).update(embedder=Flat())
    assert nearest(many, Flat()) == [("flat", 1), ("flat", 0)]
    assert nearest(many, Numbers(), limit=1) == [("ann", 0)]


def test_a_role_that_may_not_create_an_index_compares_one_by_one(url, postgres, monkeypatch):
    with closing(PostgresStore(url)) as store:
        append(store, "ann", [f"a {n}" for n in range(30)], "ann")
        search_index(store).update()
        schema = store.database.schema
    with postgres.connect() as db:
        role = f"user_{schema}"
        db.execute(f"CREATE ROLE {role} LOGIN")
        db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
    monkeypatch.setattr(postgres_search_vectors, "INDEXED_FROM", 10)
    with closing(PostgresStore(url.replace("postgres@", f"{role}@"))) as store:
        assert search_index(store).update(embedder=Numbers()) == 30
        assert indexes(store) == []
        assert nearest(store, Numbers()) == [("ann", 0), ("ann", 1), ("ann", 2)]
    with postgres.connect() as db:
        db.execute(f"DROP OWNED BY {role}")
        db.execute(f"DROP ROLE {role}")


def test_extensions_in_a_schema_that_is_closed_to_the_role_are_done_without(postgres, url):
    schema = url.rpartition("=")[2]
    role = database = f"c_{schema}"
    with postgres.connect() as db:
        db.execute(f"CREATE ROLE {role} LOGIN")
        db.execute(f"CREATE DATABASE {database}")
        place = make_conninfo(db.info.dsn, dbname=database)
    with psycopg.connect(place, autocommit=True) as db:
        db.execute("CREATE SCHEMA extensions")
        for extension in ("vector", "pg_trgm"):
            db.execute(f"CREATE EXTENSION {extension} SCHEMA extensions")
        db.execute(f"GRANT CREATE ON DATABASE {database} TO {role}")
    with closing(PostgresStore(url.replace("postgres@/postgres?", f"{role}@/{database}?"))) as store:
        append(store, "ann", ["a plain text"], "ann")
        search_index(store).update()
        assert [hit.conversation for hit in search_index(store).search("plain")] == ["ann"]
    with postgres.connect() as db:
        db.execute(f"DROP DATABASE {database}")
        db.execute(f"DROP ROLE {role}")
