"""Files, folders, streams and gzip as lines of bytes, and JSON with errors that name the place."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from transom.errors import InvalidMessage, InvalidSetting

GZIP = b"\x1f\x8b"
SUFFIXES = (".json", ".jsonl", ".ndjson")
"""The files of a folder that are read, packed with gzip or not."""


class Line(Struct, frozen=True):
    """A line that is not empty: its number in the file, how errors name it, its bytes without blanks around them, and
    with these."""

    number: int
    where: str
    text: bytes
    raw: bytes = b""


class OpenFile(Struct, frozen=True, kw_only=True):
    """An open file. `label` names it in messages; `raw` is its file on the disk, None for a stream."""

    label: str
    content: IO[bytes]
    raw: IO[bytes] | None = None
    size: int = 0

    @property
    def stem(self) -> str:
        """The file's name without `.gz` and the suffix of its kind."""
        name = Path(self.label).name.removesuffix(".gz")
        suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
        return name.removesuffix(suffix) or name

    @property
    def is_document(self) -> bool:
        """Whether its name says that it holds one JSON value."""
        return self.label.removesuffix(".gz").endswith(".json")

    @property
    def share(self) -> float:
        """How much of the file was read, from 0 to 1; 1 where nobody knows."""
        return min(1.0, self.raw.tell() / self.size) if self.raw is not None and self.size else 1.0

    def lines(self) -> Iterator[Line]:
        """The lines that are not empty. Raises InvalidMessage where the file cannot be read."""
        return (line for line in self.all_lines() if line.text)

    def all_lines(self) -> Iterator[Line]:
        """Every line. Raises InvalidMessage where the file cannot be read."""
        number = 0
        while True:
            number += 1
            where = f"{self.label} line {number}"
            raw = _read(self.content.readline, where)
            if not raw:
                return
            yield Line(number, where, raw.strip(), raw)

    def rest(self) -> bytes:
        """Everything that was not read yet. Raises InvalidMessage."""
        return _read(self.content.read, self.label)


def files_in(folder: Path) -> list[Path]:
    """The JSON files of a folder and the folders in it, sorted; hidden ones are left out. Raises InvalidSetting."""
    found: list[Path] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        named = (name for name in names if not name.startswith("."))
        found += [Path(where, name) for name in named if name.removesuffix(".gz").endswith(SUFFIXES)]
    if not found:
        raise InvalidSetting(f"{folder}: no file in this folder is named {', '.join(SUFFIXES)} (or .gz of these)")
    return sorted(found)


@contextmanager
def opened(source: Path | IO[Any]) -> Generator[OpenFile]:
    """A path or an open file, unpacked if it begins as gzip does. A file that was handed in stays open."""
    if isinstance(source, Path):
        with source.open("rb") as raw:
            packed = source.suffix == ".gz" or raw.peek(len(GZIP))[: len(GZIP)] == GZIP
            content = cast("IO[bytes]", gzip.GzipFile(fileobj=raw)) if packed else raw
            size = source.stat().st_size
            yield OpenFile(label=str(source), content=content, raw=raw if raw.seekable() else None, size=size)
        return
    name = getattr(source, "name", None)
    label = name.strip("<>") if isinstance(name, str) else "stream"
    if isinstance(source, io.TextIOBase):
        source = cast("IO[bytes]", getattr(source, "buffer", None) or io.BytesIO(source.read().encode()))
    begin = source.read(len(GZIP))
    joined = cast("IO[bytes]", io.BufferedReader(_Joined(begin, source)))
    yield OpenFile(label=label, content=cast("IO[bytes]", gzip.GzipFile(fileobj=joined)) if begin == GZIP else joined)


class _Joined(io.RawIOBase):
    """Bytes that were read already, then the rest of their stream."""

    def __init__(self, begin: bytes, rest: IO[bytes]) -> None:
        self._begin, self._rest = begin, rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._begin[: len(buffer)] or self._rest.read(len(buffer))
        self._begin = self._begin[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def parsed(text: bytes, where: str) -> object:
    """The value of a JSON text. Raises InvalidMessage that says where it is broken."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno} " if problem.lineno > 1 else ""
        raise InvalidMessage(where, f"not JSON: {problem.msg} ({line}column {problem.colno})") from problem
    except (ValueError, RecursionError) as problem:
        raise InvalidMessage(where, f"not JSON: {problem}") from problem


def _read(read: Callable[[], bytes], where: str) -> bytes:
    try:
        return read()
    except (OSError, EOFError, zlib.error) as problem:
        raise InvalidMessage(where, f"cannot be read: {problem}") from problem
