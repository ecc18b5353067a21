"""Reads files, folders, streams, gzip and zip as lines of bytes, and parses JSON with errors that name the place.

Only regular files are opened: a pipe would wait for a writer for ever, and a device has no end. What is unpacked and
what is read at once is bounded, so that a small file cannot fill the memory.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from msgspec import Struct

from transom.errors import InvalidMessage, InvalidSetting, quote
from transom.wire.fields import DEPTH

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
SUFFIXES = (".json", ".jsonl", ".ndjson", ".eval")
"""How the names of the files end that are read in a folder or an archive. In a folder, `.gz` may follow."""

SUBAGENTS = "subagents"
"""Where Claude Code has the files of a session's subagents: `SESSION/subagents/`, beside `SESSION.jsonl`."""

MOST_AT_ONCE = 512_000_000
"""Bytes of the longest line, and of the largest JSON document, that is read: both are in memory as a whole."""

UNPACKED_FREELY = 64_000_000
"""The bytes to which a packed file may unpack, however small it is."""

MOST_RATIO = 100
"""A file that unpacks to more than `UNPACKED_FREELY` bytes may become this many times as large. Conversations become 3
to 30 times as large; a file that is made to fill the memory becomes 1,000 times as large."""

_BUFFER = 65_536
_LONGEST_MARK = 4
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""How files in other encodings than UTF-8 begin. PowerShell writes UTF-16. The longer marks come first."""


class NotRegularError(InvalidMessage):
    """Raised for a path that is no regular file, such as a pipe or a device. A reader of a folder skips such a file."""

    def __init__(self, path: Path) -> None:
        why = "it is a pipe, a device or the like, and only regular files are read; pipe data to `-` instead"
        super().__init__(str(path), why)


class FileLine(Struct, frozen=True):
    """One line of a file.

    `number`: from 1; `where`: how errors name the line; `text`: its bytes without white space at both ends; `raw`: all
    its bytes, with the line end if it has one.
    """

    number: int
    where: str
    text: bytes
    raw: bytes = b""


class OpenFile(Struct, frozen=True, kw_only=True):
    """An open file, which is read once, from its beginning.

    `label`: its name in messages; `content`: its bytes, unpacked, in UTF-8; `raw`: the file on the disk, whose position
    tells how much was read, or None for a stream and for a file of an archive; `size`: the bytes of `raw`, 0 if there
    is none.
    """

    label: str
    content: IO[bytes]
    raw: IO[bytes] | None = None
    size: int = 0

    @property
    def stem(self) -> str:
        """The name of the file without its folder, `.gz` and suffix."""
        return stem_of(self.label)

    @property
    def is_document(self) -> bool:
        """True if the file's name ends with `.json` or `.json.gz`, which says that it holds one JSON value."""
        return self.label.removesuffix(".gz").endswith(".json")

    @property
    def share(self) -> float:
        """The share of the file that was read, from 0 to 1; 1 if its size is not known."""
        return min(1.0, self.raw.tell() / self.size) if self.raw is not None and self.size else 1.0

    def lines(self) -> Iterator[FileLine]:
        """Yield the lines that are not blank. Raises InvalidMessage where the file cannot be read or unpacked, and for
        a line of more than MOST_AT_ONCE bytes (512 MB)."""
        return (line for line in self.all_lines() if line.text)

    def all_lines(self) -> Iterator[FileLine]:
        """Yield every line, blank ones too. Raises InvalidMessage where the file cannot be read or unpacked, and for a
        line of more than MOST_AT_ONCE bytes (512 MB)."""
        number = 0
        while True:
            number += 1
            where = f"{self.label} line {number}"
            raw = _read(lambda: self.content.readline(MOST_AT_ONCE + 1), where)
            if len(raw) > MOST_AT_ONCE:
                raise InvalidMessage(where, _too_large("the line"))
            if not raw:
                return
            yield FileLine(number, where, raw.strip(), raw)

    def rest(self) -> bytes:
        """Return everything that was not read yet.

        Raises InvalidMessage if the file cannot be read or unpacked, or if more than MOST_AT_ONCE bytes (512 MB) are
        left.
        """
        data = _read(lambda: self.content.read(MOST_AT_ONCE + 1), self.label)
        if len(data) > MOST_AT_ONCE:
            raise InvalidMessage(self.label, _too_large("the JSON document"))
        return data


