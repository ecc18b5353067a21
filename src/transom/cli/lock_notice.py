"""Says that a database is locked by another process, while SQLite waits for it without a word."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import Self

from transom.cli.streams import say
from transom.stores.urls import parse_location

PATIENCE = 2.0
"""Seconds without a step before it looks for a lock."""


class Watch:
    """While it is entered: says once on stderr if nothing goes on because the store at `url` is locked.

    `writing`: whether a lock against writing alone is in the way. Only SQLite's stores are watched.
    """

    def __init__(self, url: str, *, writing: bool) -> None:
        location = parse_location(url)
        self._path = location.path if location.kind == "sqlite" else ""
        self._try = "BEGIN IMMEDIATE" if writing else "SELECT 1 FROM sqlite_schema"
        self._last = monotonic()
        self._done = Event()
        self._thread = Thread(target=self._look, daemon=True)

    def step(self) -> None:
        """Something has gone on."""
        self._last = monotonic()

    def __enter__(self) -> Self:
        if self._path:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._done.set()
        if self._path:
            self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(PATIENCE / 4):
            if monotonic() - self._last >= PATIENCE and self._locked():
                say(f"{self._path} is locked: waiting for another process", 0)
                return

    def _locked(self) -> bool:
        try:
            with closing(sqlite3.connect(f"{Path(self._path).absolute().as_uri()}?mode=rw", 0, uri=True)) as db:
                db.execute(self._try)
        except sqlite3.Error as problem:
            return getattr(problem, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        return False
