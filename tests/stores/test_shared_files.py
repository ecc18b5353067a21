"""Many conversations, few files: stores on one SQLite file share a connection, JSON Lines keeps no file open."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from transom.errors import InvalidSetting
from transom.stores import SqliteStore, open_store
from transom.testing import user_entries

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files by /proc")


def open_files(folder: Path) -> list[str]:
    """The names of the open files of this process that lie in the folder."""
    found: list[str] = []
    for link in Path("/proc/self/fd").iterdir():
        try:
            target = link.readlink()
        except FileNotFoundError:  # the listing's own
            continue
        if target.is_relative_to(folder):
            found.append(target.name)
    return sorted(found)


@pytest.mark.parametrize("place", ["agent.db", "logs/"])
def test_a_thousand_conversations_in_one_store(tmp_path: Path, place: str) -> None:
    store = open_store(f"{tmp_path}/{place}")
    logs = [store.open(f"trip {number}") for number in range(1_000)]
    for log in logs[:100]:
        log.append(user_entries(0, 1), 0)
        assert log[0] == user_entries(0, 1)[0]
    expected = ["agent.db", "agent.db-shm", "agent.db-wal"] if place == "agent.db" else []
    assert open_files(tmp_path) == expected
    store.close()
    assert open_files(tmp_path) == []


def test_stores_opened_by_url_share_a_connection_that_the_last_one_closes(tmp_path: Path) -> None:
    stores = [open_store(f"sqlite:///{tmp_path}/agent.db") for _ in range(50)]
    logs = [store.open(f"trip {number}") for number, store in enumerate(stores)]
    for log in logs:
        log.append(user_entries(0, 2), 0)
    assert open_files(tmp_path) == ["agent.db", "agent.db-shm", "agent.db-wal"]
    for store in stores[:-1]:
        store.close()
        store.close()  # a second time changes nothing
    assert logs[-1][1] == user_entries(0, 2)[1]
    for use in (lambda: logs[0][0], lambda: logs[0].append(user_entries(2, 1), 2), stores[0].names):
        with pytest.raises(InvalidSetting, match="the store is closed"):
            use()
    stores[-1].close()
    assert open_files(tmp_path) == []
    assert SqliteStore(tmp_path / "agent.db").names() == [f"trip {number}" for number in range(50)]


def test_a_store_that_nobody_closed_keeps_nothing_open(tmp_path: Path) -> None:
    kept = SqliteStore(tmp_path / "agent.db")
    dropped: Any = [SqliteStore(tmp_path / "agent.db").open(f"trip {number}") for number in range(3)]
    del dropped
    gc.collect()
    assert open_files(tmp_path) != []
    kept.close()
    assert open_files(tmp_path) == []
    dropped = SqliteStore(tmp_path / "agent.db").open("trip")
    del dropped
    gc.collect()
    assert open_files(tmp_path) == []


def test_a_file_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    path = tmp_path / "agent.db"
    old = SqliteStore(path)
    old.open("old").append(user_entries(0, 1), 0)
    for file in tmp_path.iterdir():
        file.rename(file.with_name(f"moved {file.name}"))
    new = SqliteStore(path)
    new.open("new").append(user_entries(0, 1), 0)
    assert (old.names(), new.names(), SqliteStore(path).names()) == (["old"], ["new"], ["new"])


def test_other_settings_have_a_connection_of_their_own(tmp_path: Path) -> None:
    one, two = SqliteStore(tmp_path / "a.db"), SqliteStore(tmp_path / "a.db", synchronous="normal")
    levels: list[int] = []
    for store in (one, two):
        with store.file.connection() as db:
            levels += db.execute("PRAGMA synchronous").fetchone()
    assert levels == [2, 1]


def test_threads_open_and_close_one_file(tmp_path: Path) -> None:
    problems: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(30):
                store = SqliteStore(tmp_path / "agent.db")
                store.open(f"trip {number} {turn}").append(user_entries(0, 1), 0)
                store.close()
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(SqliteStore(tmp_path / "agent.db").names()) == 120
    gc.collect()
    assert open_files(tmp_path) == []


def _in_a_child(inherited: SqliteStore, path: Path, answers: Any) -> None:
    try:
        inherited.names()
    except InvalidSetting as problem:
        answers.put(str(problem))
    store = SqliteStore(path)
    store.open("child").append(user_entries(0, 1), 0)
    answers.put(store.names())
    store.close()


@pytest.mark.skipif(sys.platform == "win32" or not hasattr(os, "fork"), reason="there is no fork")
def test_a_child_process_opens_its_own(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "agent.db")
    store.open("parent").append(user_entries(0, 1), 0)
    context: Any = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_in_a_child, args=(store, tmp_path / "agent.db", answers))
    child.start()
    child.join()
    assert answers.get() == f"{store.path}: the store was opened before a fork; open it again in this process"
    assert answers.get() == ["parent", "child"]
    assert store.names() == ["parent", "child"]