def _too_large(what: str) -> str:
    return f"{what} is larger than {MOST_AT_ONCE // 1_000_000:,} MB: split it into a conversation a line"


def stem_of(label: str) -> str:
    """Return the name of a file without its folder, without `.gz`, and without a suffix out of SUFFIXES. `label`: the
    path of the file, or its name in messages."""
    name = Path(label).name.removesuffix(".gz")
    suffix = next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")
    return name.removesuffix(suffix) or name


def checked_source(source: object) -> Path | IO[Any]:
    """Return the path or the open file that a caller has given; a text is returned as a path. Nothing is opened.

    Raises InvalidSetting for anything else, and for an empty text, which would mean the current folder.
    """
    if isinstance(source, str) and source:
        return Path(source)
    if isinstance(source, Path) or callable(getattr(source, "read", None)):
        return cast("Path | IO[Any]", source)
    raise InvalidSetting(f"source: must be the path of a file or folder, or an open file, not {quote(source)}")


def files_in(folder: Path) -> list[Path]:
    """List the files of a folder and of all folders in it whose names end as SUFFIXES say: sorted by path, but all
    files of subagents behind the others. Hidden files and folders are left out, and the notes of Claude Code beside the
    file of a subagent. Links to files are followed, links to folders are not.

    Raises InvalidSetting if there is none.
    """
    found: list[Path] = []
    for where, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        named = (name for name in names if not name.startswith("."))
        listed = (Path(where, name) for name in named if name.removesuffix(".gz").endswith(SUFFIXES))
        found += [path for path in listed if not (SUBAGENTS in path.parts and path.match("agent-*.meta.json"))]
    if not found:
        raise InvalidSetting(f"{folder}: no file in this folder is named {', '.join(SUFFIXES)} (or .gz of these)")
    return sorted(found, key=lambda path: (SUBAGENTS in path.relative_to(folder).parts, path))


