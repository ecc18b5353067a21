"""The folder `.transom` in the current folder, where commands store things if the user names no store."""

from __future__ import annotations

from pathlib import Path

from transom import private_files
from transom.errors import InvalidSetting
from transom.stores.files import is_read_only

FOLDER = Path(".transom")
REPLAYS, DEMO, IMPORTS, CHATS = (FOLDER / f"{name}.db" for name in ("replays", "demo", "imports", "chats"))
"""The SQLite stores in it. A replay replaces the replay before, and a demo the demo before."""

MAP_CACHE = "map-"
"""The beginning of the names of the files in which `transom map` keeps what it has parsed. 32 hex digits and ".db"
follow."""


def url_of(store: Path) -> str:
    """Return the URL of a SQLite store in `.transom`. That of REPLAYS or DEMO says that appends do not wait for the
    disk, because a replay can be repeated."""
    return f"sqlite:///{store.as_posix()}{'?synchronous=normal' if store in (REPLAYS, DEMO) else ''}"


def make_folder() -> None:
    """Create the folder `.transom`, unless it is there, with a .gitignore that makes git ignore it.

    Raises InvalidSetting where it may not be written, OSError for other failures.
    """
    try:
        private_files.make_folder(FOLDER)
        ignore = FOLDER / ".gitignore"
        if not ignore.exists():
            with private_files.opened(ignore) as file:
                file.write(b"*\n")
    except OSError as problem:
        if not is_read_only(problem):
            raise
        way = "go to a folder that can be written, or give --store URL if the command has it"
        raise InvalidSetting(f"{FOLDER}: {problem.strerror}: {way}") from None
