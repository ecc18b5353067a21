"""An entry that a conversation and its forks have in common is one hit, that of the conversation where it was said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from postgres_server import schema_for
from transom.core.entry import Meta
from transom.search import SearchFilters, search_index, sqlite_index
from transom.stores import fork_log, open_store
from transom.testing import FakeClock, talk


@pytest.fixture(params=["memory", "sqlite", "jsonl", "postgresql", "postgresql without pgvector"])
def store(request, tmp_path):
    path = tmp_path.as_posix()
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{path}/agent.db", "jsonl": f"jsonl:///{path}/logs"}
    if (url := urls.get(request.param)) is None:
        server = request.getfixturevalue("postgres")
        url = (server.url if request.param == "postgresql" else server.url_without_pgvector)(schema_for(path))
    store = open_store(url)
    yield store
    store.close()


def found(store, query, limit=10, embedder=None, **filters):
    index = search_index(store)
    index.update(embedder=embedder)
    hits = index.search(query, limit=limit, filters=SearchFilters(**filters), embedder=embedder)
    return [(hit.conversation, hit.entry) for hit in hits]


def append(store, name, *texts, later=0.0, user=""):
    log, at = store.open(name), len(store.open(name))
    said = talk(*[""] * at, *texts)[at:]
    log.append([replace(entry, at=entry.at + later, meta=Meta(user_id=user)) for entry in said], at)


def fork(store, source, at, name):
    fork_log(store, store.open(source), at=at, name=name, clock=FakeClock())


def test_a_shared_entry_is_found_once(store):
    append(store, "trip", "a needle", "two")
    for number in range(40):
        fork(store, "trip", 1, f"fork {number}")
    fork(store, "fork 7", 2, "fork of a fork")
    append(store, "fork 7", "my own needle is here")
    assert set(found(store, "needle")) == {("trip", 0), ("fork 7", 3)}
    assert found(store, "two", limit=1) == [("trip", 1)]
    assert found(store, "needle", conversations=("fork 3",)) == [("fork 3", 0)]
    assert set(found(store, "needle", conversations=("fork 7", "trip"))) == {("trip", 0), ("fork 7", 3)}
    assert found(store, "needle", conversations=("fork 5", "fork of a fork")) == [("fork 5", 0)]


@pytest.mark.parametrize("batch", [500, 2])
def test_a_fork_that_is_indexed_first_is_a_fork_all_the_same(store, batch, monkeypatch):
    monkeypatch.setattr(sqlite_index, "BATCH_ENTRIES", batch)
    append(store, "trip", "a needle", "two", "three")
    fork(store, "trip", 2, "a fork")
    fork(store, "a fork", 3, "a fork of a fork")
    index = search_index(store)
    for name in ("a fork of a fork", "a fork", "trip"):
        index.update([name])
    assert found(store, "needle") == [("trip", 0)]
    assert len(found(store, "needle", conversations=("a fork of a fork", "a fork"))) == 1


def test_conversations_that_begin_alike_are_no_forks(store):
    for name in ("one", "two", "three"):
        append(store, name, "a needle")
    fork(store, "two", 0, "a fork of two")
    assert set(found(store, "needle")) == {("one", 0), ("two", 0), ("three", 0)}
    assert set(found(store, "needle", conversations=("one", "a fork of two"))) == {("one", 0), ("a fork of two", 0)}


def test_forks_of_what_was_forgotten(store):
    append(store, "trip", "a needle", "two", "a needle that the first fork lacks")
    for number in range(3):
        fork(store, "trip", min(2, 1 + number), f"fork {number}")
    assert set(found(store, "needle")) == {("trip", 0), ("trip", 2)}
    store.forget("trip")
    assert set(found(store, "needle")) == {("fork 0", 0), ("fork 1", 2)}
    append(store, "trip", "no pins", "a needle of another conversation", later=60.0)
    assert set(found(store, "needle")) == {("fork 0", 0), ("fork 1", 2), ("trip", 1)}


def test_forks_of_two_conversations_with_one_name(store):
    append(store, "trip", "a needle", "two")
    fork(store, "trip", 1, "fork of the old")
    store.forget("trip")
    append(store, "trip", "a needle of another conversation", "two", later=60.0)
    for number in range(3):
        fork(store, "trip", 1, f"fork {number} of the new")
    assert set(found(store, "needle")) == {("fork of the old", 0), ("trip", 0)}
    store.forget("trip")
    assert set(found(store, "needle")) == {("fork of the old", 0), ("fork 0 of the new", 0)}


def test_a_source_belongs_to_its_user(store):
    """Two users may have said something in the same second in conversations of the same name."""
    for user in ("ana", "bob"):
        append(store, "trip", f"a needle of {user}", "two", user=user)
        fork(store, "trip", 1, f"fork of {user}")
        if user == "ana":
            store.forget("trip")
    assert found(store, "needle", user_id="ana") == [("fork of ana", 0)]
    assert found(store, "needle", user_id="bob") == [("trip", 0)]
    store.forget("trip")
    assert found(store, "needle", user_id="ana") == [("fork of ana", 0)]
    assert found(store, "needle", user_id="bob") == [("fork of bob", 0)]


def test_vectors_are_of_one_entry_too(store):
    class Length:
        name = "length"

        def embed(self, texts, /):
            return [[len(text), 1.0] for text in texts]

    append(store, "trip", "a needle", "two")
    fork(store, "trip", 1, "fork")
    assert sorted(found(store, "xyz", embedder=Length())) == [("trip", 0), ("trip", 1)]


def test_a_query_is_embedded_once(store):
    queries = []

    class Counted:
        name = "counted"

        def embed(self, texts, /):
            queries.extend(text for text in texts if text == "xyz")
            return [[len(text), 1.0] for text in texts]

    append(store, "trip", "a needle", "another text")
    for number in range(40):
        fork(store, "trip", 1, f"fork {number}")
    assert len(found(store, "xyz", limit=2, embedder=Counted())) == 2
    assert queries == ["xyz"]
