"""The search index over every store: what is found, what is filtered, what is forgotten."""

from __future__ import annotations

import json
import logging
import sqlite3
from contextlib import closing

import pytest
from msgspec.structs import replace

from postgres_server import schema_for
from transom.core.edit import Fold
from transom.core.entry import Meta
from transom.core.message import Head, Instruction, Recalled, Text
from transom.errors import InvalidSetting
from transom.search import SearchFilters, ranking, search_index, sqlite_index
from transom.stores import open_store, postgres_search
from transom.testing import call, hidden, result, says, talk

TRACE = 'File "/srv/app/db.py", line 88, in connect\npsycopg.OperationalError: could not translate host name "pg-7"'
SAID = talk(
    "Please look at the connection of the billing service.",
    says("I read the file.", call("read", json.dumps({"path": "src/billing/conn_pool.py"}))),
    result("class ConnPool:\n    def getUserByIdentity(self): ..."),
    "数据库索引报错了,请修复连接池。",
    says("", call("sh", json.dumps({"command": "grep -n 失败 app.log", "limit": 47}))),
    result(TRACE),
    "Das Gerät heißt Café-7, order id ZX81-4711.",
)


@pytest.fixture(params=["memory:", "agent.db", "logs/", "postgresql:"])
def store(request, tmp_path):
    if request.param == "postgresql:":
        store = open_store(request.getfixturevalue("postgres").url(schema_for(str(tmp_path))))
    else:
        store = open_store(request.param if request.param == "memory:" else f"{tmp_path}/{request.param}")
    yield store
    store.close()


def append(store, name, entries, user_id=""):
    log, at = store.open(name), len(store.open(name))
    made = [replace(entry, seq=seq) for seq, entry in enumerate(entries, at)]
    if user_id:
        made[0] = replace(made[0], meta=Meta(user_id=user_id, session_id=f"{user_id}'s"))
    log.append(made, at)


def found(store, query, limit=10, **filters):
    index = search_index(store)
    index.update()
    return [(hit.conversation, hit.entry) for hit in index.search(query, limit=limit, filters=SearchFilters(**filters))]


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("billing connection", 0),
        ("connections", 0),  # another form of the word
        ("数据库", 3),
        ("索引", 3),  # most Chinese words have two characters
        ("修", 3),
        ("失败", 4),  # written with escapes in the call's JSON
        ("getUserByIdentity", 2),
        ("UserByIdent", 2),  # a part of a name
        ("conn_pool.py", 1),
        ("psycopg.OperationalError: could not translate host name", 5),
        (TRACE, 5),
        ("cafe", 6),
        ("CAFÉ", 6),
        ("ZX81-4711", 6),
        ("ZX81", 6),
        ("47", 4),
    ],
)
def test_what_was_said_is_found(store, query, entry):
    append(store, "trip", SAID)
    assert found(store, query)[0] == ("trip", entry)


@pytest.mark.parametrize(
    "query",
    [
        *('"', "'", "*", "(", ")", "AND", "NOT billing", "NEAR(a b)", "text:", "billing*", "^billing", "{about} : x"),
        *(
            "",
            " ",
            "\0",
            "\ud800",
            "billing\0 service",
            "x" * 100_000,
            "billing " * 5_000,
            "-" * 50,
            "%_",
            "\x1f",
            "a OR",
        ),
    ],
)
def test_a_query_is_data(store, query):
    append(store, "trip", SAID)
    expected = [("trip", 0)] if "billing" in query else []
    assert [place for place in found(store, query) if place == ("trip", 0)] == expected


def test_a_hit_says_where_it_is(store):
    append(store, "trip", SAID)
    index = search_index(store)
    assert index.update() == len(SAID)
    (hit,) = index.search("OperationalError")
    assert (hit.conversation, hit.entry, hit.role, hit.tool) == ("trip", 5, "tool", "sh")
    assert (hit.at, hit.reference, hit.score) == (SAID[5].at, "entry 5", 1 / 61)
    assert hit.snippet == " ".join(TRACE.split())


