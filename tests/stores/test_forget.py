"""Stores while and after a conversation is forgotten: who waits, and what stays."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from places import Place

from transom.conversation.conversation import Conversation
from transom.core.budget import Budget
from transom.core.edit import Pin
from transom.core.message import Text, User
from transom.errors import StoreUnavailable, UnknownLog
from transom.policies import policy_named
from transom.stores import JsonlStore, SqliteStore
from transom.stores.jsonl import JsonlLog
from transom.testing import WordCounter, entries_of, user_entries

WRITER = str(Path(__file__).with_name("writer_process.py"))


def test_what_cannot_be_removed_is_whole(lines: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch) -> None:
    path, good = lines

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StoreUnavailable, match="Permission denied; this changed nothing, what was stored before is"):
        JsonlStore(str(path.parent)).forget("trip")
    assert path.read_bytes() == b"".join(good)


def test_who_appends_shares_the_folder_and_who_forgets_has_it_alone(tmp_path: Path) -> None:
    store, pool = JsonlStore(str(tmp_path)), ThreadPoolExecutor(1)
    log = store.open("trip")
    log.append(user_entries(0, 1), 0)
    store.open("two").append(user_entries(0, 1), 0)
    for shared, waits in ((False, lambda: log.append(user_entries(1, 1), 1)), (True, lambda: store.forget("two"))):
        with store.lock(shared=shared):
            waiting = pool.submit(waits)
            with pytest.raises(TimeoutError):
                waiting.result(0.1)
            if shared:
                log.append(user_entries(2, 1), 2)
        waiting.result(5)
    assert (store.names(), list(log.read())) == (["trip"], user_entries(0, 3))


def test_a_new_conversation_does_not_look_at_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = JsonlStore(tmp_path)
    store.open("first").append(user_entries(0, 1), 0)
    monkeypatch.setattr("os.scandir", None)
    monkeypatch.setattr("os.listdir", None)
    for name in ("second", "third"):
        JsonlStore(tmp_path).open(name).append(user_entries(0, 1), 0)
    monkeypatch.undo()
    assert store.names() == ["first", "second", "third"]


def test_who_begins_a_log_has_the_folder_alone(tmp_path: Path) -> None:
    store, pool = JsonlStore(str(tmp_path)), ThreadPoolExecutor(1)
    log = store.open("trip")
    log.append(user_entries(0, 1), 0)
    (path,) = tmp_path.glob("*.jsonl")
    path.write_bytes(b"")
    log = store.open("trip")
    with store.lock(shared=True):
        waiting = pool.submit(lambda: log.append(user_entries(0, 1), 0))
        with pytest.raises(TimeoutError):
            waiting.result(0.1)
    waiting.result(5)
    assert list(store.open("trip").read()) == user_entries(0, 1)


def going(path: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is forgotten by another just before it is opened for the time with this number."""
    opening, left = Path.open, iter(range(1, 100))

    def late(self: Path, *args: Any, **more: Any) -> Any:
        if self == path and next(left) == at:
            path.unlink(missing_ok=True)
        return opening(self, *args, **more)

    monkeypatch.setattr(Path, "open", late)


@pytest.mark.parametrize(("known", "wrong", "at"), [(7, b"", 1), (1, b"to", 1), (1, b"{", 2), (2, b"nonsense\n", 2)])
def test_a_file_that_goes_before_it_is_opened_is_an_empty_log(
    lines: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch, known: int, wrong: bytes, at: int
) -> None:
    path, good = lines
    path.write_bytes(b"".join(good[:known]) + wrong)
    going(path, at, monkeypatch)
    log = JsonlStore(str(path.parent)).open("trip")
    assert (len(log), log.repaired, path.exists()) == (0, "", False)
    log.append(user_entries(0, 1), 0)
    assert list(log.read()) == user_entries(0, 1)


def test_a_file_that_goes_when_it_was_seen_is_told(
    lines: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, good = lines
    looks: list[Callable[[JsonlLog], object]] = [lambda log: log[0], lambda log: list(log.read()), JsonlLog.refresh]
    for look in looks:
        path.write_bytes(b"".join(good))
        log = JsonlStore(str(path.parent)).open("trip")
        with monkeypatch.context() as patch:
            going(path, 1, patch)
            with pytest.raises(UnknownLog, match="'trip' is no longer in the store"):
                look(log)
    path.write_bytes(b"".join(good) + b"{")
    going(path, 2, monkeypatch)
    with pytest.raises(UnknownLog):
        JsonlStore(str(path.parent)).open("trip")


def test_a_log_that_goes_while_they_are_listed(tmp_path: Path) -> None:
    store = JsonlStore(str(tmp_path))
    store.open("trip").append(user_entries(0, 1), 0)
    (tmp_path / "gone.jsonl").symlink_to("nowhere")
    assert store.names() == ["trip"]


def test_what_is_not_ours_is_not_forgotten(lines: tuple[Path, list[bytes]]) -> None:
    path, _ = lines
    path.write_text("my notes\n")
    with pytest.raises(UnknownLog):
        JsonlStore(str(path.parent)).forget("trip")
    assert path.read_text() == "my notes\n"


def test_what_is_damaged_can_be_forgotten(lines: tuple[Path, list[bytes]]) -> None:
    path, good = lines
    path.write_bytes(b"".join([*good[:3], b"\0" * 9, *good[4:]]))
    JsonlStore(str(path.parent)).forget("trip")
    assert not path.exists()


def test_sqlite_forgets_in_several_processes_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    names = [f"trip {number}" for number in range(24)]
    store = SqliteStore(path)
    for name in (*names, "stays"):
        store.open(name).append(user_entries(0, 1), 0)
    parts = (names[:8], names[8:16], names[16:])
    writers = [subprocess.Popen([sys.executable, WRITER, "forget_all", f"sqlite:///{path}", *some]) for some in parts]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert store.names() == ["stays"]


@pytest.mark.parametrize("snapshot_at", [1, 1_000])
def test_a_conversation_whose_log_is_forgotten_says_so_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, snapshot_at: int
) -> None:
    store, settings = place.open(), {"budget": Budget(), "policy": policy_named("default"), "counter": WordCounter()}
    conversation = Conversation(place.open().open("trip"), **settings)
    conversation.user("hello")
    conversation.plan_request()
    store.forget("trip")
    for act in (lambda: conversation.user("more"), conversation.plan_request, lambda: conversation.edit(Pin(entry=0))):
        with pytest.raises(UnknownLog, match="no longer in the store"):
            act()
    monkeypatch.setattr("transom.conversation.appending.log_writer.SNAPSHOT_AT", snapshot_at)
    conversation.close()
    assert store.names() == []


def test_who_reads_what_is_being_forgotten_is_told_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    log = store.open("trip")
    log.append(entries_of([User(parts=(Text(digit * 100_000),)) for digit in "0123456789"]), 0)
    reading = SqliteStore(tmp_path / "a.db").open("trip").read()
    next(reading)
    store.forget("trip")
    with pytest.raises(UnknownLog, match="'trip' is no longer in the store"):
        list(reading)


def test_a_file_that_may_only_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a#b?.db"
    store = SqliteStore(str(path))
    store.open("trip").append(user_entries(0, 2), 0)
    store.close()
    monkeypatch.setattr("os.access", lambda *_: False)
    log = SqliteStore(str(path)).open("trip")
    assert len(list(log.read())) == 2
    assert [file.name for file in tmp_path.iterdir()] == [path.name], "nothing was written beside it"
    with pytest.raises(StoreUnavailable, match="readonly database; this changed nothing"):
        log.append(user_entries(2, 1), 2)
