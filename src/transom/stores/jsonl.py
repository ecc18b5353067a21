"""Conversations as JSON Lines in a folder, one file each; any text editor can read them.

An append is one write and one fsync under the lock of the log's file. A file is cut only where an append was never
finished. No file stays open between two calls: a handle keeps the offsets of the lines. So the number of open
conversations does not matter.

The folder has a lock too. Appending shares it; creating or forgetting a log takes it alone, so that nobody appends to a
file that is being removed. The header of a log has an id that no other log has: by it a handle can tell its log from a
later one of the same name.

There are no snapshots: opening a conversation applies all its entries. `SqliteStore` opens long ones faster.
"""

from __future__ import annotations

import logging
import os
from array import array
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock
from typing import IO

import msgspec

from transom import private_files
from transom.clock import system_clock
from transom.core.codec import decode
from transom.core.entry import Entry
from transom.errors import Conflict, InvalidSetting, StoreDamaged
from transom.search.indexed_store import LogStamp
from transom.stores.base import check_index, check_seqs, check_snapshot, listed_names, log_forgotten, store_damaged
from transom.stores.blobs import encode_entry
from transom.stores.files import (
    absolute_path,
    file_stem,
    is_read_only,
    locked,
    opened_for_append,
    os_errors_translated,
    sync_folder,
    write_durably,
)
from transom.stores.jsonl_format import DamagedLine, Header, encode_header, encode_line, parse_header, parse_line, scan
from transom.stores.leases import NO_LEASE, StoredLease
from transom.stores.local_store import LocalStore
from transom.stores.prefix_index import SqlitePrefixIndex

_logger = logging.getLogger(__name__)