def test_a_snippet_is_short_and_around_the_words(store):
    append(store, "trip", talk("filler " * 500 + "the needle is\there " + "filler " * 500))
    index = search_index(store)
    index.update()
    (hit,) = index.search("needle")
    assert len(hit.snippet) <= 240
    assert "the needle is here filler" in hit.snippet
    assert hit.snippet[0] == hit.snippet[-1] == "…"


def test_the_exact_words_come_first(store):
    append(store, "trip", talk("pool connection", "connection to a pool " * 3, "the connection pool is full of things"))
    assert found(store, "connection pool")[0] == ("trip", 2)


def test_filters(store):
    append(store, "trip", SAID)
    append(store, "walk", [replace(entry, at=entry.at + 1_000) for entry in talk("billing again", "connection")])
    tagged = replace(talk("billing run")[0], meta=Meta(run_id="run 7"))
    append(store, "walk", [tagged])
    assert found(store, "billing connection", conversations=("walk",))[0] == ("walk", 1)
    assert set(found(store, "billing connection", conversations=("walk",))) == {("walk", n) for n in range(3)}
    assert found(store, "billing connection", conversations=("gone",)) == []
    assert {name for name, _ in found(store, "billing", conversations=("walk", "trip", "gone"))} == {"trip", "walk"}
    assert found(store, "connect class", roles=("tool",), conversations=("trip",)) == [("trip", 2), ("trip", 5)]
    assert found(store, "line connect class", tools=("sh",)) == [("trip", 5)]
    assert found(store, "billing", run_id="run 7") == [("walk", 2)]
    assert found(store, "class", file="billing/conn_pool.py") == [("trip", 2)]
    assert found(store, "class", file="other.py") == []
    later = talk("x")[0].at + 1_000
    assert {name for name, _ in found(store, "billing", since=later)} == {"walk"}
    assert set(found(store, "billing", until=later - 1)) == {("trip", 0), ("trip", 1), ("trip", 2), ("walk", 2)}


def test_what_repeats_other_entries_is_not_found(store):
    bodies = [
        "first",
        Head(messages=(Instruction(parts=(Text(text="needle"),)),)),
        Recalled(text="needle"),
        call("transom_grep", '{"pattern": "needle"}'),
        result("needle"),
        Fold(first=0, last=0, text="needle"),
    ]
    append(store, "trip", talk(*bodies))
    assert found(store, "needle") == []


def test_what_is_out_of_context_is_found_only_if_asked_for(store):
    append(store, "trip", talk("one", hidden("needle")))
    assert found(store, "needle") == []
    assert found(store, "needle", include_hidden=True) == [("trip", 1)]


def test_no_user_finds_what_another_said(store):
    append(store, "ann-1", SAID, "ann")
    append(store, "bob-1", SAID, "bob")
    append(store, "nobody", SAID)
    queries = ("billing", "数据库", "UserByIdent", TRACE, "connections pool class")
    for query in queries:
        assert {name for name, _ in found(store, query, limit=100)} == {"ann-1", "bob-1", "nobody"}
        assert {name for name, _ in found(store, query, limit=100, user_id="ann")} == {"ann-1"}
        assert found(store, query, user_id="bob", conversations=("ann-1",)) == []
        assert {name for name, _ in found(store, query, session_id="bob's")} == {"bob-1"}
        assert found(store, query, user_id="") == found(store, query, user_id="eve") == []


def test_the_index_follows_the_log(store):
    index = search_index(store)
    append(store, "trip", talk("one"))
    assert (index.update(), index.update()) == (1, 0)
    append(store, "trip", talk("needle", "three"))
    append(store, "walk", talk("needle"))
    assert found(store, "needle") == [("walk", 0), ("trip", 1)]
    assert index.update() == 0
    append(store, "trip", talk("needle"))
    assert index.update(["walk", "gone"]) == 0
    assert index.update(["trip"]) == 1
    assert index.update() == 0


def test_with_nothing_new_no_conversation_is_looked_at(tmp_path, monkeypatch):
    with closing(open_store(f"{tmp_path}/agent.db")) as store, closing(open_store(f"{tmp_path}/agent.db")) as other:
        append(store, "trip", talk("a needle"))
        assert found(store, "needle") == [("trip", 0)]
        with monkeypatch.context() as patched:
            patched.setattr(type(store), "log_stamps", None)
            assert found(store, "needle") == [("trip", 0)]
        append(other, "walk", talk("a needle"))
        assert set(found(store, "needle")) == {("trip", 0), ("walk", 0)}


