"""Where replays are kept: one SQLite file a folder, `.transom/replays.db`, and a note of the runs that it holds.

Every run has a number. The conversations of the first are kept under their ids, those of the second as `ID (run 2)`,
and so on. A run that was interrupted goes on when the same command is given again; one that was finished is done anew,
and takes the place of the run before it that was asked for with the same words.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from transom.importers.files import files_in
from transom.stores import SqliteStore
from transom.stores.locks import locked

FOLDER = Path(".transom")
STORE = FOLDER / "replays.db"
URL = f"sqlite:///{STORE.as_posix()}?synchronous=normal"
"""Written without waiting for the disk at each call, since a replay can be repeated."""

NOTES = FOLDER / "runs.json"
_RUN = re.compile(r"(?s)(?P<id>.*) \(run (?P<number>[1-9]\d{0,8})\)")


class Run(Struct, frozen=True, kw_only=True):
    """A run: its number, what was asked for, and whether it came to its end."""

    number: int
    asked: dict[str, Any]
    done: bool = False


def begin(files: Sequence[Path], settings: dict[str, Any]) -> Run:
    """A new run, or the one with these files and settings that was interrupted. Raises OSError."""
    make_folder()
    asked = {"version": version("transom"), "files": [_state(file) for file in files], **settings}
    with _notes() as runs:
        for run in runs:
            if run.asked == asked and not run.done and Path("-") not in files:
                return run
        last = max((run.number for run in runs), default=_last_stored())
        run = Run(number=last + 1, asked=asked)
        runs.append(run)
        return run


def finish(run: Run) -> None:
    """The run came to its end: the runs before it that asked for the same are removed. Raises OSError, TransomError."""
    with _notes() as runs:
        old = [one.number for one in runs if one.asked == run.asked and one.number != run.number]
        runs[:] = [one for one in runs if one.number not in {run.number, *old}]
        runs.append(Run(number=run.number, asked=run.asked, done=True))
    if old:
        with closing(SqliteStore(str(STORE), synchronous="normal")) as store:
            names = [name for name in store.names() if run_of(name)[1] in old]
            if names:
                store.forget_all(names)


def name_in(run: int, title: str) -> str:
    """What a conversation is called in the store."""
    return title if run == 1 else f"{title} (run {run})"


def run_of(name: str) -> tuple[str, int]:
    """The id of a stored conversation, and the number of its run."""
    found = _RUN.fullmatch(name)
    return (name, 1) if found is None else (found["id"], int(found["number"]))


def make_folder() -> None:
    """The folder for replays, which git ignores. Raises OSError."""
    FOLDER.mkdir(exist_ok=True)
    ignore = FOLDER / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


@contextmanager
def _notes() -> Generator[list[Run]]:
    """The runs that are noted, to be changed; nobody else changes them meanwhile. Notes that are damaged are none."""
    with NOTES.open("a+b") as file, locked(file):
        file.seek(0)
        try:
            runs = msgspec.json.decode(file.read(), type=list[Run])
        except msgspec.DecodeError:
            runs = []
        yield runs
        file.truncate(0)
        file.write(msgspec.json.encode(runs))


def _last_stored() -> int:
    """The highest number of a run in the store, for a folder whose notes are gone."""
    if not STORE.exists():
        return 0
    with closing(SqliteStore(str(STORE), synchronous="normal")) as store:
        return max((run_of(name)[1] for name in store.names()), default=0)


def _state(path: Path) -> list[Any]:
    """What a file is, as far as it takes to see that it has changed."""
    if path == Path("-"):
        return ["-"]
    files = files_in(path) if path.is_dir() else [path]
    states = [file.stat() for file in files]
    return [str(path.resolve()), *([state.st_size, state.st_mtime_ns] for state in states)]
