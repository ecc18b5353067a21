"""Processes that open one new SQLite file at the same time: a store, a search index."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from transom.stores import SqliteStore
from transom.testing import user_entries

PROCESS = Path(__file__).with_name("opening_process.py")
PROCESSES, FILES = 2, 30


def open_at_once(kind: str, paths: list[Path]) -> list[list[str]]:
    """Return for each path what went wrong in each of the processes."""
    command = [sys.executable, PROCESS, kind]
    openers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)
    ]
    assert [opener.stdout.readline() for opener in openers] == ["ready\n"] * PROCESSES
    problems: list[list[str]] = []
    for path in paths:
        for opener in openers:
            opener.stdin.write(f"{path}\n")
            opener.stdin.flush()
        problems.append([opener.stdout.readline().rstrip("\n") for opener in openers])
    for opener in openers:
        opener.communicate()
    return problems


@pytest.mark.parametrize("kind", ["store", "index"])
def test_a_new_file_can_be_opened_by_two_processes_at_once(tmp_path, kind):
    paths = [tmp_path / f"{number}.db" for number in range(FILES)]
    assert open_at_once(kind, paths) == [[""] * PROCESSES] * FILES


def test_a_new_file_can_be_opened_by_two_threads_at_once(tmp_path):
    paths = [tmp_path / f"{number}.db" for number in range(5 * FILES)]
    together = Barrier(2, timeout=5)

    def append_to_each(log: str) -> list[int]:
        ends: list[int] = []
        for path in paths:
            together.wait()
            ends.append(SqliteStore(path).open(log).append(user_entries(0, 1), 0))
        return ends

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor() as threads:
            assert len(list(threads.map(append_to_each, ["trip", "tour"]))) == 2
    finally:
        sys.setswitchinterval(interval)
