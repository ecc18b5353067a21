"""Conversations as JSON Lines in a folder, one file each, readable for ever with nothing but a text editor.

Rules: an append is one write and one fsync under the file's lock; a large body is on disk before the line that points
at it; a file is only ever cut where an append was never finished. A handle keeps the offsets of the lines, no file.

Who appends shares the folder's lock; who makes a log or forgets one has it alone, so that no body is written meanwhile.
The lock file is as many bytes long as the highest number that was taken: the number in a header, higher than that of
all logs made before, is never given again, and tells a log from a later one by its name.
"""

from __future__ import annotations

import hashlib
import os
import re
from array import array
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import RLock, get_ident
from typing import IO

from transom.core.codec import decode
from transom.core.entry import Entry
from transom.errors import Conflict, InvalidSetting, StoreDamaged, UnknownLog
from transom.stores.base import damage, forgotten, known, numbered, outage, unknown, wiping
from transom.stores.blobs import join, key, split
from transom.stores.lines import Line, frame, header, held, parse, parse_header, scan
from transom.stores.locks import locked

_AT = 8
"""Bytes before a snapshot that say of how many entries it is."""


class JsonlLog:
    """One conversation: its file, and where each entry's line starts."""

    def __init__(self, store: JsonlStore, name: str) -> None:
        self.name, self.mended = name, ""
        self._store = store
        self._path = store.path / f"{_stem(name)}.jsonl"
        self._lock = RLock()
        self._head = b""
        self._starts = array("q")
        self._end = 0
        self._n = 0
        with self._lock, self._looking():
            if self._look_twice():
                self._mend()
        self._n = len(self._starts)

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, seq: int, /) -> Entry:
        known(seq, self._n)
        with self._reading() as file:
            return self._entry(file, seq)

    def read(self, start: int = 0, stop: int | None = None) -> Iterator[Entry]:
        stop = self._n if stop is None else min(stop, self._n)
        if start < stop:
            with self._reading() as file:
                for seq in range(start, stop):
                    yield self._entry(file, seq)

    def append(self, entries: Sequence[Entry], expect: int) -> None:
        pairs = [split(entry) for entry in numbered(entries, expect)]
        with self._lock, _told(self._path):
            made = self._end > 0
            with self._store.lock(shared=made):  # logs are numbered as they are made: one at a time
                there = self._path.exists()
                if made and not there:
                    raise forgotten(self.name)
                if expect and not there:
                    raise Conflict(expect, 0)
                if pairs or there:
                    self._append(pairs, expect)
                if not made:
                    _sync_folder(self._store.path)
            self._n = expect + len(pairs)

    def refresh(self) -> int:
        with self._lock, self._looking():
            self._look_twice()  # an append that another process has not finished yet is none of ours
            self._n = len(self._starts)
        return self._n

    def save(self, at: int, snapshot: bytes) -> None:
        if self._end:
            with suppress(UnknownLog), _told(self._path), self._store.lock(shared=True), self._reading():
                _write_whole(self._path.with_suffix(".view"), at.to_bytes(_AT, "big") + snapshot)

    def saved(self) -> tuple[int, bytes] | None:
        try:
            data = self._path.with_suffix(".view").read_bytes()
        except OSError:
            return None
        return (int.from_bytes(data[:_AT], "big"), data[_AT:]) if len(data) > _AT else None

    def _append(self, pairs: list[tuple[bytes, bytes | None]], expect: int) -> None:
        with _writable(self._path) as file, locked(file):
            self._catch_up(file)
            if len(self._starts) != expect:
                raise Conflict(expect, len(self._starts))
            if not pairs:
                return
            begin = b"" if self._end else header(self.name, self._store.number())
            last = len(pairs) - 1
            lines = [frame(Line(last - i, self._store.keep(body), row)) for i, (row, body) in enumerate(pairs)]
            self._write(file, begin + b"".join(lines))
            self._head = begin or self._head
            at = self._end + len(begin)
            for line in lines:
                self._starts.append(at)
                at += len(line)
            self._end = at

    def _write(self, file: IO[bytes], data: bytes) -> None:
        """All of it on disk, or as if it had never been tried."""
        file.seek(self._end)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except BaseException:
            with suppress(OSError):  # if even that fails, the next append or opening cuts it
                file.truncate(self._end)
            raise

    def _catch_up(self, file: IO[bytes]) -> int:
        """Take in what others appended, cut what a dead one began. Only under the file's lock. Gives the bytes cut."""
        self._same(file)
        size = os.fstat(file.fileno()).st_size
        if size == self._end:
            return 0
        tail = self._look()
        if tail:
            file.truncate(self._end)
            os.fsync(file.fileno())
        return tail

    def _mend(self) -> None:
        with self._path.open("r+b", buffering=0) as file, locked(file):  # who was writing has finished, or is dead
            cut = self._catch_up(file)
        if cut:
            n = len(self._starts)
            self.mended = f"{self._path}: cut {cut:,} bytes of an append that was never finished, after {n:,} entries"

    def _look_twice(self) -> int:
        """Look without waiting for a writer; what seems damaged may be an append, or a repair, half seen."""
        try:
            return self._look()
        except StoreDamaged:
            with self._path.open("rb") as file, locked(file):
                return self._look()

    def _look(self) -> int:
        """Index the whole appends behind the known ones; gives how many bytes follow them that do not count."""
        with self._path.open("rb") as file:
            self._same(file)
            size = os.fstat(file.fileno()).st_size
            if size < self._end:
                raise damage(str(self._path), f"it was {self._end:,} bytes long and is now {size:,}")
            try:
                return self._index(file, size)
            except ValueError as problem:
                raise damage(str(self._path), problem) from problem

    def _index(self, file: IO[bytes], size: int) -> int:
        begin = self._end
        if not begin and size:
            first = file.readline()
            if (found := parse_header(first)) is None:
                return size
            if found[0] != self.name:
                raise ValueError(f"it holds the conversation {found[0]!r}, not {self.name!r}")
            begin, self._head = len(first), first
        file.seek(begin)
        seen = scan(file, begin, len(self._starts))
        if not self._starts and not seen.starts:
            return size  # a header alone: the log was never made
        self._starts.extend(seen.starts)
        self._end = seen.end
        return seen.tail

    @contextmanager
    def _reading(self) -> Generator[IO[bytes]]:
        with self._looking(), self._path.open("rb", buffering=0) as file:
            self._same(file)
            yield file

    @contextmanager
    def _looking(self) -> Generator[None]:
        """Where there is no file there is nothing to see. Raises UnknownLog if a log was seen there before."""
        with _told(self._path):
            try:
                yield
            except FileNotFoundError:
                if self._end:
                    raise forgotten(self.name) from None

    def _same(self, file: IO[bytes]) -> None:
        """Raises UnknownLog if this is another log than the one whose lines are known."""
        file.seek(0)
        if self._end and file.read(len(self._head)) != self._head:
            raise forgotten(self.name)

    def _entry(self, file: IO[bytes], seq: int) -> Entry:
        start = self._starts[seq]
        stop = self._starts[seq + 1] if seq + 1 < len(self._starts) else self._end
        file.seek(start)
        try:
            line = parse(file.read(stop - start))
            entry = decode(line.row if line.blob is None else join(line.row, self._store.body(line.blob)))
        except (ValueError, TypeError) as problem:
            with self._reading():  # it may have been forgotten meanwhile
                wrong = damage(str(self._path), f"entry {seq}: {problem}")
            raise wrong from problem
        return entry


