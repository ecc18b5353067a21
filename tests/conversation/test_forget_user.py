"""Forgetting a user: nothing of them is left in any table, file or index, and everything of others is."""

from __future__ import annotations

import pytest

from postgres_server import schema_for
from transom import Conversation, InvalidSetting, SubAgent, UserData, forget_user
from transom.memory import Memory
from transom.providers.scripted import Scripted, call
from transom.search import SearchFilters, search_index
from transom.stores import MemoryStore, fork_log, open_store
from transom.testing import talk

USERS = ("ana", "bob/../ana %")
MARKS = {"ana": "zebrastripe", "bob/../ana %": "quaggahoof"}


class Lengths:
    """An embedder, so that there are vectors too."""

    name = "lengths"

    def embed(self, texts, /):
        return [[len(text), 1.0] for text in texts]


@pytest.fixture(params=["memory:", "sqlite:///{}/a.db", "jsonl:///{}/logs", "postgresql:"])
def place(request, tmp_path):
    """The store, and what gives all bytes that it has."""
    if request.param == "postgresql:":
        server = request.getfixturevalue("postgres")
        schema = schema_for(str(tmp_path))
        store = open_store(server.url(schema))
        yield store, lambda: _tables(store, schema)
    elif request.param == "memory:":
        store = MemoryStore()
        yield store, lambda: _in_memory(store)
    else:
        store = open_store(request.param.format(tmp_path))
        yield store, lambda: b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    store.close()


def _tables(store, schema):
    def rows(db):
        names = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        for (table,) in db.execute(names, (schema,)).fetchall():
            for row in db.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall():
                for value in row:
                    yield bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()

    return b"\n".join(store.database.run(lambda db: list(rows(db))))


def _in_memory(store):
    logs = [repr([*store.open(name).read()]) for name in (*store.names(), *store.names("."))]
    with store.search_index()._file.connection() as db:
        logs += db.iterdump()
    return "\n".join(logs).encode()


def fill(store, user):
    """Everything that a store can have of a user."""
    mark = MARKS[user]
    memory = Memory.open(store, user_id=user)
    memory.add_block("human", text=f"{mark} block")
    memory.rethink("human", f"{mark} again")
    Memory.open(store, user_id=user, name="other").add_block("plan", text=f"{mark} plan")
    memory.archive.store(f"{mark} archive", ["tag"])
    assert memory.archive.search(mark)
    provider = Scripted(call("helper", task=f"{mark} task"), f"{mark} of the child", f"{mark} done")
    name = f"chat of {USERS.index(user)}"
    with Conversation.open(store, name, budget=8_000, user_id=user, session_id=f"{mark} session") as conv:
        conv.run(f"{mark} " + "x" * 70_000 + mark, provider=provider, tools=[SubAgent("helper", "helps", system="s")])
        conv.search(mark, scope="user", embedder=Lengths())
    fork_log(store, store.open(name), name=f"fork of {USERS.index(user)}")
    search_index(store).update(embedder=Lengths())


def test_nothing_is_left(place):
    store, everything = place
    for user in USERS:
        fill(store, user)
    store.open("nobody's").append(talk("hello"), 0)
    before, own = store.names(), store.names(".")
    assert MARKS["ana"].encode() in everything()
    removed = forget_user(store, "ana")
    assert set(removed.conversations) == {name for name in before if name.endswith("of 0") or "of 0/" in name}
    assert len(removed.conversations) == 3
    assert set(removed.memory) == {".memory/ana/memory/human", ".memory/ana/other/plan", ".memory-archive/ana/memory"}
    assert removed.damaged == ()
    assert store.names() == [name for name in before if name not in removed.conversations]
    assert store.names(".") == [name for name in own if name not in removed.memory]
    assert MARKS["ana"].encode() not in everything()
    assert search_index(store).search(MARKS["ana"], embedder=Lengths(), filters=SearchFilters(user_id="ana")) == []
    assert forget_user(store, "ana") == UserData()
    other = USERS[1]
    memory = Memory.open(store, user_id=other)
    assert (memory.block("human").text, len(memory.archive)) == ("quaggahoof again", 1)
    assert len(search_index(store).search(MARKS[other], filters=SearchFilters(user_id=other))) > 3
    forget_user(store, other)
    assert set(store.names()) == {"nobody's"}
    assert MARKS[other].encode() not in everything()


def test_a_damaged_conversation_stays_and_is_named(tmp_path):
    store = open_store(f"jsonl:///{tmp_path}")
    for name in ("one", "two"):
        with Conversation.open(store, name, budget=8_000, user_id="ana") as conv:
            conv.user("hello")
    path = next(tmp_path.glob("one*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b'"crc":"', b'"crc":"!', 1))
    assert forget_user(store, "ana") == UserData(conversations=("two",), damaged=("one",))
    assert store.names() == ["one"]
    store.close()


def test_an_id_may_have_lone_surrogates(tmp_path):
    user = "a\ud800"
    store = open_store(tmp_path / "a.db")
    with Conversation.open(store, "chat", budget=8_000, user_id=user) as conv:
        conv.user("hello")
    memory = Memory.open(store, user_id=user)
    memory.add_block("human", text="likes tea")
    memory.archive.store("the key is under the pot")
    found = forget_user(store, user)
    blocks = (".memory/a%ED%A0%80/memory/human", ".memory-archive/a%ED%A0%80/memory")
    assert found == UserData(conversations=("chat",), memory=blocks)
    assert store.names() == []
    store.close()


def test_a_store_that_forgets_one_by_one():
    inner = MemoryStore()
    with Conversation.open(inner, "chat", budget=8_000, user_id="ana") as conv:
        conv.user("hello")

    class Bare:
        def __init__(self):
            self.open, self.names, self.forget, self.close = inner.open, inner.names, inner.forget, inner.close

    assert forget_user(Bare(), "ana").conversations == ("chat",)
    assert inner.names() == []


@pytest.mark.parametrize("user", ["", None, 7])
def test_a_user_has_an_id(user):
    with pytest.raises(InvalidSetting, match="user_id: must be a text of at least one character"):
        forget_user(MemoryStore(), user)