def test_a_store_has_one_index_which_forgets_with_it(store):
    append(store, "trip", talk("needle"))
    append(store, "walk", talk("needle"))
    index = search_index(store)
    assert (index.update(), len(index.search("needle"))) == (2, 2)
    assert search_index(store).update() == 0
    store.forget("trip")
    assert [hit.conversation for hit in index.search("needle")] == ["walk"]


def test_a_call_far_before_the_update_names_its_result(store):
    log = talk("go", call("sh", '{"command": "make all"}'), result("needle"))
    append(store, "trip", log[:2])
    search_index(store).update()
    append(store, "trip", log[2:])
    assert found(store, "needle", tools=("sh",)) == [("trip", 2)]


def test_what_was_forgotten_is_in_no_file(tmp_path):
    for url in (f"{tmp_path}/agent.db", f"{tmp_path}/logs/"):
        store = open_store(url)
        secret = talk(
            "zebrastripes on the moonlight", call("sh", '{"command": "quaggapath"}'), result("z" * 9 + "y" * 70_000)
        )
        append(store, "trip", secret)
        append(store, "walk", talk("zebrastripe is kept"))
        assert found(store, "zebrastripes")[0][0] in {"trip", "walk"}
        assert found(store, "quaggapa") == [("trip", 1), ("trip", 2)]
        store.forget("trip")
        left = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).lower()
        for word in (b"zebrastripes", b"moonlight", b"quagga", b"zzzzzzzzzy"):
            assert word not in left, (url, word)
        assert found(store, "moonlight") == found(store, "oonlig") == []
        assert found(store, "zebrastripe") == [("walk", 0)]
        store.close()


def test_a_later_conversation_by_the_same_name(store):
    append(store, "trip", talk("needle", "two"), "ann")
    assert found(store, "needle") == [("trip", 0)]
    store.forget("trip")
    append(store, "trip", talk("other", "two"), "bob")
    assert found(store, "needle") == []
    assert found(store, "other", user_id="bob") == [("trip", 0)]


def test_a_conversation_that_was_removed_by_hand(tmp_path):
    store = open_store(f"{tmp_path}/")
    append(store, "trip", talk("needle"))
    append(store, "walk", talk("kept"))
    assert found(store, "needle") == [("trip", 0)]
    next(tmp_path.glob("trip*.jsonl")).unlink()
    assert found(store, "needle") == []
    assert found(store, "kept") == [("walk", 0)]
    store.close()


def test_a_damaged_index_is_made_again(tmp_path):
    path = tmp_path / "agent.db.search"
    store = open_store(tmp_path / "agent.db")
    append(store, "trip", talk("needle"))
    path.write_bytes(b"not a database at all, " * 100)
    assert found(store, "needle") == [("trip", 0)]
    store.close()
    assert path.read_bytes().startswith(b"SQLite format 3")


def test_a_database_of_another_program_is_left_as_it_is(tmp_path, caplog):
    path = tmp_path / "agent.db.search"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE logs (mine TEXT)")
    before = path.read_bytes()
    store = open_store(tmp_path / "agent.db")
    append(store, "trip", talk("needle"))
    assert found(store, "needle") == [("trip", 0)]
    assert "this is another program's database, where the search index belongs; move it away" in caplog.text
    store.close()
    assert path.read_bytes() == before


def test_where_no_file_can_be_made_it_is_in_memory(tmp_path, caplog):
    (tmp_path / "agent.db.search").mkdir()
    store = open_store(tmp_path / "agent.db")
    append(store, "trip", talk("needle"))
    with caplog.at_level(logging.WARNING, "transom"):
        assert found(store, "needle") == [("trip", 0)]
    assert "indexing in memory" in caplog.text
    store.close()


def test_a_store_without_an_index_gets_one():
    inner = open_store("memory:")

    class Bare:
        def __init__(self):
            self.names, self.open, self.forget, self.close = inner.names, inner.open, inner.forget, inner.close

    bare = Bare()
    append(bare, "trip", SAID)
    assert found(bare, "billing")[0] == ("trip", 0)


