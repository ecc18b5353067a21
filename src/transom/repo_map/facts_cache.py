"""Keeps the facts of files on disk, so that another process parses only files that have changed since.

The cache may be lost or damaged at any time: then it is made anew, or the map does without it. A file that is not a
cache is left as it is.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

import msgspec
from msgspec import Struct

from transom import private_files
from transom.errors import quote
from transom.repo_map.languages import LANGUAGES, versions
from transom.repo_map.symbols import FileFacts

MARK = b"transom repo map\n"
"""How a cache begins. A digest follows, and then the facts."""

_FORMAT = "2"
_SQLITE_MARK, _SQLITE_MARK_AT = b"trsm", 68
"""The application_id of the caches of earlier versions, and where a SQLite file has it."""
_logger = logging.getLogger(__name__)


class Known(Struct, frozen=True):
    """The facts of a file, and the state in which it was parsed: `size` in bytes, `modified` in nanoseconds, `digest`
    of its bytes.
    """

    size: int
    modified: int
    digest: bytes
    facts: FileFacts


class FactsCache:
    """A file that keeps facts by path. What was written with other versions of the grammars or queries is not read."""

    def __init__(self, file: Path) -> None:
        self._file, self._has_warned = file, False
        queries = "".join(language.query for language in LANGUAGES)
        self._made_with = f"{_FORMAT} {versions()} {queries}".encode()

    def load(self) -> dict[str, Known]:
        """Return what the cache knows of every file, by path; empty if it cannot be read."""
        with suppress(OSError, msgspec.MsgspecError):
            written = self._file.read_bytes()
            packed = written[len(self._head(b"")) :]
            if written.startswith(self._head(packed)):
                return msgspec.msgpack.decode(packed, type=dict[str, Known])
        return {}

    def store(self, known: Mapping[str, Known]) -> None:
        """Write what is known of all files, by path. If that fails, or if the file is there and is no cache, a warning
        is logged, once.

        The file is replaced as a whole: who reads it meanwhile has the old one.
        """
        packed, why = msgspec.msgpack.encode(known), "this is no cache of a repo map"
        try:
            is_ours = self._file.is_file() and (is_cache(self._file) or not self._file.stat().st_size)
            if is_ours or not self._file.exists():
                self._replace(self._head(packed) + packed)
                return
        except OSError as problem:
            why = str(problem)
        if not self._has_warned:
            self._has_warned = True
            _logger.warning("repo map: going on without the cache %s: %s", quote(str(self._file)), why)

    def _replace(self, written: bytes) -> None:
        place = self._file.resolve()  # a link stays one
        new = place.with_name(f"{place.name}.{token_hex(4)}.new")
        try:
            with private_files.opened(new) as file:
                file.write(written)
            private_files.keep_mode(new, place)
            new.replace(place)
        finally:
            new.unlink(missing_ok=True)

    def _head(self, packed: bytes) -> bytes:
        """What stands before the facts: a digest that also tells with which versions they were made."""
        return MARK + hash_of(self._made_with + packed)


def is_cache(file: Path) -> bool:
    """True if a file begins as a cache does, even if the rest of it is damaged. The SQLite file that earlier versions
    wrote is one too. False if the file cannot be read."""
    with suppress(OSError), file.open("rb") as opened:
        begin = opened.read(_SQLITE_MARK_AT + len(_SQLITE_MARK))
        return begin.startswith(MARK) or begin[_SQLITE_MARK_AT:] == _SQLITE_MARK
    return False


def hash_of(data: bytes) -> bytes:
    """Return a digest (16 bytes) of the bytes of a file, by which a change is seen."""
    return blake2b(data, digest_size=16).digest()
