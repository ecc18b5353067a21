"""The search index of a PostgreSQL store: what is in its tables, and what several processes do to it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from postgres_server import schema_for
from transom.search import SearchFilters, search_index
from transom.stores import postgres_search, postgres_search_query
from transom.stores.postgres import PostgresStore
from transom.testing import talk

planned = postgres_search_query._planned
TABLES = ("search_logs", "search_entries", "search_vectors", "search_words")


class Letters:
    """A vector says how often two letters come up."""

    name = "letters"

    def embed(self, texts, /):
        return [[text.count("e") + 0.1, text.count("o")] for text in texts]


@pytest.fixture(params=["pgvector", "bytes"])
def url(request, postgres, tmp_path):
    make = postgres.url if request.param == "pgvector" else postgres.url_without_pgvector
    return make(schema_for(str(tmp_path)))


@pytest.fixture
def stores(url):
    stores = [PostgresStore(url) for _ in range(2)]
    yield stores
    for store in stores:
        store.close()


def rows(store, table):
    return store.database.fetch(f"SELECT * FROM {{s}}.{table}")


def found(store, query):
    return [(hit.conversation, hit.entry) for hit in search_index(store).search(query)]


def test_what_one_process_has_indexed_another_finds(stores):
    one, two = stores
    one.open("trip").append(talk("needle"), 0)
    assert search_index(one).update() == 1
    assert found(two, "needle") == [("trip", 0)]
    assert search_index(two).update() == 0


def test_of_what_was_forgotten_no_row_is_left(stores):
    store, _ = stores
    store.open("trip").append(talk("zebrastripes on the moonlight", "the moonlight"), 0)
    store.open("walk").append(talk("the moonlight is kept"), 0)
    search_index(store).update(embedder=Letters())
    assert ("moonlight", 3) in rows(store, "search_words")
    assert all(len(rows(store, table)) > 1 for table in TABLES)
    store.forget("trip")
    assert sorted(rows(store, "search_words")) == [("kept", 1), ("moonlight", 1)]
    assert [len(rows(store, table)) for table in TABLES] == [1, 1, 1, 2]
    search_index(store).forget(["walk", "gone"])
    assert [rows(store, table) for table in TABLES] == [[], [], [], []]
    assert store.names() == ["walk"]
    assert search_index(store).update() == 1


def test_processes_that_index_and_forget_at_once_agree(stores, monkeypatch):
    monkeypatch.setattr(postgres_search, "BATCH_ENTRIES", 5)
    store, _ = stores
    names = [f"trip {n}" for n in range(6)]
    for name in names:
        store.open(name).append(talk(*(f"common word{n % 7} said" for n in range(23))), 0)
    with ThreadPoolExecutor(6) as pool:
        done = [pool.submit(search_index(each).update) for each in stores * 2]
        gone = [pool.submit(store.forget, name) for name in names[:2]]
        indexed = sum(each.result() for each in done)
        assert [each.result() for each in gone] == [None, None]
    assert 4 * 23 <= indexed <= 6 * 23
    assert search_index(store).update() == 0
    entries = store.database.fetch("SELECT log, seq FROM {s}.search_entries")
    assert len(entries) == len(set(entries)) == 4 * 23
    assert dict(rows(store, "search_words"))["common"] == 4 * 23


def test_a_long_text_is_found_to_its_end(stores):
    store, _ = stores
    filler = " ".join(f"w{n}" for n in range(40_000))
    store.open("trip").append(talk(f"{filler} 数据库 the last needle", "short"), 0)
    search_index(store).update()
    for query in ("the last needle", "数据库", "w3499 w3500", "w39999", "x" * 9):
        assert found(store, query) == ([] if query[0] == "x" else [("trip", 0)]), query
    phrase = " ".join(f"w{n}" for n in range(3_420, 3_470))
    assert search_index(store).search(phrase)[0].score == 2 / 61, "as a phrase, and by its words"


def test_of_a_common_word_the_newest_rows_are_read_and_no_others(stores, monkeypatch):
    monkeypatch.setattr(postgres_search_query, "MOST_ROWS", 5)
    store, _ = stores
    store.open("trip").append(talk("the last ferry of all", *(f"the ferry of day {n}" for n in range(5_000))), 0)
    index = search_index(store)
    index.update()
    store.database.fetch("ANALYZE {s}.search_entries")
    ran = []
    monkeypatch.setattr(
        postgres_search_query, "_planned", lambda *given, **how: ran.append(given) or planned(*given, **how)
    )
    assert [hit.entry for hit in index.search("ferry", limit=3)] == [5_000, 4_999, 4_998]
    database, statement, values = ran[-1]
    explain = b"EXPLAIN " + database.statement(statement)
    plan = database.run(lambda db: db.execute(explain, values, prepare=False).fetchall())
    assert any("Scan Backward using search_entries_pkey" in line for (line,) in plan), plan
    then = store.open("trip")[100].at
    long_ago = SearchFilters(since=then - 3, until=then)
    assert sorted(hit.entry for hit in index.search("ferry", filters=long_ago)) == [97, 98, 99, 100]
    database, statement, values = ran[-1]
    explain = b"EXPLAIN " + database.statement(statement)
    plan = database.run(lambda db: db.execute(explain, values, prepare=False).fetchall())
    assert any("using search_entries_at" in line for (line,) in plan), "the rows of that time, and no newer ones"
    assert next(hit.entry for hit in index.search("last ferry")) == 0, "a rare word leads to an old row"
