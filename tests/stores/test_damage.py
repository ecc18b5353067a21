"""Bytes that are not ours: one clear line that names the file, and nothing is changed."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from transom.core.message import Text, User
from transom.errors import Conflict, InvalidSetting, StoreDamaged, StoreUnavailable, TransomError, UnknownLog
from transom.stores import JsonlStore, SqliteStore
from transom.stores.blobs import encode_entry
from transom.stores.files import locked
from transom.stores.fork import fork_log
from transom.stores.jsonl_format import Header, encode_header, encode_line
from transom.testing import entries_of, user_entries


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A SQLite file of 40 entries, one of them with a large body."""
    place = tmp_path / "agent.db"
    with closing(SqliteStore(str(place))) as store:
        log = store.open("trip")
        log.append(user_entries(0, 39, 2_000), 0)
        log.append(entries_of([User(parts=(Text("x" * 100_000),))], 39), 39)
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
    damaged(path, "file is not a database; nothing was changed; restore it from a backup, or name another file")


def test_sqlite_of_another_program(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    execute(path, "CREATE TABLE logs (mine TEXT)")
    damaged(path, "another program's database")


def test_sqlite_of_a_newer_version(path: Path) -> None:
    execute(path, "PRAGMA user_version = 2")
    damaged(path, "a newer Transom wrote this .*; update Transom$")


def test_sqlite_truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: 4096 * 12])
    damaged(path, "malformed")


def test_sqlite_with_definitions_in_other_words(path: Path) -> None:
    """The columns count, and neither the text that defines them nor columns of others."""
    with closing(sqlite3.connect(path)) as db:
        db.executescript("""ALTER TABLE blobs ADD COLUMN note TEXT; PRAGMA writable_schema = on;
                            UPDATE sqlite_schema SET sql = replace(sql, ', ', ' ,  ')""")
    with closing(SqliteStore(str(path))) as store:
        assert len(store.open("trip")) == 40


def test_sqlite_overwritten(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    damaged(path, "malformed")


def test_sqlite_without_a_table(path: Path) -> None:
    execute(path, "DROP TABLE entries")
    damaged(path, "there is no table entries; nothing was changed; restore it from a backup$")


@pytest.mark.parametrize("then", ["removed", "replaced"])
def test_sqlite_nothing_is_written_into_a_file_that_nobody_can_open_any_longer(path: Path, then: str) -> None:
    store = SqliteStore(path)
    log = store.open("trip")
    known, kept = len(log), path.with_name("kept.db")
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).rename(kept.with_name(kept.name + end))
    if then == "replaced":
        SqliteStore(path).open("trip").append(user_entries(0, 2), 0)
    writing: list[Callable[[], object]] = [
        lambda: log.append(user_entries(known, 1), known),
        lambda: store.open("other").append(user_entries(0, 1), 0),
        lambda: log.take_lease("somebody", 30),
        lambda: store.forget("trip"),
    ]
    for write in writing:
        with pytest.raises(StoreUnavailable, match="removed, moved or replaced since it was opened") as refused:
            write()
        assert str(path) in str(refused.value)
    store.close()
    assert len(SqliteStore(kept).open("trip")) == known
    assert SqliteStore(path).names() == (["trip"] if then == "replaced" else [])


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
            log.append(user_entries(40, 1), 40)
        with pytest.raises(StoreDamaged, match="'trip', entry 7: it is missing"):
            log.refresh()


def test_sqlite_entry_in_the_wrong_place(path: Path) -> None:
    move = "SELECT body, crc FROM entries WHERE seq = 8"
    execute(path, f"UPDATE entries SET (body, crc) = ({move}) WHERE seq = 7")
    damaged(path, "entry 7: it says it is entry 8", 7)


