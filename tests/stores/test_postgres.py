"""The PostgreSQL store: round trips, lost connections, tables, followers, and what no error may show."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from wire_proxy import WireProxy

from postgres_server import TestServer, schema_for
from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.entry import Entry
from transom.core.message import Text, User
from transom.errors import Conflict, InvalidSetting, StoreDamaged, StoreUnavailable, UnknownLog
from transom.stores import follow, open_store
from transom.stores.blobs import SPLIT_ABOVE
from transom.stores.postgres import PostgresStore
from transom.stores.postgres_schema import prepare_tables
from transom.stores.postgres_url import PostgresUrl, parse_postgres_url, without_password
from transom.testing import WordCounter, entries_of, user_entries


@pytest.fixture
def schema(tmp_path: Path) -> str:
    return schema_for(str(tmp_path))


@pytest.fixture
def url(postgres: TestServer, schema: str) -> str:
    return postgres.url(schema)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(url)
    yield store
    store.close()


@pytest.fixture
def proxy(postgres: TestServer) -> Iterator[WireProxy]:
    with tempfile.TemporaryDirectory(prefix="tpx-") as folder:  # a short path, for a socket
        proxy = WireProxy(postgres.data, Path(folder))
        yield proxy
        proxy.close()


# ---- round trips


def trips(proxy: WireProxy, work: Any) -> int:
    before = proxy.round_trips
    work()
    return proxy.round_trips - before


def test_an_append_is_one_round_trip(proxy: WireProxy, schema: str) -> None:
    store = PostgresStore(proxy.url(schema))
    log = store.open("trip")
    large = entries_of([User(parts=(Text("x" * SPLIT_ABOVE),)), User(parts=(Text("y"),))], 1)
    assert trips(proxy, lambda: log.append(user_entries(0, 1), 0)) <= 3, "with the first connection and its setting"
    assert trips(proxy, lambda: log.append(large, 1)) == 1
    assert trips(proxy, log.refresh) == 1
    assert trips(proxy, lambda: log.append(user_entries(3, 50), 3)) == 1
    assert trips(proxy, lambda: list(log.read(3))) == 1
    assert trips(proxy, lambda: store.open("trip")) == 1
    store.close()


def test_single_entries_are_read_in_blocks(proxy: WireProxy, schema: str, store: PostgresStore) -> None:
    store.open("trip").append(user_entries(0, 200), 0)
    reader = PostgresStore(proxy.url(schema))
    log = reader.open("trip")
    assert trips(proxy, lambda: [log[seq] for seq in range(200)]) == 4, "of 64 entries"
    assert trips(proxy, lambda: [log[seq] for seq in reversed(range(200))]) == 0
    log.append(user_entries(200, 2), 200)
    assert trips(proxy, lambda: log[201]) == 0
    assert [log[seq] for seq in range(202)] == user_entries(0, 202)
    reader.close()


def test_round_trips_of_a_turn(proxy: WireProxy, schema: str) -> None:
    with Conversation.open(proxy.url(schema), "trip", budget=Budget(), counter=WordCounter()) as conversation:
        conversation.user("hello")
        conversation.request()
        conversation.observe({"role": "assistant", "content": "hello"})

        def turn() -> None:
            conversation.user("and now?")
            conversation.request()
            conversation.observe({"role": "assistant", "content": "nothing"})

        for _ in range(8):
            turn()  # by then the connection has prepared the statements
        assert [trips(proxy, turn) for _ in range(3)] == [5, 5, 5], "an append each, and the lease there and back"
        with conversation.lease():
            assert [trips(proxy, turn) for _ in range(3)] == [3, 3, 3], "an append each"


# ---- lost connections


@pytest.mark.parametrize("first", [True, False])
def test_an_append_whose_acknowledgement_is_lost_is_stored_once(proxy: WireProxy, schema: str, first: bool) -> None:
    store = PostgresStore(proxy.url(schema))
    log = store.open("trip")
    log.refresh()
    n = 0 if first else 2
    if not first:
        log.append(user_entries(0, 2), 0)
    proxy.lose()
    log.append(user_entries(n, 3), n)
    assert (proxy.lost, len(log), list(store.open("trip").read())) == (1, n + 3, user_entries(0, n + 3))
    log.append(user_entries(n + 3, 1), n + 3)
    store.close()


def test_who_lost_an_acknowledgement_is_not_taken_in_by_an_equal_entry(proxy: WireProxy, schema: str, url: str) -> None:
    store, other = PostgresStore(proxy.url(schema)), PostgresStore(url)
    log = store.open("trip")
    log.append(user_entries(0, 1), 0)
    other.open("trip").append(user_entries(1, 1), 1)  # what another process wants to say is the same
    proxy.lose()
    with pytest.raises(Conflict) as caught:
        log.append(user_entries(1, 1), 1)
    assert (proxy.lost, caught.value.found) == (1, 2)
    store.close()
    other.close()


@pytest.mark.parametrize("reply", [1, 2, 3, 4, 5])
def test_a_forgetting_whose_acknowledgement_is_lost_is_done(proxy: WireProxy, schema: str, reply: int) -> None:
    store = PostgresStore(proxy.url(schema))
    store.open("trip").append(user_entries(0, 2), 0)
    proxy.lose(reply)  # the fifth is that of the commit
    store.forget("trip")
    assert (proxy.lost, store.names()) == (1, [])
    with pytest.raises(UnknownLog):
        store.forget("trip")
    store.close()


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_that_restarts_is_waited_for(postgres: TestServer, store: PostgresStore, mode: str) -> None:
    logs = [store.open(f"trip {n}") for n in range(4)]
    for log in logs:
        log.append(user_entries(0, 1), 0)
    stop = threading.Event()

    def write(log: Any) -> None:
        while not stop.is_set():
            log.append(user_entries(len(log), 1), len(log))

    threads = [threading.Thread(target=write, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    before = [len(log) for log in logs]
    postgres.restart(mode)
    time.sleep(1.0)
    stop.set()
    for thread in threads:
        thread.join()
    assert all(len(log) > n + 1 for log, n in zip(logs, before, strict=True)), "they went on"
    assert [list(store.open(log.name).read()) for log in logs] == [user_entries(0, len(log)) for log in logs]


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_store_can_be_opened_while_the_server_restarts(postgres: TestServer, schema: str, mode: str) -> None:
    """Its tables too can be created: a connection that breaks meanwhile is opened again."""
    restarting = threading.Thread(target=postgres.restart, args=(mode,))
    restarting.start()
    for number in range(100):
        PostgresStore(postgres.url(f"{schema}_{number}")).close()
        if not restarting.is_alive():
            break
    restarting.join()


@pytest.mark.parametrize(
    "problem",
    [
        psycopg.errors.AdminShutdown("terminating connection due to administrator command"),
        psycopg.OperationalError("the connection is lost"),
        psycopg.OperationalError("consuming input failed: server closed the connection unexpectedly"),
    ],
    ids=["told", "lost", "closed"],
)
def test_a_connection_that_breaks_while_tables_are_created_is_opened_again(
    url: str, problem: psycopg.Error, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems = [problem]

    def breaks_once(db: Any, schema: str, place: str) -> None:
        if problems:
            raise problems.pop()
        prepare_tables(db, schema, place)

    monkeypatch.setattr("transom.stores.postgres_database.prepare_tables", breaks_once)
    store = PostgresStore(url)
    store.open("trip").append(user_entries(0, 1), 0)
    store.close()
    assert not problems


def test_a_server_that_cannot_be_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.stores.postgres_database.RETRY_SECONDS_OPENING", 0.1)
    for place in (f"/db?host={tmp_path}", "127.0.0.1:1/db"):
        with pytest.raises(StoreUnavailable, match="connection to server") as caught:
            open_store(f"postgresql://me:s3cret@{place}")
        assert "s3cret" not in str(caught.value)
        assert "\n" not in str(caught.value)
        assert "postgresql://me@" in str(caught.value)


def test_what_is_durable_does_not_depend_on_the_servers_default(postgres: TestServer, url: str, schema: str) -> None:
    store = PostgresStore(f"{url}&options=-c%20synchronous_commit%3Doff")
    assert store.database.fetch("SHOW synchronous_commit") == [("on",)]
    store.close()


# ---- tables


def test_processes_that_open_a_new_database_at_once(postgres: TestServer, schema: str) -> None:
    stores: list[PostgresStore] = []

    def begin(number: int) -> None:
        stores.append(PostgresStore(f"{postgres.url(schema)}&application_name=n{number}"))  # a pool of its own

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 8
    assert len({id(store.database) for store in stores}) == 8
    assert stores[0].database.fetch("SELECT version FROM {s}.migrations") == [(1,)]
    for store in stores:
        store.close()


def test_tables_of_a_later_version_are_left_alone(postgres: TestServer, url: str, schema: str) -> None:
    PostgresStore(url).close()
    with postgres.connect() as db:
        db.execute(f"INSERT INTO {schema}.migrations (version) VALUES (99)")
    with pytest.raises(StoreDamaged, match=r"a newer Transom wrote this \(format 99, this one reads 1\)"):
        open_store(url)


def test_tables_of_others_are_left_alone(postgres: TestServer, url: str, schema: str) -> None:
    with postgres.connect() as db:
        db.execute(f"CREATE SCHEMA {schema}")
        db.execute(f"CREATE TABLE {schema}.entries (mine int)")
    with pytest.raises(StoreDamaged, match=f"schema {schema} has other tables .* with .schema=NAME"):
        open_store(url)
    with postgres.connect() as db:
        tables = db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
    assert tables == [("entries",)]


def test_who_may_only_use_the_tables_needs_no_right_to_make_any(postgres: TestServer, url: str, schema: str) -> None:
    PostgresStore(url).close()
    role = f"r_{schema}"
    with postgres.connect() as db:
        db.execute(f"CREATE ROLE {role} LOGIN")
        db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
        db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}")
    store = PostgresStore(url.replace("postgres@", f"{role}@"))
    log = store.open("trip")
    log.append(user_entries(0, 3), 0)
    log.append(entries_of([User(parts=(Text("x" * SPLIT_ABOVE),))], 3), 3)
    log.save_snapshot(4, b"view")
    store.forget("trip")
    assert store.names() == []
    store.close()


def test_what_was_changed_by_hand_is_told(postgres: TestServer, store: PostgresStore, schema: str) -> None:
    store.open("trip").append([*user_entries(0, 3), *entries_of([User(parts=(Text("x" * SPLIT_ABOVE),))], 3)], 0)
    other = PostgresStore(f"{postgres.url(schema)}&application_name=other")  # it has no entries in memory
    log = other.open("trip")
    with postgres.connect() as db:
        db.execute(f"UPDATE {schema}.blobs SET body = 'x'")
        db.execute(f"UPDATE {schema}.entries SET body = 'x' WHERE seq = 1")
        db.execute(f"DELETE FROM {schema}.entries WHERE seq = 2")
        db.execute(f"UPDATE {schema}.logs SET length = 3")
    assert log[0] == user_entries(0, 1)[0]
    for look, why in (
        (lambda: log[1], "entry 1: Expecting value"),
        (lambda: list(log.read(2)), "entry 2: it is missing"),
        (lambda: log[3], "entry 3: its body is not what was stored"),
        (log.refresh, "entry 3: it is missing"),
    ):
        with pytest.raises(StoreDamaged, match=f"conversation 'trip', {why}"):
            look()
    other.close()


# ---- shared connections


def test_stores_on_one_url_share_their_connections(url: str) -> None:
    one, two = PostgresStore(url), PostgresStore(url)
    assert one.database is two.database
    one.close()
    one.close()
    with pytest.raises(InvalidSetting, match="the store is closed"):
        one.names()
    assert two.names() == []
    database = two.database
    two.close()
    assert not database.is_current()


def test_a_store_is_not_used_across_a_fork(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(InvalidSetting, match="opened before a fork"):
        store.names()


# ---- followers


def followed(url: str, start: int | None, seen: list[Entry], stop: threading.Event, look: float) -> threading.Thread:
    store = PostgresStore(url)

    def run() -> None:
        seen.extend(follow(store.open("trip"), start, stop=stop, poll_interval=look))
        store.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_follower_hears_of_appends_at_once(store: PostgresStore, url: str) -> None:
    stop, seen, arrived = threading.Event(), list[Entry](), list[float]()
    own = PostgresStore(url)

    def run() -> None:
        for entry in follow(own.open("trip"), stop=stop, poll_interval=60):
            arrived.append(time.monotonic())
            seen.append(entry)
            if entry.seq == 5:
                return

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(0.3)
    log = store.open("trip")
    sent: list[float] = []
    for seq in range(6):
        sent.append(time.monotonic())
        log.append(user_entries(seq, 1), seq)
        time.sleep(0.05)
    thread.join(timeout=20)
    assert seen == user_entries(0, 6)
    assert max(there - here for here, there in zip(sent, arrived, strict=True)) < 5, "of 60 s until it looks"
    own.close()


def test_appends_are_announced_only_where_somebody_follows(
    postgres: TestServer, store: PostgresStore, schema: str
) -> None:
    followed, other = store.open("followed"), store.open("other")
    followed.append(user_entries(0, 1), 0)
    other.append(user_entries(0, 1), 0)
    followed.wait(0)
    with postgres.connect() as db:
        db.execute(f"LISTEN transom_{schema}")
        other.append(user_entries(1, 1), 1)
        followed.append(user_entries(1, 1), 1)
        heard = list(db.notifies(timeout=0.3))
    assert len(heard) == 1


def test_a_follower_survives_a_restart(postgres: TestServer, store: PostgresStore) -> None:
    log = store.open("trip")
    log.append(user_entries(0, 1), 0)
    assert log.wait(0) == 1
    postgres.restart()
    PostgresStore.open(store, "trip").append(user_entries(1, 1), 1)
    assert log.wait(10) == 2


# ---- what nobody may see


SECRETS = [
    "postgresql://me:s3cret@db.example/agents",
    "postgresql://me:s3cret@h1:5432,h2:5433/agents?schema=a&sslmode=require",
    "postgresql://me@db/agents?password=s3cret&sslpassword=s3cret",
    "postgresql://me@db/agents?pass%77ord=s3cret",
    "postgresql://me:s3@cret@db/agents",
    "postgresql://me:s3/cret@db/agents",
    "postgresql://me:s3?cret@db/agents",
    "postgresql://me:12?cret=s3cret@db/agents",
    "postgresql://me:12/s3cret@db",
    "postgresql://me:s3#cret@db/agents",
    "postgresql://me:s3cret",
    "postgresql:s3cret",
    "postgresql://me:s3cret@[::1]:5432/agents?application_name=x",
    "postgres://me: s3cret@db/agents",
    "postgresql://me:s3cret@db/agents?schema=Not+Ours",
    "POSTGRESQL://me:s3cret@db/agents?schema=Not+Ours",
    "postgresql+psycopg2://me:s3cret@db/agents",
    "postgres+asyncpg://me:s3cret@db/agents",
    "Postgres+psycopg:me:s3cret",
    "mysql://me:s3cret@db/agents",
    "sqlite://me:s3cret@db/agents",
    "Redis+TLS://:s3cret@db",
    " postgresql://me:s3cret@db/agents",
]


@pytest.mark.parametrize("place", SECRETS)
def test_a_password_is_never_shown(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.stores.postgres_database.RETRY_SECONDS_OPENING", 0.1)
    shown = without_password(place)
    assert "cret" not in shown
    assert without_password(shown) == shown
    with pytest.raises((InvalidSetting, StoreUnavailable)) as caught:
        open_store(f"{place}&connect_timeout=1" if "?" in place else place)
    problem: BaseException | None = caught.value
    while problem is not None and not isinstance(problem, psycopg.OperationalError):
        assert "cret" not in str(problem) + repr(problem)
        problem = problem.__cause__


def test_a_url_without_a_password_is_shown_whole() -> None:
    whole = "postgresql://me@h1:5432,[::1]:5433/agents?host=/tmp/x&schema=a"
    assert without_password(whole) == whole
    for other in ("agent.db", "sqlite:///a@b/agent.db", "jsonl:////logs@home"):
        assert without_password(other) == other


@pytest.mark.parametrize("driver", ["+psycopg2", "+asyncpg"])
def test_a_url_with_a_driver_is_refused_with_the_way_out(driver: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        open_store(f"postgresql{driver}://me:secret@db/agents")
    form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with % codes for special characters (%40 for @, %2F for /)"
    assert str(caught.value) == (f"store 'postgresql{driver}://…': leave '{driver}' out: a PostgreSQL store is {form}")


def test_the_scheme_may_be_in_capitals() -> None:
    parsed = parse_postgres_url("PostgreSQL://Me:s3cret@DB/Agents?schema=a&sslmode=require")
    assert parsed == PostgresUrl(
        "postgresql://Me:s3cret@DB/Agents?sslmode=require", "a", "postgresql://Me@DB/Agents?schema=a&sslmode=require"
    )


def test_a_store_shows_no_password(postgres: TestServer, url: str, schema: str) -> None:
    store = PostgresStore(url.replace("postgres@", "postgres:s3cret@"))
    assert "s3cret" not in repr(store) + repr(store.database) + store.place + repr(store.open("x"))
    with postgres.connect() as db:
        db.execute(f"ALTER TABLE {schema}.logs RENAME TO lost")
    with pytest.raises(StoreDamaged, match="does not exist") as caught:
        store.names()
    assert "s3cret" not in str(caught.value)
    store.close()


def test_without_the_extra_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transom.stores.postgres", None)
    with pytest.raises(InvalidSetting, match=r"pip install -e '?\S+\[postgres\]") as caught:
        open_store("postgresql://me:s3cret@db/agents")
    assert "s3cret" not in str(caught.value)
