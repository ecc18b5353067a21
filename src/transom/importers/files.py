"""Reads files, folders, streams and gzip as lines of bytes, and parses JSON with errors that name the place."""

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

from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.wire.fields import DEPTH

GZIP = b"\x1f\x8b"
INDEX, MESSAGES = "index.json", "messages.json"
"""The files of the unified layout: the list of the conversations, and the messages of each in a folder of its own."""
SUFFIXES = (".json", ".jsonl", ".ndjson")
"""Suffixes of the files that are read in a folder; each may be followed by `.gz`."""


class FileLine(Struct, frozen=True):
    """One line of a file.

    `number`: from 1; `where`: how errors name the line; `text`: its bytes without white space at both ends; `raw`: all
    its bytes.
    """

    number: int
    where: str
    text: bytes
    raw: bytes = b""


class OpenFile(Struct, frozen=True, kw_only=True):
    """An open file.

    `label`: its name in messages; `content`: its bytes, unpacked; `raw`: the file on the disk, None for a stream;
    `size`: bytes of `raw`, 0 if not known.
    """

    label: str
    content: IO[bytes]
    raw: IO[bytes] | None = None
    size: int = 0

    @property
    def stem(self) -> str:
        """The file's name without folder, `.gz` and suffix."""
        name = Path(self.label).name.removesuffix(".gz")
        suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
        return name.removesuffix(suffix) or name

    @property
    def is_document(self) -> bool:
        """True if the file's name ends with `.json`: it holds one JSON value."""
        return self.label.removesuffix(".gz").endswith(".json")

    @property
    def share(self) -> float:
        """The share of the file that was read, from 0 to 1; 1 for a stream, whose size nobody knows."""
        return min(1.0, self.raw.tell() / self.size) if self.raw is not None and self.size else 1.0

    def lines(self) -> Iterator[FileLine]:
        """Yield the lines that are not blank. Raises InvalidMessage where the file cannot be read or unpacked."""
        return (line for line in self.all_lines() if line.text)

    def all_lines(self) -> Iterator[FileLine]:
        """Yield every line. Raises InvalidMessage where the file cannot be read or unpacked."""
        number = 0
        while True:
            number += 1
            where = f"{self.label} line {number}"
            raw = _read(self.content.readline, where)
            if not raw:
                return
            yield FileLine(number, where, raw.strip(), raw)

    def rest(self) -> bytes:
        """Read everything that was not read yet. Raises InvalidMessage if the file cannot be read or unpacked."""
        return _read(self.content.read, self.label)


def checked_source(source: object) -> Path | IO[Any]:
    """Return a path or an open file of the caller's, a text as a path.

    Raises InvalidSetting for anything else, and for an empty text, which would be the current folder.
    """
    if isinstance(source, str) and source:
        return Path(source)
    if isinstance(source, Path) or callable(getattr(source, "read", None)):
        return cast("Path | IO[Any]", source)
    raise InvalidSetting(f"source: must be the path of a file or folder, or an open file, not {quote(source)}")


def files_in(folder: Path) -> list[Path]:
    """List the JSON files of a folder and of the folders in it, sorted. Hidden files and folders are left out, and so
    is the index of the unified layout, which has no messages.

    Raises InvalidSetting if there is none.
    """
    found: list[Path] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        is_unified = any(Path(where, name, MESSAGES).is_file() for name in folders)
        named = (name for name in names if not name.startswith(".") and not (is_unified and name == INDEX))
        found += [Path(where, name) for name in named if name.removesuffix(".gz").endswith(SUFFIXES)]
    if not found:
        raise InvalidSetting(f"{folder}: no file in this folder is named {', '.join(SUFFIXES)} (or .gz of these)")
    return sorted(found)


@contextmanager
def opened(source: Path | IO[Any]) -> Generator[OpenFile]:
    """Open a path, or wrap an open file, during the block; gzip is unpacked.

    A file that was passed in is not closed.
    """
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
    """Parse a JSON text. `where`: how errors name it.

    Raises InvalidMessage, with line and column, if it is not JSON, and if it is nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno} " if problem.lineno > 1 else ""
        raise InvalidMessage(where, f"not JSON: {problem.msg} ({line}column {problem.colno})") from problem
    except RecursionError as problem:
        raise InvalidMessage(where, f"nested too deeply: a message may have {DEPTH} levels") from problem
    except ValueError as problem:
        raise InvalidMessage(where, f"not JSON: {problem}") from problem


def _read(read: Callable[[], bytes], where: str) -> bytes:
    try:
        return read()
    except (OSError, EOFError, zlib.error) as problem:
        raise InvalidMessage(where, f"cannot be read: {problem}") from problem
