"""Bytes that are not ours: one clear line that names the file, and nothing is changed."""

from __future__ import annotations

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from stored import log_of, said

from transom.core.message import Text, User
from transom.errors import Conflict, InvalidSetting, StoreDamaged, StoreUnavailable, UnknownLog
from transom.stores import JsonlStore, SqliteStore
from transom.stores.lines import Line, frame, header
from transom.stores.locks import locked


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A SQLite file of 40 entries, one of them with a large body."""
    place = tmp_path / "agent.db"
    with closing(SqliteStore(str(place))) as store:
        log = store.open("trip")
        log.append(said(0, 39, 2_000), 0)
        log.append(log_of([User(parts=(Text("x" * 100_000),))], 39), 39)
    return place


def read(path: Path, seq: int | None) -> None:
    with closing(SqliteStore(str(path))) as store:
        log = store.open("trip")
        list(log.read()) if seq is None else log[seq]


def damaged(path: Path, why: str, seq: int | None = None) -> None:
    """Reading the log, or one entry, says what is wrong in one line, and leaves the bytes as they were."""
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match=why) as caught:
        read(path, seq)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == before


def execute(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


def test_sqlite_not_a_database(path: Path) -> None:
    path.write_text("these are my notes, not a database\n" * 100)
    damaged(path, "file is not a database")


def test_sqlite_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    execute(path, "CREATE TABLE logs (mine TEXT)")
    damaged(path, "another program's database")


def test_sqlite_of_a_newer_version(path: Path) -> None:
    execute(path, "PRAGMA user_version = 2")
    damaged(path, "a newer Transom wrote this")


def test_sqlite_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 12])
    damaged(path, "malformed")


def test_sqlite_overwritten(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    damaged(path, "malformed")


def test_sqlite_without_a_table(path: Path) -> None:
    execute(path, "DROP TABLE entries")
    damaged(path, "no such table")


@pytest.mark.parametrize("seq", [None, 7])
def test_sqlite_entry_missing(path: Path, seq: int | None) -> None:
    execute(path, "DELETE FROM entries WHERE seq = 7")
    damaged(path, "'trip', entry 7: it is missing", seq)


@pytest.mark.parametrize("seq", [None, 7])
@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"{}", b"[]", b'{"seq":7}', b"\0", "text", 5])
def test_sqlite_entry_unreadable(path: Path, body: object, seq: int | None) -> None:
    execute(path, "UPDATE entries SET body = ? WHERE seq = 7", body)
    damaged(path, "'trip', entry 7: ", seq)


def test_sqlite_a_log_that_became_shorter(path: Path) -> None:
    with closing(SqliteStore(str(path))) as store:
        log = store.open("trip")
        execute(path, "DELETE FROM entries WHERE seq >= 7")
        with pytest.raises(Conflict):
            log.append(said(40, 1), 40)
        with pytest.raises(StoreDamaged, match="'trip', entry 7: it is missing"):
            log.refresh()


def test_sqlite_entry_in_the_wrong_place(path: Path) -> None:
    execute(path, "UPDATE entries SET body = (SELECT body FROM entries WHERE seq = 8) WHERE seq = 7")
    damaged(path, "entry 7: it says it is entry 8", 7)


def test_sqlite_body_missing(path: Path) -> None:
    execute(path, "DELETE FROM blobs")
    damaged(path, "entry 39: its body is missing", 39)


def test_sqlite_entries_beside_the_damage_can_be_read(path: Path) -> None:
    execute(path, "DELETE FROM entries WHERE seq = 7")
    with closing(SqliteStore(str(path))) as store:
        log = store.open("trip")
        assert [log[6], *log.read(8, 39)] == [*said(6, 1, 2_000), *said(8, 31, 2_000)]


def test_sqlite_keeps_one_body_once(path: Path) -> None:
    with closing(SqliteStore(str(path))) as store:
        store.open("other").append(log_of([User(parts=(Text("x" * 100_000),))]), 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*), sum(length(body)) > 100000 FROM blobs").fetchone() == (1, 1)
        assert db.execute("SELECT max(length(body)) < 3000 FROM entries").fetchone() == (1,)


def test_sqlite_settings(tmp_path: Path) -> None:
    for synchronous, level in (("full", 2), ("normal", 1)):
        with closing(SqliteStore(str(tmp_path / "a.db"), synchronous=synchronous)) as store, store.reading() as db:
            found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]
            assert found == [level, "wal"]


def test_sqlite_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.stores.sqlite._PATIENCE", 0.05)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(SqliteStore(str(path))) as store:
            log = store.open("trip")
            with pytest.raises(StoreUnavailable, match="database is locked; this changed nothing"):
                log.append(said(40, 1), 40)
            with pytest.raises(StoreUnavailable, match="database is locked; this changed nothing"):
                store.forget("trip")
            assert len(list(log.read())) == 40
            other.rollback()
            log.append(said(40, 1), 40)
            assert len(list(log.read())) == 41


def test_sqlite_somebody_reads_while_it_is_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.stores.sqlite._PATIENCE", 0.05)
    with closing(SqliteStore(str(path))) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM logs").fetchall()
        with pytest.raises(StoreUnavailable, match="others are reading; the conversation is gone, but bytes of it"):
            store.forget("trip")
        assert store.names() == []
        assert b"message" in path.read_bytes()
        other.execute("COMMIT")
        store.forget("trip")
        assert b"message" not in path.read_bytes()
        with pytest.raises(UnknownLog):
            store.forget("trip")


def test_sqlite_waits_for_another_who_makes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.1, other.rollback)
        timer.start()
        with closing(SqliteStore(str(path))) as store:
            timer.join()
            assert store.names() == []


def test_sqlite_closed(path: Path) -> None:
    store = SqliteStore(str(path))
    log = store.open("trip")
    store.close()
    with pytest.raises(InvalidSetting, match="closed"):
        log[0]


def refused(path: Path, content: bytes, why: str) -> None:
    """Opening says what is wrong in one line and leaves the file as it was."""
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=why) as caught:
        JsonlStore(str(path.parent)).open("trip")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("at", range(1, 7))
def test_jsonl_one_byte_changed(lines: tuple[Path, list[bytes]], at: int) -> None:
    path, good = lines
    bad = good[at].replace(b"message", b"massage")
    refused(path, b"".join([*good[:at], bad, *good[at + 1 :]]), "checksum")


@pytest.mark.parametrize("at", range(1, 6))
def test_jsonl_a_line_missing(lines: tuple[Path, list[bytes]], at: int) -> None:
    path, good = lines
    refused(path, b"".join([*good[:at], *good[at + 1 :]]), "entry . should stand here")


def test_jsonl_a_line_twice(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    refused(path, b"".join([*good, good[-1]]), "entry 6 should stand here")


def test_jsonl_half_a_line_in_the_middle(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    refused(path, b"".join([*good[:3], good[3][:20], *good[4:]]), "damaged")


def test_jsonl_zeros_in_the_middle(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    refused(path, b"".join([*good[:3], b"\0" * len(good[3]), *good[4:]]), "damaged")


def test_jsonl_another_file(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    refused(path, b"my notes\n", "not a log of ours")
    refused(path, b"my notes", "not a log of ours")
    refused(path, b'{"transom":"log",}\n', "trip")
    refused(path, b'{"transom":"log","version":1}\n', "number")
    refused(path, b"".join(good[1:]), "not a log of ours")
    refused(path, b"\0" * len(good[0]) + b"".join(good[1:]), "not a log of ours")
    refused(path, b"".join([header("other", 1), *good[1:]]), "the conversation 'other', not 'trip'")
    refused(path, good[0].replace(b'"version":1', b'"version":2') + b"anything", "a newer Transom wrote this")


def test_jsonl_what_seems_damaged_may_be_half_a_repair(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    path.write_bytes(b"".join([*good[:3], good[3][:20], *good[4:]]))
    with path.open("r+b") as file:
        with locked(file):
            opening = ThreadPoolExecutor(1).submit(lambda: list(JsonlStore(str(path.parent)).open("trip").read()))
            with pytest.raises(TimeoutError):
                opening.result(0.1)
            path.write_bytes(b"".join(good))
        assert opening.result(5) == said(0, 6)


def test_jsonl_not_an_entry(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    path.write_bytes(b"".join([*good[:6], frame(Line(0, None, b'{"seq":5,"at":1.0}'))]))
    log = JsonlStore(str(path.parent)).open("trip")
    with pytest.raises(StoreDamaged, match="entry 5: not an entry"):
        log[5]
    assert list(log.read(0, 5)) == said(0, 5)


def test_jsonl_the_file_is_gone_or_shorter(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    log = JsonlStore(str(path.parent)).open("trip")
    path.write_bytes(b"".join(good[:4]))
    for look in (log.refresh, lambda: log.append(said(6, 1), 6)):
        with pytest.raises(StoreDamaged, match="is now"):
            look()
    path.unlink()
    for look in (log.refresh, lambda: log.append(said(6, 1), 6), lambda: log[0]):
        with pytest.raises(UnknownLog, match="'trip' is no longer in the store"):
            look()


def test_jsonl_bodies(tmp_path: Path) -> None:
    store = JsonlStore(str(tmp_path))
    body = User(parts=(Text("x" * 100_000),))
    log = store.open("trip")
    log.append([*log_of([body, body]), *said(2, 1)], 0)
    (blob,) = (tmp_path / "blobs").iterdir()
    (path,) = tmp_path.glob("*.jsonl")
    assert (blob.stat().st_size > 100_000, path.stat().st_size < 1_500) == (True, True)
    blob.write_bytes(b"{}")
    with pytest.raises(StoreDamaged, match=r"entry 0: its body blobs/\w+ is damaged"):
        log[0]
    blob.unlink()
    with pytest.raises(StoreDamaged, match=r"entry 1: its body blobs/\w+ is missing"):
        log[1]
    assert log[2] == said(2, 1)[0]


def test_jsonl_a_torn_snapshot_is_no_snapshot(lines: tuple[Path, list[bytes]]) -> None:
    path, _ = lines
    log = JsonlStore(str(path.parent)).open("trip")
    log.save(6, b"view")
    path.with_suffix(".view").write_bytes(b"\0\0\0")
    assert log.saved() is None
