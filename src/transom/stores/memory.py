"""Conversations in memory: for tests, for `fit`, for what need not outlive the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from threading import Lock

from transom.core.entry import Entry
from transom.errors import Conflict, UnknownLog
from transom.stores.base import forgotten, known, numbered, unknown


class _Shelf:
    """What all handles of one name share."""

    __slots__ = ("entries", "gone", "snapshot")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.snapshot: tuple[int, bytes] | None = None
        self.gone = False


class MemoryLog:
    """A list of entries. What is read is the object that was appended (entries are frozen)."""

    mended = ""

    def __init__(self, name: str, store: MemoryStore) -> None:
        self.name = name
        self._store, self._shelf = store, store.shelf(name)
        self._n = len(self._shelf.entries)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, seq: int, /) -> Entry:
        return self._shelf.entries[known(seq, self._n)]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        for seq in range(start, self._n if stop is None else min(stop, self._n)):
            yield self._shelf.entries[seq]

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        with self._store.lock:
            shelf = self._current() if self._shelf.gone else self._shelf
            if (n := len(shelf.entries)) != expect:
                raise Conflict(expect, n)
            shelf.entries.extend(numbered(entries, expect))
            self._n = n + len(entries)
            if not expect and entries:
                self._store.begun.setdefault(self.name, shelf)

    def refresh(self) -> int:
        self._n = len(self._current().entries)
        return self._n

    def save(self, at: int, snapshot: bytes) -> None:
        with suppress(UnknownLog):
            self._current().snapshot = (at, snapshot)

    def saved(self) -> tuple[int, bytes] | None:
        return self._shelf.snapshot

    def _current(self) -> _Shelf:
        """What stands by the name now. Raises UnknownLog if that is not what this handle knows entries of."""
        if self._shelf.gone:
            if self._n:
                raise forgotten(self.name)
            self._shelf = self._store.shelf(self.name)
        return self._shelf


class MemoryStore:
    """Named logs that live as long as the store."""

    def __init__(self) -> None:
        self._known: dict[str, _Shelf] = {}
        self.begun: dict[str, _Shelf] = {}
        self.lock = Lock()

    def open(self, name: str) -> MemoryLog:
        return MemoryLog(name, self)

    def names(self) -> list[str]:
        return list(self.begun)

    def forget(self, name: str) -> None:
        with self.lock:
            if (shelf := self.begun.pop(name, None)) is None:
                raise unknown(name)
            shelf.gone = True
            del self._known[name]

    def close(self) -> None:
        pass

    def shelf(self, name: str) -> _Shelf:
        """What all handles of this name share from now on."""
        return self._known.get(name) or self._known.setdefault(name, _Shelf())