def test_sqlite_entry_of_another_conversation(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.open("other").append(entries_of([User(parts=(Text("not what was said"),))] * 9), 0)
    move = "SELECT body, crc FROM entries WHERE seq = 7 AND log = 2"
    execute(path, f"UPDATE entries SET (body, crc) = ({move}) WHERE seq = 7 AND log = 1")
    damaged(path, "entry 7: its checksum is wrong", 7)


@pytest.mark.parametrize("seq", [None, 7])
def test_sqlite_one_letter_changed(path: Path, seq: int | None) -> None:
    execute(path, "UPDATE entries SET body = CAST(replace(body, 'message', 'massage') AS BLOB) WHERE seq = 7")
    damaged(path, "'trip', entry 7: its checksum is wrong", seq)


@pytest.mark.parametrize("seq", [None, 39])
def test_sqlite_one_letter_of_a_large_body_changed(path: Path, seq: int | None) -> None:
    execute(path, "UPDATE blobs SET body = CAST(replace(body, 'xxxxxxxxx', 'xxxxyxxxx') AS BLOB)")
    damaged(path, "'trip', entry 39: its body is not what was stored", seq)


def test_sqlite_damage_says_how_to_go_on(path: Path) -> None:
    execute(path, "UPDATE entries SET body = CAST(replace(body, 'message', 'massage') AS BLOB) WHERE seq IN (0, 7)")
    advice = "restore it from a backup, or go on with a copy of the entries before it: transom fork ID --at 6"
    damaged(path, f"'trip', entry 7: its checksum is wrong; nothing was changed; {advice}$", 7)
    damaged(path, "entry 0: its checksum is wrong; nothing was changed; restore it from a backup$", 0)
    path.write_bytes(path.read_bytes()[:8192] + b"\xff" * 8192)
    damaged(
        path, r"malformed; nothing was changed; restore it from a backup, or copy what is whole: sqlite3 .* \.recover"
    )


def test_sqlite_any_bit_flipped(path: Path) -> None:
    """Whatever bit of the file changes: what is read is what was stored, or an error."""
    content, chance, caught = path.read_bytes(), random.Random(14), 0
    stored = list(user_entries(0, 39, 2_000)) + entries_of([User(parts=(Text("x" * 100_000),))], 39)
    for _ in range(400):
        at, bit = chance.randrange(100, len(content)), 1 << chance.randrange(8)
        path.write_bytes(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])
        try:
            with closing(SqliteStore(path)) as store:
                found = list(store.open("trip").read()) if "trip" in store.names() else []
        except TransomError as problem:
            assert "\n" not in str(problem)
            caught += 1
        else:
            assert found in (stored, []), f"bit {bit} of byte {at}"
    assert caught > 200, "the rest are in unused space"


def test_sqlite_entries_missing_at_the_end(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.open("trip").save_snapshot(40, b"a view")
    execute(path, "DELETE FROM entries WHERE seq >= 30")
    damaged(path, "'trip': its snapshot was made of 40 entries, but only 30 are left; .* delete row 1 of its table")
    execute(path, "DELETE FROM snapshots WHERE log = 1")
    with closing(SqliteStore(path)) as store:
        assert list(store.open("trip").read()) == user_entries(0, 30, 2_000)


def test_sqlite_damaged_snapshot(path: Path) -> None:
    """It proves nothing, and is not used."""
    with closing(SqliteStore(path)) as store:
        store.open("trip").save_snapshot(40, b"a view")
    for change in ("at = 41", "view = CAST('a vieu' AS BLOB)"):
        execute(path, f"UPDATE snapshots SET {change}")
        with closing(SqliteStore(path)) as store:
            log = store.open("trip")
            assert (len(log), log.load_snapshot()) == (40, None)
            log.save_snapshot(40, b"a view")


def test_sqlite_body_missing(path: Path) -> None:
    execute(path, "DELETE FROM blobs")
    damaged(path, "entry 39: its body is missing", 39)


def test_sqlite_entries_beside_the_damage_can_be_read(path: Path) -> None:
    execute(path, "DELETE FROM entries WHERE seq = 7")
    with closing(SqliteStore(str(path))) as store:
        log = store.open("trip")
        assert [log[6], *log.read(8, 39)] == [*user_entries(6, 1, 2_000), *user_entries(8, 31, 2_000)]


def test_sqlite_keeps_one_body_once(path: Path) -> None:
    with closing(SqliteStore(str(path))) as store:
        store.open("other").append(entries_of([User(parts=(Text("x" * 100_000),))]), 0)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*), sum(length(body)) > 100000 FROM blobs").fetchone() == (1, 1)
        assert db.execute("SELECT max(length(body)) < 3000 FROM entries").fetchone() == (1,)


