"""Prints a notice on stderr if another process locks a database. SQLite itself waits without a message."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Self

from transom.cli.streams import print_notice
from transom.stores.urls import parse_location

DELAY = 2.0
"""Seconds without a step after which it checks for a lock."""


class LockNotice:
    """A context in which a thread prints one notice if the work does not go on because another process locks the store.

    `url`: of the store; only SQLite stores are watched. `writing`: a lock against writing counts too, not only one
    against reading.
    """

    def __init__(self, url: str, *, writing: bool) -> None:
        location = parse_location(url)
        self._path = location.path if location.kind == "sqlite" else ""
        self._probe = "BEGIN IMMEDIATE" if writing else "SELECT 1 FROM sqlite_schema"
        self._last_step = monotonic()
        self._done = Event()
        self._thread = Thread(target=self._watch, daemon=True)

    def step(self) -> None:
        """Say that the work goes on. A notice is printed only after DELAY seconds without a step."""
        self._last_step = monotonic()

    def __enter__(self) -> Self:
        if self._path:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        if self._path:
            self._thread.join()

    def _watch(self) -> None:
        """Print the notice if the store was found locked twice in a row: the first time it may be our own append."""
        was_locked = False
        while not self._done.wait(DELAY / 4):
            is_locked = monotonic() - self._last_step >= DELAY and self._is_locked()
            if is_locked and was_locked:
                print_notice(f"{self._path} is locked: waiting for another process")
                return
            was_locked = is_locked

    def _is_locked(self) -> bool:
        try:
            with closing(sqlite3.connect(f"{Path(self._path).absolute().as_uri()}?mode=rw", timeout=0, uri=True)) as db:
                db.execute(self._probe)
        except sqlite3.Error as problem:
            return getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        return False
