"""What stores do with files: lock them, write them durably, translate errors of the system, and read the paths that
users write.

A lock excludes other processes, and other open files of this one. A process that dies releases its locks.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from transom import private_files
from transom.errors import InvalidSetting, quote
from transom.stores.base import store_unavailable

__all__ = ["locked"]

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40  # Windows locks bytes and then refuses to read them: lock one that no log reaches

    @contextmanager
    def locked(file: IO[bytes], *, shared: bool = False) -> Generator[None]:  # noqa: ARG001 - not known to Windows
        """Hold an exclusive lock on an open file during the block. `shared` does nothing on Windows.

        Tries for 10 seconds while others hold it. Then raises OSError.
        """
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    @contextmanager
    def locked(file: IO[bytes], *, shared: bool = False) -> Generator[None]:
        """Hold an exclusive lock on an open file during the block; with `shared`, one that other sharers may hold too.

        Waits until the present holders release it.
        """
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def file_stem(name: str) -> str:
    """Return the file name, without a suffix, for a conversation of this name: at most 40 readable characters of the
    name, and a hash of all of it. Every file system accepts it, and no two names get the same."""
    readable = re.sub(r"[^a-z0-9_]+", "-", name.lower())[:40].strip("-")
    sure = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    return f"{readable}-{sure}" if readable else sure


def is_read_only(problem: OSError) -> bool:
    """True if the error says that this process may not write here (no permission, or a read-only file system)."""
    return problem.errno in _READ_ONLY


@contextmanager
def os_errors_translated(path: Path) -> Generator[None]:
    """Raise StoreUnavailable, naming `path`, in place of an OSError within the block. Its message says that nothing was
    changed: the block must see to that."""
    try:
        yield
    except OSError as problem:
        raise store_unavailable(str(path), problem.strerror or problem) from problem


@contextmanager
def opened_for_append(path: Path) -> Generator[IO[bytes]]:
    """Open the file for reading and writing, unbuffered, at its beginning, during the block: the caller seeks the end.
    It is created if it does not exist; then only this user may read it. Its folder must exist. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, private_files.FILE_MODE), "r+b", 0) as file:
        yield file


def write_durably(file: IO[bytes], data: bytes) -> None:
    """Write all of the data at the file's present position, and wait until it is on disk. Raises OSError; a part may be
    written then. `file`: unbuffered."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names that were created, renamed or deleted in a folder are on disk. Does nothing on Windows,
    where the system sees to that. Raises OSError."""
    if os.name == "posix":
        folder = os.open(path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def expanded(path: str) -> str:
    """Return a path with `~` or `~user` at its beginning replaced by the home folder; every other path as it is.

    Raises InvalidSetting if there is no such user.
    """
    if not path.startswith("~"):
        return path
    found = os.path.expanduser(path)  # noqa: PTH111 - keeps a slash at the end, which says that it is a folder
    if found.startswith("~"):
        raise InvalidSetting(f"store {quote(path)}: there is no such home folder; a file of that name is ./{path[:50]}")
    return found


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a store's file or folder, with `~` replaced as `expanded` does. It need not exist;
    links and `..` in it stay.

    Raises InvalidSetting as `expanded` does, and for a path that cannot even be looked up: its name is too long, or a
    folder above it may not be entered.
    """
    text = os.fspath(path)
    found = Path(expanded(text)).absolute()
    try:
        found.exists()  # false for a path that leads nowhere
    except OSError as problem:
        raise InvalidSetting(f"store {quote(text)}: {problem.strerror or problem}") from problem
    return found