def _open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading; never waits for the writer of a pipe. Raises NotRegularError for other files."""
    if not path.is_file() and path.stat():  # opening a device may already have an effect
        raise NotRegularError(path)
    raw = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    if not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):  # it was replaced meanwhile
        raw.close()
        raise NotRegularError(path)
    return raw


@contextmanager
def opened(path: Path, label: str = "") -> Generator[OpenFile]:
    """Open a file during the block; gzip is unpacked, UTF-16 and UTF-32 become UTF-8. `label`: names the file in
    messages; empty means its path.

    Raises NotRegularError if the path is no regular file, OSError if it cannot be opened.
    """
    with _open_regular(path) as raw:
        packed = path.suffix == ".gz" or cast("Any", raw).peek(len(GZIP))[: len(GZIP)] == GZIP
        content = _bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=raw)), raw.tell) if packed else raw
        size = os.fstat(raw.fileno()).st_size
        yield OpenFile(label=label or str(path), content=_as_utf8(content), raw=raw, size=size)


def label_of(stream: IO[Any]) -> str:
    """Return the name of an open file or a stream for messages: its own, such as "stdin", or "stream"."""
    name = getattr(stream, "name", None)
    return name.strip("<>") if isinstance(name, str) else "stream"


def buffered(source: IO[Any]) -> io.BufferedReader:
    """Wrap an open file or a stream, of bytes or of text (which becomes UTF-8), so that it can be peeked at, and its
    lines are read as they come. Waits for the first four bytes. The source is not closed."""
    if isinstance(source, io.TextIOBase) and not hasattr(source, "buffer"):
        text = cast("IO[str]", source)
        return _buffered(_cut(lambda size: text.readline(size).encode()))
    beneath = getattr(source, "buffer", None)
    data = cast("Any", beneath if callable(getattr(beneath, "read", None)) else source)
    # `read` of a pipe would wait until there are as many bytes. An object that wraps a file may pass `read1` on to it,
    # and io's base class has one that raises.
    own: object = getattr(cast("type[object]", type(data)), "read1", None)
    read = data.read if own in {None, io.BufferedIOBase.read1} else data.read1
    begin = b""
    while len(begin) < _LONGEST_MARK and (more := read(_LONGEST_MARK - len(begin))):
        begin += more
    return _buffered(_cut(lambda size: read(size) or b"", begin))


def stream_file(stream: io.BufferedReader, label: str) -> OpenFile:
    """Make an `OpenFile` of a stream, which must be one that `buffered` has made. Gzip is unpacked. `label`: names the
    stream in messages."""
    packed = stream.peek(len(GZIP))[: len(GZIP)] == GZIP
    taken = cast("_Stream", stream.raw)
    content = _bounded(cast("IO[bytes]", gzip.GzipFile(fileobj=stream)), lambda: taken.given) if packed else stream
    return OpenFile(label=label, content=_as_utf8(cast("IO[bytes]", content)))


@contextmanager
def on_disk(source: Path | IO[Any], label: str = "") -> Generator[tuple[Path, str]]:
    """Yield the path of a file with the content of `source`, and its name for messages. An open file or a stream is
    copied to a temporary file, which is removed when the block ends: so it can be read twice. Its name is `label`, or
    its own if that is empty. A path is yielded as it is, with itself as the name."""
    if isinstance(source, Path):
        yield source, str(source)
        return
    folder = tempfile.mkdtemp(prefix="transom-")
    try:
        path = Path(folder, "input")
        with path.open("wb") as file:
            if isinstance(source, io.TextIOBase) and not hasattr(source, "buffer"):
                file.writelines(text.encode() for text in source)
            else:
                shutil.copyfileobj(cast("IO[bytes]", getattr(source, "buffer", source)), file)
        yield path, label or label_of(source)
    finally:
        shutil.rmtree(folder)


def is_zip(path: Path) -> bool:
    """True if a regular file begins as a zip archive does. Raises NotRegularError for a path that is no regular file,
    and OSError if it cannot be read."""
    with _open_regular(path) as raw:
        return raw.read(len(ZIP)) == ZIP


def zip_members(path: Path, label: str) -> Generator[tuple[OpenFile, float]]:
    """Yield the files of a zip archive that may hold conversations, each open and unpacked, with the share of the files
    before it, from 0 to 1. Each is open only until the next one is asked for. `label`: names the archive in messages.

    In a log of Inspect (`.eval`) these are its samples, in any other archive every file with one of SUFFIXES. Raises
    InvalidMessage if the archive has none, is damaged, or is packed in a way that Python does not know.
    """
    try:
        with _open_regular(path) as raw, zipfile.ZipFile(raw) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir() and info.filename.endswith(SUFFIXES)]
            samples = [info for info in infos if info.filename.startswith("samples/")]
            chosen = samples if any(info.filename == "header.json" for info in infos) else infos
            if not chosen:
                raise InvalidMessage(label, f"this archive has no file named {', '.join(SUFFIXES)}")
            for number, info in enumerate(chosen):
                with archive.open(info) as packed:
                    content = _bounded(packed, lambda info=info: info.compress_size)
                    yield OpenFile(label=f"{label}/{info.filename}", content=_as_utf8(content)), number / len(chosen)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
        raise InvalidMessage(label, f"this archive cannot be unpacked: {problem}") from problem


def _as_utf8(content: IO[bytes]) -> IO[bytes]:
    """The content; if it begins as a file in UTF-16 or UTF-32 does, its text in UTF-8, in which lines are found."""
    try:
        begin = cast("Any", content).peek(4)[:4]
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        damage = problem

        def read(_: int) -> bytes:
            raise damage  # some streams raise it once only

        return cast("IO[bytes]", _buffered(read))
    encoding = next((name for mark, name in _MARKS.items() if begin.startswith(mark)), None)
    return content if encoding is None else _recoded(content, encoding)


class _Stream(io.RawIOBase):
    """A stream of what a function reads: `read(size)` returns at most `size` bytes, and none at the end."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read, self.given = read, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        self.given += len(data)
        return len(data)


