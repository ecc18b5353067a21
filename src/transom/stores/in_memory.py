"""A store in memory: for tests, for `fit`, and for conversations that need not outlive the process; and a log whose
appends stay in memory, to try what an operation would do before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Lock

from transom.clock import Clock, system_clock
from transom.core.entry import Entry
from transom.errors import Conflict, UnknownLog
from transom.search.indexed_store import LogStamp
from transom.stores.base import StoredLog, check_index, check_seqs, check_snapshot, listed_names, log_forgotten
from transom.stores.leases import NO_LEASE, StoredLease
from transom.stores.local_store import LocalStore


class _Content:
    """One conversation, shared by all handles of its name."""

    __slots__ = ("entries", "forgotten", "lease", "snapshot")

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.snapshot: tuple[int, bytes] | None = None
        self.forgotten = False
        self.lease = NO_LEASE


class MemoryLog:
    """One handle of one conversation in memory (a `StoredLog`). Reading returns the very objects that were appended."""

    repaired = ""

    def __init__(self, name: str, store: MemoryStore) -> None:
        self.name = name
        self._store, self._content = store, store.content(name)
        self._n = len(self._content.entries)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, seq: int, /) -> Entry:
        return self._content.entries[check_index(seq, self._n)]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        for seq in range(start, self._n if stop is None else min(stop, self._n)):
            yield self._content.entries[seq]

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        with self._store.lock:
            content = self._current() if self._content.forgotten else self._content
            if (n := len(content.entries)) != expect:
                raise Conflict(expect, n)
            content.entries.extend(check_seqs(entries, expect))
            self._n = n + len(entries)
            if not expect and entries:
                self._store.created.setdefault(self.name, content)

    def refresh(self) -> int:
        self._n = len(self._current().entries)
        return self._n

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        check_snapshot(at, self._n)
        with suppress(UnknownLog):
            self._current().snapshot = (at, snapshot)

    def load_snapshot(self) -> tuple[int, bytes] | None:
        return self._content.snapshot

    def take_lease(self, holder: str, seconds: float) -> str:
        with self._store.lock:
            content, now = self._store.content(self.name), self._store.clock()
            if not content.lease.blocks(holder, now):
                content.lease = StoredLease(holder, now + seconds)
            return content.lease.holder

    def release_lease(self, holder: str) -> None:
        with self._store.lock:
            content = self._store.content(self.name)
            if content.lease.holder == holder:
                content.lease = NO_LEASE

    def _current(self) -> _Content:
        """Return the content that this handle belongs to: of the conversation that has the name now, if it knows no
        entry. Raises UnknownLog if it was forgotten."""
        if self._content.forgotten:
            if self._n:
                raise log_forgotten(self.name)
            self._content = self._store.content(self.name)
        return self._content


class MemoryStore(LocalStore):
    """A store that keeps conversations in memory, as long as the object lives. `clock`: gives the time by which leases
    end."""

    def __init__(self, clock: Clock = system_clock) -> None:
        self.clock = clock
        self._by_name: dict[str, _Content] = {}
        self.created: dict[str, _Content] = {}
        self.lock = Lock()

    def open(self, name: str) -> MemoryLog:
        return MemoryLog(name, self)

    def names(self, prefix: str = "") -> list[str]:
        return listed_names(self.created, prefix)

    def log_stamps(self, names: Iterable[str] | None = None) -> list[LogStamp]:
        """Return the stamps of the logs with these names, in any order; unknown names are left out. None: the stamps of
        every log, also of Transom's own. A stamp changes with the number of entries."""
        found = ((name, self.created.get(name)) for name in (list(self.created) if names is None else set(names)))
        return [LogStamp(name, str(id(content)), str(len(content.entries))) for name, content in found if content]

    def _forget_all(self, names: Iterable[str]) -> bool:
        with self.lock:
            known = self.created.keys() & set(names)
            for name in known:
                self.created.pop(name).forgotten = True
                del self._by_name[name]
        return bool(known)

    def close(self) -> None:
        """Close the search index; the next search makes it again.

        The conversations stay for as long as the object lives.
        """
        super().close()

    def content(self, name: str) -> _Content:
        """Return the content that all handles of this name share; creates an empty one for a new name."""
        return self._by_name.get(name) or self._by_name.setdefault(name, _Content())


class ScratchLog:
    """A log that begins with the entries that another log knows now (it is not refreshed), and keeps in memory what is
    appended to it.

    It is a `StoredLog`. A `Conversation` of it does everything that it would do on the other log itself (plan, compact,
    undo); then `appended` has the entries that it would have written there. Entries that others append to that log
    meanwhile are not seen.
    """

    def __init__(self, log: StoredLog) -> None:
        self._log, self._length = log, len(log)
        self.appended: list[Entry] = []

    @property
    def name(self) -> str:
        """The name of the other log."""
        return self._log.name

    @property
    def repaired(self) -> str:
        """What opening the other log has repaired, as `StoredLog.repaired` says."""
        return self._log.repaired

    def __len__(self) -> int:
        return self._length + len(self.appended)

    def __getitem__(self, seq: int, /) -> Entry:
        check_index(seq, len(self))
        return self._log[seq] if seq < self._length else self.appended[seq - self._length]

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        """Yield the entries from `start` up to, but not including, `stop` (None: all): first those of the other log,
        then those that were appended here."""
        end = len(self) if stop is None else min(stop, len(self))
        if start < self._length:
            yield from self._log.read(start, min(end, self._length))
        yield from self.appended[max(0, start - self._length) : max(0, end - self._length)]

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        """Add these entries to `appended`. Raises Conflict unless this log has `expect` entries now. Their seqs are not
        checked."""
        if expect != len(self):
            raise Conflict(expect, len(self))
        self.appended.extend(entries)

    def refresh(self) -> int:
        """Return the number of entries, which no other handle changes."""
        return len(self)

    def save_snapshot(self, at: int, snapshot: bytes) -> None:
        """Keep nothing: opening the log again must not find what was only tried."""

    def load_snapshot(self) -> tuple[int, bytes] | None:
        """Return the snapshot of the other log; None if it has none, or if that covers entries that this log does not
        know."""
        saved = self._log.load_snapshot()
        return saved if saved is None or saved[0] <= self._length else None