def test_sqlite_settings(tmp_path: Path) -> None:
    for synchronous, level in (("full", 2), ("normal", 1)):
        with (
            closing(SqliteStore(str(tmp_path / "a.db"), synchronous=synchronous)) as store,
            store.file.connection() as db,
        ):
            found = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")]
            assert found == [level, "wal"]


def test_sqlite_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.stores.sqlite_file.MAX_WAIT", 0.05)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(SqliteStore(str(path))) as store:
            log = store.open("trip")
            with pytest.raises(StoreUnavailable, match="database is locked; this changed nothing"):
                log.append(user_entries(40, 1), 40)
            with pytest.raises(StoreUnavailable, match="database is locked; this changed nothing"):
                store.forget("trip")
            assert len(list(log.read())) == 40
            other.rollback()
            log.append(user_entries(40, 1), 40)
            assert len(list(log.read())) == 41


def test_sqlite_somebody_reads_while_it_is_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.stores.sqlite_file.MAX_WAIT", 0.05)
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


@pytest.mark.parametrize(
    ("at", "whole", "said"),
    [
        (1, 0, "no entry before it is whole"),
        (3, 0, "no entry before it is whole"),  # an append of three entries, one of one, one of two
        (4, 3, "3 entries before it are whole"),
        (6, 4, "4 entries before it are whole"),
    ],
)
def test_jsonl_a_damaged_line_says_what_is_whole_and_how_to_go_on(
    lines: tuple[Path, list[bytes]], at: int, whole: int, said: str
) -> None:
    path, good = lines
    content = b"".join([*good[:at], good[at].replace(b"message", b"massage"), *good[at + 1 :]])
    end = sum(map(len, good[: whole + 1]))
    path.write_bytes(content)
    with pytest.raises(StoreDamaged) as caught:
        JsonlStore(path.parent).open("trip")
    where = f"{path}: the line at byte {sum(map(len, good[:at])):,} is damaged: its checksum is wrong"
    assert caught.value.what == f"{where}; {said}"
    if not whole:
        assert caught.value.kept == "nothing was changed; restore it from a backup"
        return
    way_out = f"cut the file to {end} bytes (truncate -s {end}) to go on with the whole ones"
    assert caught.value.kept == f"nothing was changed; restore it from a backup, or {way_out}"
    os.truncate(path, end)
    log = JsonlStore(path.parent).open("trip")
    assert (list(log.read()), log.repaired) == (user_entries(0, whole), "")


