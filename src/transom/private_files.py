"""Makes files and folders that only their owner can read: they hold whole conversations, and what tools printed.

The rule: what Transom creates has the mode 0600 (a file) or 0700 (a folder), whatever the umask allows. What exists
keeps its mode, also when its content is replaced. Where there are no modes (Windows), nothing is different.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def make_folder(path: Path) -> None:
    """Create a folder and the folders above it that are missing, with the mode 0700. A folder that exists stays as it
    is. Raises OSError if that fails, or if `path` is a file."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(FOLDER_MODE, exist_ok=True)
    path.mkdir(exist_ok=True)  # raises FileExistsError for a file


def create_file(path: str | os.PathLike[str]) -> None:
    """Create an empty file with the mode 0600 where there is none, for a library that opens files by itself, such as
    SQLite, whose companion files (`-wal`, `-shm`) then get the same mode. A file that exists stays as it is. An OSError
    is ignored: the library that cannot open the file says why."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))


def opened(path: str | os.PathLike[str], mode: str = "wb", buffering: int = -1) -> IO[bytes]:
    """Open a binary file as `open` does; a new one gets the mode 0600. `mode`: one of the binary modes. Raises
    OSError."""
    return open(path, mode, buffering, opener=_opener)


def keep_mode(new: Path, old: Path) -> None:
    """Give the file `new` the mode of the file `old`, which it will replace. Nothing happens if there is no such file,
    or if the mode cannot be set."""
    with suppress(OSError):
        new.chmod(stat.S_IMODE(old.stat().st_mode))


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)
