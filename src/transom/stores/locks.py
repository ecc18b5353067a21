"""A lock on an open file that other processes, and other handles in this one, respect. A dead process holds none."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40  # Windows locks bytes and then refuses to read them: lock one that no log reaches

    @contextmanager
    def locked(file: IO[bytes], *, shared: bool = False) -> Generator[None]:  # noqa: ARG001 - not known to Windows
        """Hold the file alone; wait for whoever has it."""
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
        """Hold the file alone, or with others who share it; wait for whoever has it."""
        fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