def test_jsonl_an_empty_file_is_not_opened_without_a_word(
    lines: tuple[Path, list[bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    path, good = lines
    path.write_bytes(b"")
    store = JsonlStore(path.parent)
    log = store.open("trip")
    assert log.repaired == f"{path}: the file is empty: its first append was never finished, or its content is lost"
    assert caplog.messages == [log.repaired]
    assert [(file.name, why) for file, why in store.unreadable_files()] == [(path.name, "the file is empty")]
    log.append(user_entries(0, 1), 0)
    assert (store.open("trip").repaired, list(store.unreadable_files())) == ("", [])
    path.write_bytes(b"my notes\n")
    assert list(store.unreadable_files()) == [(path, "this is not a log of ours")]
    path.write_bytes(good[0][:20])
    assert list(store.unreadable_files()) == [], "the beginning of a first append: opening it says so"


def test_jsonl_a_file_that_somebody_is_about_to_write_is_no_damage(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = JsonlStore(tmp_path)
    store.open("other").append(user_entries(0, 1), 0)
    path = store.open("trip")._path
    with store.lock():  # as the one who creates a log holds it
        path.touch()
        opening = ThreadPoolExecutor(1).submit(store.open, "trip")
        with pytest.raises(TimeoutError):
            opening.result(0.1)
        line = encode_line(0, encode_entry(*user_entries(0, 1)))
        path.write_bytes(encode_header(Header.new("trip", 2.0)) + line)
    log = opening.result(5)
    assert (list(log.read()), log.repaired, caplog.messages) == (user_entries(0, 1), "", [])


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_jsonl_unfinished_append_that_may_only_be_read(
    lines: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    path, good = lines
    torn = b"".join([*good[:6], good[6][:20]])
    path.write_bytes(torn)

    by_path, by_flags = Path.open, os.open

    def opened(path: Path, mode: str = "r", *args: Any, **more: Any) -> Any:
        if set(mode) & set("+wa"):
            raise OSError(number, "not to be written")
        return by_path(path, mode, *args, **more)

    def opened_by_flags(path: str, flags: int, *args: Any, **more: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(number, "not to be written")
        return by_flags(path, flags, *args, **more)

    monkeypatch.setattr(Path, "open", opened)
    monkeypatch.setattr(os, "open", opened_by_flags)
    log = JsonlStore(path.parent).open("trip")
    ignored = "it may only be read: ignored 174 bytes of an append that was never finished, after 4 entries"
    assert log.repaired == f"{path}: {ignored}"
    assert caplog.messages == [log.repaired]
    assert list(log.read()) == user_entries(0, 4)
    with pytest.raises(StoreUnavailable, match="not to be written"):
        log.append(user_entries(4, 1), 4)
    assert path.read_bytes() == torn


def test_jsonl_another_file(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    refused(path, b"my notes\n", "not a log of ours")
    refused(path, b"my notes", "not a log of ours")
    refused(path, b'{"transom":"log",}\n', "trip")
    refused(path, b'{"transom":"log","version":1}\n', "id")
    refused(path, b"".join(good[1:]), "not a log of ours")
    refused(path, b"\0" * len(good[0]) + b"".join(good[1:]), "not a log of ours")
    refused(
        path, b"".join([encode_header(Header.new("other", 1.0)), *good[1:]]), "the conversation 'other', not 'trip'"
    )
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
        assert opening.result(5) == user_entries(0, 6)


def test_jsonl_not_an_entry(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    path.write_bytes(b"".join([*good[:6], encode_line(0, b'{"seq":5,"at":1.0}')]))
    log = JsonlStore(str(path.parent)).open("trip")
    with pytest.raises(StoreDamaged, match="entry 5: not an entry"):
        log[5]
    assert list(log.read(0, 5)) == user_entries(0, 5)


def test_jsonl_the_file_is_gone_or_shorter(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    log = JsonlStore(str(path.parent)).open("trip")
    path.write_bytes(b"".join(good[:4]))
    for look in (log.refresh, lambda: log.append(user_entries(6, 1), 6)):
        with pytest.raises(StoreDamaged, match="is now"):
            look()
    path.unlink()
    for look in (log.refresh, lambda: log.append(user_entries(6, 1), 6), lambda: log[0]):
        with pytest.raises(UnknownLog, match="'trip' is no longer in the store"):
            look()


@pytest.mark.parametrize(
    ("part", "at", "why"),
    [
        (b"NOT NULL UNIQUE,", 15, "bytes that are no text"),
        (b"INTEGER PRIMARY KEY", 8, "the table logs has no column id INTEGER, key"),
        (b"INTEGER PRIMARY KEY", 0, "the table logs has no column id INTEGER, key"),
    ],
)
def test_a_damaged_definition_of_a_table_is_no_empty_store(path: Path, part: bytes, at: int, why: str) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(part, content.index(b"CREATE TABLE logs")) + at] = 0xE8
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=why) as refused:
        SqliteStore(str(path))
    assert str(refused.value).startswith(f"{path}: ")
    assert path.read_bytes() == content


def test_sqlite_a_fork_finds_that_the_last_entry_before_it_is_missing(path: Path) -> None:
    execute(path, "DELETE FROM entries WHERE seq = 7")
    with closing(SqliteStore(str(path))) as store:
        with pytest.raises(StoreDamaged, match="'trip', entry 7: it is missing"):
            fork_log(store, store.open("trip"), at=8, name="fork")
        assert store.names() == ["trip"]
