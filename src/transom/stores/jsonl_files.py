"""File operations of the JSON Lines store: durable writes, and errors in our words."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from transom import private_files
from transom.stores.checks import store_unavailable

_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def file_stem(name: str) -> str:
    """Make the file name (without suffix) of a conversation: the readable part of its name, and a hash of the whole
    name.

    Every file system accepts it, and two names never share one.
    """
    readable = re.sub(r"[^a-z0-9_]+", "-", name.lower())[:40].strip("-")
    sure = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"{readable}-{sure}" if readable else sure


def is_read_only(problem: OSError) -> bool:
    """True if the error says that this process may not write here (no permission, or a read-only file system)."""
    return problem.errno in _READ_ONLY


@contextmanager
def os_errors_translated(path: Path) -> Generator[None]:
    """Raise StoreUnavailable, naming `path`, in place of an OSError within the block."""
    try:
        yield
    except OSError as problem:
        raise store_unavailable(str(path), problem.strerror or problem) from problem


@contextmanager
def opened_for_append(path: Path) -> Generator[IO[bytes]]:
    """Open the file for reading and writing, unbuffered, during the block. It is created if it does not exist."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, private_files.FILE), "r+b", 0) as file:
        yield file


def write_durably(file: IO[bytes], data: bytes) -> None:
    """Write all of the data and wait until it is on disk."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Make created, renamed and deleted names in a folder durable. On Windows it does nothing: the system does it."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
