"""The log as a view reads it: a sequence of entries that only grows at its end. Also its owner, and a cache of values
that are computed from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from transom.core.entry import Entry, Meta


class Log(Protocol):
    """The entries of a conversation, read only: `log[seq]` gives the entry with this seq, from 0 to `len(log)` − 1.
    Other numbers and slices need not work. How entries are stored is the log's own business."""

    def __len__(self) -> int: ...

    def __getitem__(self, seq: int, /) -> Entry: ...


class PendingLog(Struct, frozen=True, eq=False):
    """A log, followed by the entries of a plan that are not appended yet. `entries` go on where the log ends, and more
    may be added to them later. From the seq of the first of them on, entries are read from there, not from `log`."""

    log: Log
    entries: Sequence[Entry]

    def __len__(self) -> int:
        return len(self.log) + len(self.entries)

    def __getitem__(self, seq: int, /) -> Entry:
        first = self.entries[0].seq if self.entries else len(self.log)
        return self.entries[seq - first] if seq >= first else self.log[seq]


def no_entry(seq: int, length: int) -> str:
    """The sentence for an error that says that a log of `length` entries has no entry with this seq."""
    entries = f"its entries are 0 to {length - 1}" if length else "it is empty"
    return f"there is no entry {seq} in this log: {entries}"


def stored(log: Log) -> int:
    """The number of entries that are stored in the log: those of a `PendingLog` that are not appended yet do not
    count."""
    while isinstance(log, PendingLog):
        log = log.log
    return len(log)


class Owner(Struct, frozen=True):
    """The user whose conversation a log is, and the session that the conversation belongs to. An id that was not given
    is an empty text."""

    user_id: str = ""
    session_id: str = ""


def owner_of(log: Log) -> Owner:
    """The owner of a log, as the `meta` of its first entry says; an `Owner` with empty fields if that says nothing, or
    if the log is empty."""
    meta = log[0].meta if len(log) else None
    return Owner() if meta is None else Owner(meta.user_id, meta.session_id)


def owned(entry: Entry, by: Owner) -> Entry:
    """A copy of an entry, which must be the first of a log, with `by` as the owner in its `meta`. The other fields of
    `meta` stay."""
    return replace(entry, meta=replace(entry.meta or Meta(), user_id=by.user_id, session_id=by.session_id))


T = TypeVar("T")


class IndexCache:
    """A cache of values that are computed from a log: one value of each class, made on first use. Examples are the name
    index, rendered messages and counted texts.

    It only saves work: everything in it follows from the log, so it may be dropped at any time, and a new one gives the
    same windows. A conversation owns one and hands it to whoever needs it. Two threads must not use it at the
    same time: work on a view in another thread takes a new one.
    """

    def __init__(self) -> None:
        self._values: dict[type[Any], Any] = {}

    def of(self, kind: type[T]) -> T:
        """The value of this class. At the first call `kind()` makes it; later calls return the same object."""
        value = self._values.get(kind)
        if value is None:
            value = self._values[kind] = kind()
        return value