class JsonlLog:
    """One handle of one conversation in a folder (a `StoredLog`). It keeps the path of the file, and the offset of each
    known entry's line.

    Opening it repairs the file after a crash: it cuts off an unfinished append, or ignores that where the file may only
    be read. `repaired` says so, and also tells of an empty file; otherwise it is empty.
    """

    def __init__(self, store: JsonlStore, name: str) -> None:
        self.name, self.repaired = name, ""
        self._store = store
        self._path = store.path_of(name)
        self._lock = RLock()
        self._header = b""
        self._starts = array("q")
        self._end = 0
        self._n = 0
        with self._lock, self._absence_allowed():
            tail = self._look()
            if tail:
                self._repair()
            elif self._is_empty_file():
                self._report_empty_file()
        self._n = len(self._starts)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, seq: int, /) -> Entry:
        check_index(seq, self._n)
        with self._reading() as file:
            return self._entry(file, seq)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        stop = self._n if stop is None else min(stop, self._n)
        if start < stop:
            with self._reading() as file:
                for seq in range(start, stop):
                    yield self._entry(file, seq)

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        rows = [encode_entry(entry) for entry in check_seqs(entries, expect)]
        with self._lock, os_errors_translated(self._path):
            created = self._end > 0
            with self._store.lock(shared=created):
                exists = self._path.exists()
                if created and not exists:
                    raise log_forgotten(self.name)
                if expect and not exists:
                    raise Conflict(expect, 0)
                if rows or exists:
                    self._append(rows, expect)
                if not created:
                    sync_folder(self._store.path)
            self._n = expect + len(rows)

    def refresh(self) -> int:
        with self._lock:
            self._look()  # the rest may be an append that another process has not finished yet
            self._n = len(self._starts)
        return self._n

    def save_snapshot(self, at: int, snapshot: bytes) -> None:  # noqa: ARG002 - the protocol's
        """Store nothing: this store keeps no snapshots. Raises ValueError unless 0 <= `at` <= len(self)."""
        check_snapshot(at, self._n)

    def load_snapshot(self) -> None:
        """Return None: this store keeps no snapshots."""

    # ---- leases

    def take_lease(self, holder: str, seconds: float) -> str:
        with self._store.leases() as leases:
            key, now = self._path.stem, system_clock()
            if not StoredLease(*leases.get(key, NO_LEASE)).blocks(holder, now):
                leases[key] = (holder, now + seconds)
            return leases[key][0]

    def release_lease(self, holder: str) -> None:
        with self._store.leases() as leases:
            if leases.get(self._path.stem, NO_LEASE)[0] == holder:
                del leases[self._path.stem]

    # ---- appending

    def _append(self, rows: list[bytes], expect: int) -> None:
        with opened_for_append(self._path) as file, locked(file):
            self._catch_up(file)
            if len(self._starts) != expect:
                raise Conflict(expect, len(self._starts))
            if not rows:
                return
            begin = b"" if self._end else encode_header(Header.new(self.name, system_clock()))
            lines = [encode_line(left, row) for left, row in zip(reversed(range(len(rows))), rows, strict=True)]
            self._write(file, begin + b"".join(lines))
            self._header = begin or self._header
            at = self._end + len(begin)
            for line in lines:
                self._starts.append(at)
                at += len(line)
            self._end = at

    def _write(self, file: IO[bytes], data: bytes) -> None:
        """Write and sync the data behind the last whole append. If that fails, the file is cut back to what it was."""
        file.seek(self._end)
        try:
            write_durably(file, data)
        except BaseException:
            with suppress(OSError):  # if even that fails, the next append or opening cuts it
                file.truncate(self._end)
            raise

    def _catch_up(self, file: IO[bytes]) -> int:
        """Index what others appended and cut off an unfinished append, under the file's lock; return the bytes cut."""
        self._check_same_log(file)
        size = os.fstat(file.fileno()).st_size
        if size == self._end:
            return 0
        tail = self._index()
        if tail:
            file.truncate(self._end)
            os.fsync(file.fileno())
        return tail

    # ---- opening

    def _repair(self) -> None:
        """Cut off an unfinished append, whose writer is dead once its lock is ours; ignore it where the file may only
        be read."""
        try:
            with self._path.open("r+b", buffering=0) as file, locked(file):
                tail, done = self._catch_up(file), "cut"
        except OSError as problem:
            if not is_read_only(problem):
                raise
            with self._path.open("rb") as file, locked(file, shared=True):
                tail, done = self._index(), "it may only be read: ignored"
        if tail:
            what = f"{done} {tail:,} bytes of an append that was never finished"
            self.repaired = f"{self._path}: {what}, after {len(self._starts):,} entries"
            _logger.warning("%s", self.repaired)

    def _is_empty_file(self) -> bool:
        """True if there is a file without a byte in it. No append leaves such a file."""
        return not self._end and self._path.exists() and not self._path.stat().st_size

    def _report_empty_file(self) -> None:
        """Say in `repaired`, and in a warning, that the file is empty, unless somebody is just writing the first
        append."""
        with suppress(OSError), self._store.lock(shared=True):  # a folder that may only be read has no writer
            self._index()
        if self._is_empty_file():
            why = "the file is empty: its first append was never finished, or its content is lost"
            self.repaired = f"{self._path}: {why}"
            _logger.warning("%s", self.repaired)

    # ---- reading

    def _look(self) -> int:
        """Index the file without waiting for a writer; return how many bytes at its end belong to no whole append. If
        it seems damaged, a writer may be at work: then wait for the lock and index again."""
        with self._absence_allowed():
            try:
                return self._index()
            except StoreDamaged:
                with self._path.open("rb") as file, locked(file):
                    return self._index()
        return 0

    def _index(self) -> int:
        """Take in the whole appends behind the known ones; return how many bytes at the end belong to none."""
        with self._path.open("rb") as file:
            self._check_same_log(file)
            size = os.fstat(file.fileno()).st_size
            if size < self._end:
                raise store_damaged(str(self._path), f"it was {self._end:,} bytes long and is now {size:,}")
            try:
                return self._index_from(file, size)
            except DamagedLine as problem:
                raise _line_damaged(self._path, problem) from problem
            except ValueError as problem:
                raise store_damaged(str(self._path), problem) from problem

    def _index_from(self, file: IO[bytes], size: int) -> int:
        begin = self._end
        if not begin and size:
            first = file.readline()
            if (found := parse_header(first)) is None:
                return size
            if found.name != self.name:
                raise ValueError(f"it holds the conversation {found.name!r}, not {self.name!r}")
            begin, self._header = len(first), first
        file.seek(begin)
        seen = scan(file, begin, len(self._starts))
        if not self._starts and not seen.starts:
            return size  # a header alone: the log was never created
        self._starts.extend(seen.starts)
        self._end = seen.end
        return seen.tail

    @contextmanager
    def _reading(self) -> Generator[IO[bytes]]:
        with self._absence_allowed(), self._path.open("rb", buffering=0) as file:
            self._check_same_log(file)
            yield file

    @contextmanager
    def _absence_allowed(self) -> Generator[None]:
        """Treat a file that does not exist as an empty log. Raises UnknownLog instead if this handle knows entries of
        it; StoreUnavailable for other errors of the system."""
        with os_errors_translated(self._path):
            try:
                yield
            except FileNotFoundError:
                if self._end:
                    raise log_forgotten(self.name) from None

    def _check_same_log(self, file: IO[bytes]) -> None:
        """Raise UnknownLog if the file is of a later conversation by the same name."""
        file.seek(0)
        if self._end and file.read(len(self._header)) != self._header:
            raise log_forgotten(self.name)

    def _entry(self, file: IO[bytes], seq: int) -> Entry:
        start = self._starts[seq]
        stop = self._starts[seq + 1] if seq + 1 < len(self._starts) else self._end
        file.seek(start)
        try:
            entry = decode(parse_line(file.read(stop - start))[1])
        except (ValueError, TypeError) as problem:
            with self._reading():  # raises UnknownLog if it was forgotten meanwhile
                wrong = store_damaged(str(self._path), f"entry {seq}: {problem}")
            raise wrong from problem
        return entry


