"""Finds what a user can look at: stores in this folder, and session files of agents in their usual places."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from transom.cli.folder import FOLDER
from transom.cli.stores import last_store
from transom.stores.sqlite_file import APPLICATION

MOST_FILES = 1_000
"""Session files are counted up to this number, so that a large folder takes no time."""

_SQLITE = b"SQLite format 3\0"
_APPLICATION_ID = slice(68, 72)
"""Where the header of a SQLite file has the number of the application that it belongs to."""


class SessionFolder(Struct, frozen=True, kw_only=True):
    """Where an agent keeps its session files, and how many there are: at most MOST_FILES are counted."""

    agent: str
    folder: Path
    files: int


def stores_here() -> list[str]:
    """Return the URLs of the stores of this folder, each once: first the one that was opened last to be filled, then
    SQLite stores here and in `.transom`, by name.
    """
    found = [url] if (url := last_store()) else []
    paths = sorted([*FOLDER.glob("*.db"), *Path().glob("*.db")])
    mentioned = {Path(url.partition("?")[0].removeprefix("sqlite:///")).resolve() for url in found}
    return found + [path.as_posix() for path in paths if path.resolve() not in mentioned and is_ours(path)]


def is_ours(path: Path) -> bool:
    """True if a file is a SQLite store of Transom, by its header. A file in `.transom` that may not be read counts as
    one: whoever opens it is told why it cannot be. Elsewhere it may be any program's."""
    try:
        with path.open("rb") as file:
            header = file.read(_APPLICATION_ID.stop)
    except PermissionError:
        return path.parent == FOLDER and path.is_file()
    except OSError:
        return False
    return header.startswith(_SQLITE) and header[_APPLICATION_ID] == APPLICATION.to_bytes(4)


def session_folders() -> Iterator[SessionFolder]:
    """Yield the folders of Claude Code, Codex and pi that hold session files."""
    home = Path.home()
    places = {
        "Claude Code": Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        "Codex": Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        "pi": home / ".pi" / "agent" / "sessions",
    }
    for agent, folder in places.items():
        if files := _count(folder):
            yield SessionFolder(agent=agent, folder=folder, files=files)


def _count(folder: Path) -> int:
    """Return the number of session files below a folder, at most MOST_FILES. 0 if there is no folder."""
    files = 0
    for _, _, names in os.walk(folder):
        files += sum(name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")) for name in names)
        if files >= MOST_FILES:
            return MOST_FILES
    return files


def in_home(path: Path) -> str:
    """Return a path as one types it: with `~` for the home folder."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()
