"""Finds what a user can look at: stores in this folder, and session files of agents in their usual places."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from transom.cli.stores import last_store
from transom.cli.transom_folder import FOLDER
from transom.stores.sqlite_file import APPLICATION

_SQLITE = b"SQLite format 3\0"
_APPLICATION_ID = slice(68, 72)
"""Where the header of a SQLite file has the number of the application that it belongs to."""


def stores_here() -> list[str]:
    """Return the stores of this folder, each once, as --store takes them: first the URL of the one that was opened last
    to be filled (it may be elsewhere, or gone), then the paths of the SQLite stores here and in `.transom`, by name.
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


def session_folders() -> Iterator[tuple[str, Path]]:
    """Yield each of Claude Code, Codex and pi that has session files, with their folder."""
    home = Path.home()
    places = {
        "Claude Code": Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects",
        "Codex": Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions",
        "pi": home / ".pi" / "agent" / "sessions",
    }
    for agent, folder in places.items():
        names = (name for _, _, files in os.walk(folder) for name in files)
        if any(name.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")) for name in names):
            yield agent, folder


def in_home(path: Path) -> str:
    """Return a path as one types it: with `~` for the home folder if it is below that, else as it is."""
    home = Path.home()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()