def _buffered(read: Callable[[int], bytes]) -> io.BufferedReader:
    return io.BufferedReader(_Stream(read), _BUFFER)


def _cut(read: Callable[[int], bytes], rest: bytes = b"") -> Callable[[int], bytes]:
    """A function that gives `rest`, then what `read` gives, and never more than it is asked for."""

    def cut(size: int) -> bytes:
        nonlocal rest
        data = rest or read(size)
        data, rest = data[:size], data[size:]
        return data

    return cut


def _recoded(content: IO[bytes], encoding: str) -> IO[bytes]:
    """The text of a stream in UTF-8. What is no text there becomes U+FFFD."""
    decoder, rest = codecs.getincrementaldecoder(encoding)("replace"), b""

    def read(size: int) -> bytes:
        nonlocal rest
        is_over = False
        while not rest and not is_over:
            data = content.read(_BUFFER)
            is_over = not data
            rest = decoder.decode(data, is_over).encode("utf-8", "replace")
        data, rest = rest[:size], rest[size:]
        return data

    return cast("IO[bytes]", _buffered(read))


def _bounded(content: IO[bytes], taken: Callable[[], int]) -> IO[bytes]:
    """A stream of unpacked bytes, which ends with OSError if they are too many for the packed bytes `taken` so far."""
    unpacked = 0

    def read(size: int) -> bytes:
        nonlocal unpacked
        data = content.read(size)
        unpacked += len(data)
        if unpacked > UNPACKED_FREELY and unpacked > MOST_RATIO * taken():
            raise OSError(f"it unpacks to more than {MOST_RATIO} times its size; unpack it yourself if you trust it")
        return data

    return cast("IO[bytes]", _buffered(read))


def parsed(text: bytes, where: str) -> object:
    """Parse a JSON text. `where`: how errors name it.

    Raises InvalidMessage, with line and column, if it is not JSON, and if it is nested too deeply.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        line = f"line {problem.lineno} " if problem.lineno > 1 else ""
        why = f"not JSON: {problem.msg} ({line}column {problem.colno})"
        raise InvalidMessage(where, SQLITE if _is_sqlite(text) else why) from problem
    except RecursionError as problem:
        raise InvalidMessage(where, f"nested too deeply: a message may have {DEPTH} levels") from problem
    except UnicodeDecodeError as problem:
        why = f"not JSON: no text in UTF-8 (byte {problem.start + 1})"
        raise InvalidMessage(where, SQLITE if _is_sqlite(text) else why) from problem
    except ValueError as problem:
        raise InvalidMessage(where, f"not JSON: {problem}") from problem


NOT_ENDED = "left out, it is not written to its end"
"""What is said of the last line of a file that a program still writes."""

SQLITE = "a SQLite database, and no file of messages; if it is a store of Transom, give it with --store"


def _is_sqlite(data: bytes) -> bool:
    return data.startswith(b"SQLite format 3")


def _read(read: Callable[[], bytes], where: str) -> bytes:
    """Return what `read` reads. Raises InvalidMessage, which names `where`, if it cannot be read or unpacked."""
    try:
        return read()
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as problem:
        raise InvalidMessage(where, f"cannot be read: {problem}") from problem