def _line_damaged(path: Path, problem: DamagedLine) -> StoreDamaged:
    """Make the error for a damaged line: how many entries before it are whole, and how to go on with them."""
    if not problem.entries:
        return store_damaged(str(path), f"{problem}; no entry before it is whole", "restore it from a backup")
    whole = "1 entry before it is" if problem.entries == 1 else f"{problem.entries:,} entries before it are"
    cut = f"cut the file to {problem.end} bytes (truncate -s {problem.end}) to go on with the whole ones"
    return store_damaged(str(path), f"{problem}; {whole} whole", f"restore it from a backup, or {cut}")


class JsonlStore(LocalStore):
    """A folder of conversations, one file each. The folder is created if it does not exist. `path`: of the folder; `~`
    at its beginning is the home folder.

    Raises InvalidSetting if the folder is missing and cannot be created, or if the path is that of a file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = absolute_path(path)
        self._search_file, self._prefix_file = self.path / ".search", self.path / ".prefixes"
        try:
            private_files.make_folder(self.path)
        except OSError as problem:
            why = "it is a file; a JSON Lines store is a folder" if self.path.is_file() else problem.strerror
            raise InvalidSetting(f"{self.path}: {why}") from problem

    def open(self, name: str) -> JsonlLog:
        return JsonlLog(self, name)

    def names(self, prefix: str = "") -> list[str]:
        return listed_names((found.name for found, _ in self._headers(self._paths())), prefix)

    def prefix_index(self) -> SqlitePrefixIndex:
        private_files.make_folder(self.path)  # it may have been removed
        return super().prefix_index()

    def log_stamps(self, names: Iterable[str] | None = None) -> list[LogStamp]:
        """Return the stamps of the logs with these names, in the order in which they were created; unknown names are
        left out. None: the stamps of every log, also of Transom's own. A stamp changes with the size of the file."""
        paths = self._paths() if names is None else {self.path_of(name) for name in names}
        return [LogStamp(found.name, found.id, str(size)) for found, size in self._headers(paths)]

    def _forget_all(self, names: Iterable[str]) -> bool:
        paths = {name: self.path_of(name) for name in names}
        place = next(iter(paths.values())) if len(paths) == 1 else self.path
        with os_errors_translated(place), self.lock():
            known = {found.name for found, _ in self._headers(paths.values())}
            for name in known & paths.keys():
                paths[name].unlink()
            sync_folder(self.path)
        return bool(known & paths.keys())

    @contextmanager
    def lock(self, *, shared: bool = False) -> Generator[None]:
        """Hold the lock of the folder during the block: alone, to create or forget a log; with `shared`, together with
        others that share it, to append.

        Waits until the present holders release it; so a thread that takes it again within the block waits for ever.
        Raises OSError.
        """
        with private_files.opened(self.path / ".lock", "ab", 0) as file, locked(file, shared=shared):
            yield

    @contextmanager
    def leases(self) -> Generator[dict[str, tuple[str, float]]]:
        """Lock the file `.leases` during the block and yield the leases of the folder: for the stem of each log's file
        the holder, and until when, in seconds since 1970. What the block changes in this dict is stored at the end,
        without leases that have ended; if the block raises, nothing is stored. If the file is damaged, there are none.

        Raises StoreUnavailable if the file cannot be read or written."""
        path = self.path / ".leases"
        with os_errors_translated(path), opened_for_append(path) as file, locked(file):
            try:
                found = msgspec.json.decode(file.read(), type=dict[str, tuple[str, float]])
            except msgspec.MsgspecError:
                found = {}
            before, now = dict(found), system_clock()
            yield found
            if found != before:
                kept = {key: lease for key, lease in found.items() if lease[1] > now}
                file.seek(0)
                file.truncate(file.write(msgspec.json.encode(kept)))  # in this order: the disk is not waited for

    def path_of(self, name: str) -> Path:
        """Return the path of a conversation's file, which need not exist."""
        return self.path / f"{file_stem(name)}.jsonl"

    def _paths(self) -> Iterable[Path]:
        return self.path.glob("*.jsonl")

    @staticmethod
    def _headers(paths: Iterable[Path]) -> list[tuple[Header, int]]:
        """Return the header of each log in these files, and the size of its file, in the order of creation. A file with
        a damaged header is left out: opening it reports that."""
        found: list[tuple[Header, int]] = []
        for path in paths:
            with os_errors_translated(path), suppress(ValueError, FileNotFoundError), path.open("rb") as file:
                if (header := parse_header(file.readline())) is not None:
                    found.append((header, os.fstat(file.fileno()).st_size))
        return sorted(found, key=lambda pair: (pair[0].created, pair[0].id))

    def unreadable_files(self) -> Iterator[tuple[Path, str]]:
        """Yield the path of each file whose first line is no header that we can read (another program's, damaged, of a
        newer version), or that is empty, and why: `names` does not list it. Not given is a file whose first line was
        begun and never finished. Raises StoreUnavailable if the system does not let a file be read.
        """
        for path in sorted(self._paths()):
            with os_errors_translated(path), suppress(FileNotFoundError), path.open("rb") as file:
                first = file.readline()
                try:
                    parse_header(first)
                except ValueError as problem:
                    yield path, str(problem)
                    continue
                if not first:
                    yield path, "the file is empty"