class JsonlStore:
    """A folder of logs, made if it is not there. Raises InvalidSetting if it cannot be."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).absolute()
        self._blobs = self.path / "blobs"
        try:
            self._blobs.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise InvalidSetting(f"{self.path}: {problem.strerror}") from problem

    def open(self, name: str) -> JsonlLog:
        return JsonlLog(self, name)

    def names(self) -> list[str]:
        found: list[tuple[int, str]] = []
        for path in self.path.glob("*.jsonl"):
            with _told(path), suppress(ValueError, FileNotFoundError), path.open("rb") as file:  # opening tells why
                if (parsed := parse_header(file.readline())) is not None:
                    found.append((parsed[1], parsed[0]))
        return [name for _, name in sorted(found)]

    def forget(self, name: str) -> None:
        path = self.path / f"{_stem(name)}.jsonl"
        with _told(path), self.lock():
            if known := name in self.names():
                self.number()  # then at least as many are written down as there are logs
                for aside in self.path.glob(f"{path.stem}.view*"):
                    aside.unlink()
                path.unlink()
            with wiping(str(path)):
                _sync_folder(self.path)
                swept = self._sweep()
            if not known and (path.exists() or not swept):
                raise unknown(name)

    def close(self) -> None:
        pass

    def number(self) -> int:
        """One that no log here ever had. Only who has the folder alone takes one."""
        there = sum(entry.name.endswith(".jsonl") for entry in os.scandir(self.path))  # at first, none was kept
        with (self.path / ".lock").open("ab", buffering=0) as file:
            number = max(there, file.tell() + 1)
            file.write(b"." * (number - file.tell()))
            os.fsync(file.fileno())
        return number

    @contextmanager
    def lock(self, *, shared: bool = False) -> Generator[None]:
        """The folder, alone or with others who share it."""
        with (self.path / ".lock").open("ab", buffering=0) as file, locked(file, shared=shared):
            yield

    def keep(self, body: bytes | None) -> str | None:
        """The key of a body that is now on disk."""
        if body is None:
            return None
        name = key(body)
        path = self._blobs / name
        if not path.exists():
            _write_whole(path, body)
        return name

    def _sweep(self) -> bool:
        """Remove the bodies no log holds, and torn ones; whether there were any. Only while nobody appends."""
        kept: set[str] = set()
        for path in self.path.glob("*.jsonl"):
            with path.open("rb") as file:
                kept |= held(file)
        loose = [path for path in self._blobs.iterdir() if path.name not in kept]
        for path in loose:
            path.unlink()
        _sync_folder(self._blobs)
        return bool(loose)

    def body(self, name: str) -> bytes:
        """A body by its key. Raises ValueError if it is gone or changed."""
        try:
            body = (self._blobs / name).read_bytes()
        except FileNotFoundError:
            raise ValueError(f"its body blobs/{name} is missing") from None
        if key(body) != name:
            raise ValueError(f"its body blobs/{name} is damaged")
        return body


def _stem(name: str) -> str:
    """A file name any file system takes, for any name: what is readable of it, and a hash that tells it from others."""
    readable = re.sub(r"[^a-z0-9_]+", "-", name.lower())[:40].strip("-")
    sure = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"{readable}-{sure}" if readable else sure


@contextmanager
def _told(path: Path) -> Generator[None]:
    """What the system says is said in our words."""
    try:
        yield
    except OSError as problem:
        raise outage(str(path), problem.strerror or problem) from problem


@contextmanager
def _writable(path: Path) -> Generator[IO[bytes]]:
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b", 0) as file:
        yield file


def _write_whole(path: Path, data: bytes) -> None:
    """The file with all of the data, or as it was: written aside, then renamed."""
    aside = path.with_name(f"{path.name}.{os.getpid()}-{get_ident()}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(path: Path) -> None:
    """Make new names in a folder last. Windows does it by itself."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
