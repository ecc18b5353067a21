"""Keeps the facts of files on disk, so that another process parses only files that have changed since.

The cache may be lost or damaged at any time: then it is made anew, or the map does without it. A file that is not a
cache is left as it is.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from transom.errors import quote
from transom.private_files import create_file
from transom.repo_map.languages import LANGUAGES, versions
from transom.repo_map.symbols import FileFacts
from transom.sqlite_tables import Tables, replace_tables, transaction, version_of

APPLICATION = 0x7472736D
"""The application_id that marks a file as a cache: "trsm" in ASCII.

A file without it is never changed, unless it is empty.
"""

_FORMAT = "1"
_VERSIONS = 2**31 - 1  # the user_version of a SQLite file is a signed number of 32 bits
_SQLITE, _MARK_AT = b"SQLite format 3\0", 68  # sqlite.org/fileformat2.html, "The Database Header"
_TABLES = ("DROP TABLE IF EXISTS files", "CREATE TABLE files (path TEXT PRIMARY KEY, known BLOB) WITHOUT ROWID")
_PATIENCE = 1.0
"""Seconds to wait while another process is writing: after that the map does without the cache."""
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
    """A SQLite file that keeps facts by path.

    It is emptied if it was written with other versions of the grammars or queries.
    """

    def __init__(self, file: Path) -> None:
        self._file, self._has_warned = file, False
        queries = "".join(language.query for language in LANGUAGES)
        made_with = hash_of(f"{_FORMAT} {versions()} {queries}".encode())
        self._tables = Tables(APPLICATION, int.from_bytes(made_with[:4], "big") % _VERSIONS + 1, _TABLES)

    def load(self) -> dict[str, Known]:
        """Return what the cache knows of every file, by path; empty if it cannot be read."""
        with suppress(sqlite3.Error, msgspec.MsgspecError, OSError), closing(self._open()) as db:
            decoder = msgspec.msgpack.Decoder(Known)
            return {path: decoder.decode(known) for path, known in db.execute("SELECT path, known FROM files")}
        return {}

    def store(self, changed: Mapping[str, Known], gone: set[str]) -> None:
        """Write what is known of the `changed` files, by path, and delete what is known of those in `gone`. A damaged
        cache is deleted and made anew. If writing fails, a warning is logged, once."""
        rows = [(path, msgspec.msgpack.encode(known)) for path, known in changed.items()]
        try:
            try:
                self._write(rows, gone)
            except sqlite3.OperationalError:  # locked, a full disk: another process may use it
                raise
            except sqlite3.DatabaseError:
                if not is_cache(self._file):
                    raise
                self._file.unlink(missing_ok=True)
                self._write(rows, gone)
        except (sqlite3.Error, OSError) as problem:
            if not self._has_warned:
                self._has_warned = True
                _logger.warning("repo map: going on without the cache %s: %s", quote(str(self._file)), problem)

    def _write(self, rows: list[tuple[str, bytes]], gone: set[str]) -> None:
        with closing(self._open()) as db, transaction(db):
            db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", rows)
            db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])

    def _open(self) -> sqlite3.Connection:
        create_file(self._file)
        db = sqlite3.connect(self._file, timeout=_PATIENCE, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous = OFF")  # it can be made anew
            found = version_of(db, APPLICATION)
            if found != self._tables.version:
                replace_tables(db, self._tables, of_version=found)
        except BaseException:
            db.close()
            raise
        return db


def is_cache(file: Path) -> bool:
    """True if a file begins as a cache does, even if the rest of it is damaged."""
    with suppress(OSError), file.open("rb") as opened:
        header = opened.read(_MARK_AT + 4)
        return header.startswith(_SQLITE) and header[_MARK_AT:] == APPLICATION.to_bytes(4, "big")
    return False


def hash_of(data: bytes) -> bytes:
    """Return a digest of bytes, by which a change is seen."""
    return blake2b(data, digest_size=16).digest()