def test_two_processes_share_the_file(tmp_path):
    one, two = open_store(tmp_path / "agent.db"), open_store(tmp_path / "agent.db")
    append(one, "trip", talk("needle"))
    assert found(one, "needle") == found(two, "needle") == [("trip", 0)]
    append(two, "trip", talk("pin"))
    assert search_index(one).update() == 1
    assert search_index(two).update() == 0
    one.forget("trip")
    assert found(two, "needle") == []
    one.close()
    two.close()


def test_common_words_are_looked_up_in_few_rows(monkeypatch, tmp_path):
    monkeypatch.setattr(ranking, "MOST_ROWS", 50)
    store = open_store("memory:")
    append(store, "trip", talk(*["common words here"] * 300, "common rare words", *["common"] * 20))
    assert found(store, "common rare")[0] == ("trip", 300)
    assert {entry for _, entry in found(store, "common words", limit=5)} <= set(range(250, 301))
    assert len(found(store, "common")) == 10


def test_filters_hold_before_the_newest_rows_are_taken(monkeypatch):
    monkeypatch.setattr(ranking, "MOST_ROWS", 50)
    store = open_store("memory:")
    append(store, "trip", talk(*["common words"] * 100, *[hidden("common words")] * 100))
    for query in ("common", "common words", "comm"):
        assert len(found(store, query)) == 10
        assert sorted(found(store, query, until=talk(*"xxx")[2].at)) == [("trip", n) for n in range(3)]
        assert max(found(store, query, limit=100, include_hidden=True)) == ("trip", 199)


def test_of_common_words_those_that_are_together_come_first(monkeypatch):
    monkeypatch.setattr(ranking, "MOST_ROWS", 50)
    monkeypatch.setattr(ranking, "ENOUGH_ROWS", 5)
    store = open_store("memory:")
    append(store, "trip", talk("harbour pilot", *["harbour"] * 90, *["pilot"] * 90, *["walk to the harbour"] * 90))
    assert found(store, "pilot harbour")[0] == ("trip", 0)
    assert found(store, "pilot in the harbour", limit=20)[0] == ("trip", 0)


def test_long_logs_are_indexed_in_batches(monkeypatch, store):
    for module in (sqlite_index, postgres_search):
        monkeypatch.setattr(module, "BATCH_ENTRIES", 7)
    append(store, "trip", talk(*(f"word{n} said" for n in range(50))))
    index = search_index(store)
    assert index.update(most=10) == 14
    assert index.update() == 36
    assert found(store, "word49") == [("trip", 49)]


@pytest.mark.parametrize("limit", [0, -1, 1_001, True, "3"])
def test_a_limit_is_a_number(limit):
    with pytest.raises(InvalidSetting, match="limit: must be a whole number from 1 to 1,000"):
        search_index(open_store("memory:")).search("x", limit=limit)


@pytest.mark.parametrize("file", ["***", " ", "./"])
def test_a_filter_by_file_without_a_word_is_refused(file):
    index = search_index(open_store("memory:"))
    with pytest.raises(InvalidSetting) as caught:
        index.search("hello", filters=SearchFilters(file=file, conversations=("none",)))
    assert str(caught.value) == f"file: needs a letter or a digit, not {file!r}"


def test_many_named_conversations_are_searched_and_no_other(store, monkeypatch):
    class Length:
        name = "length"

        def embed(self, texts, /):
            return [[len(text), 1.0] for text in texts]

    monkeypatch.setattr(ranking, "MOST_LOG_WORDS", 1)
    for name in ("trip", "walk", "swim"):
        append(store, name, talk("a needle", "some hay"), user_id=name)
    index, named = search_index(store), {"conversations": ("trip", "swim")}
    index.update(embedder=Length())
    assert set(found(store, "needle", **named)) == {("trip", 0), ("swim", 0)}
    assert found(store, "needle", **named, user_id="swim") == [("swim", 0)]
    assert set(found(store, "hay", **named, since=1.0)) == {("trip", 1), ("swim", 1)}
    hits = index.search("far away", embedder=Length(), filters=SearchFilters(**named))
    assert {(hit.conversation, hit.entry) for hit in hits} == {("trip", 0), ("swim", 0), ("trip", 1), ("swim", 1)}
