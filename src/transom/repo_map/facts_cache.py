"""The facts of files on disk, so that another process parses only what has changed since.

The cache may be lost or damaged at any time: it is then made anew, or done without.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from transom.repo_map.languages import LANGUAGES, versions
from transom.repo_map.symbols import FileFacts

_FORMAT = "1"


class Known(Struct, frozen=True):
    """The facts of a file, and the state of the file that they were read from. `digest`: of its bytes."""

    size: int
    modified: int
    digest: bytes
    facts: FileFacts


class FactsCache:
    """A file that holds facts by path. Other versions of the grammars or of their queries begin it anew."""

    def __init__(self, file: Path) -> None:
        self._file = file
        queries = "".join(language.query for language in LANGUAGES)
        self._version = f"{_FORMAT} {versions()} {hash_of(queries.encode()).hex()}"

    def load(self) -> dict[str, Known]:
        """What is known of every file."""
        with suppress(sqlite3.Error, msgspec.MsgspecError, OSError), closing(self._open()) as db:
            decoder = msgspec.msgpack.Decoder(Known)
            return {path: decoder.decode(known) for path, known in db.execute("SELECT path, known FROM files")}
        return {}

    def store(self, changed: Mapping[str, Known], gone: set[str]) -> None:
        """Keep these, and drop those that are gone."""
        rows = [(path, msgspec.msgpack.encode(known)) for path, known in changed.items()]
        try:
            self._write(rows, gone)
        except sqlite3.DatabaseError:
            with suppress(sqlite3.Error, OSError):
                self._file.unlink(missing_ok=True)
                self._write(rows, gone)

    def _write(self, rows: list[tuple[str, bytes]], gone: set[str]) -> None:
        with closing(self._open()) as db, db:
            db.executemany("INSERT OR REPLACE INTO files VALUES (?, ?)", rows)
            db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._file, timeout=1)
        try:
            db.execute("PRAGMA synchronous=OFF")  # it can be made anew
            db.execute("CREATE TABLE IF NOT EXISTS version (version TEXT)")
            found = db.execute("SELECT version FROM version").fetchone()
            if found != (self._version,):
                with db:
                    db.execute("DROP TABLE IF EXISTS files")
                    db.execute("DELETE FROM version")
                    db.execute("INSERT INTO version VALUES (?)", (self._version,))
                    db.execute("CREATE TABLE files (path TEXT PRIMARY KEY, known BLOB) WITHOUT ROWID")
        except BaseException:
            db.close()
            raise
        return db


def hash_of(data: bytes) -> bytes:
    """A digest of bytes, to see whether they changed."""
    from hashlib import blake2b  # noqa: PLC0415 - only with the map

    return blake2b(data, digest_size=16).digest()
