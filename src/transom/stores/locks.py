"""Locks an open file against other processes and other handles in this one. A process that dies releases its locks."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

__all__ = ["locked"]

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40  # Windows locks bytes and then refuses to read them: lock one that no log reaches

    @contextmanager
    def locked(file: IO[bytes], *, shared: bool = False) -> Generator[None]:  # noqa: ARG001 - not known to Windows
        """Hold an exclusive lock on an open file during the block (on POSIX, with `shared`, one that other sharers may
        hold too).

        Waits until the present holders release it.
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
        """Hold an exclusive lock on an open file during the block (on POSIX, with `shared`, one that other sharers may
        hold too).

        Waits until the present holders release it.
        """
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
