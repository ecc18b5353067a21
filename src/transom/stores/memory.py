"""Conversations in memory: for tests, for `fit`, for what need not outlive the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from threading import Lock

from transom.core.entry import Entry
from transom.errors import Conflict
from transom.stores.base import known, numbered


class _Shelf:
    """What all handles of one name share."""

    __slots__ = ("entries", "lock", "snapshot")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.snapshot: tuple[int, bytes] | None = None
        self.lock = Lock()


class MemoryLog:
    """A list of entries. What is read is the object that was appended (entries are frozen)."""

    mended = ""

    def __init__(self, name: str, shelves: dict[str, _Shelf], shelf: _Shelf) -> None:
        self.name = name
        self._shelves, self._shelf = shelves, shelf
        self._n = len(shelf.entries)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, seq: int, /) -> Entry:
        return self._shelf.entries[known(seq, self._n)]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        for seq in range(start, self._n if stop is None else min(stop, self._n)):
            yield self._shelf.entries[seq]

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        shelf = self._shelf
        with shelf.lock:
            if len(shelf.entries) != expect:
                raise Conflict(expect, len(shelf.entries))
            shelf.entries.extend(numbered(entries, expect))
            self._n = len(shelf.entries)
            if not expect and self._n:
                self._shelves.setdefault(self.name, shelf)

    def refresh(self) -> int:
        self._n = len(self._shelf.entries)
        return self._n

    def save(self, at: int, snapshot: bytes) -> None:
        self._shelf.snapshot = (at, snapshot)

    def saved(self) -> tuple[int, bytes] | None:
        return self._shelf.snapshot


class MemoryStore:
    """Named logs that live as long as the store."""

    def __init__(self) -> None:
        self._known: dict[str, _Shelf] = {}
        self._begun: dict[str, _Shelf] = {}

    def open(self, name: str) -> MemoryLog:
        return MemoryLog(name, self._begun, self._known.setdefault(name, _Shelf()))

    def names(self) -> list[str]:
        return list(self._begun)

    def close(self) -> None:
        pass
