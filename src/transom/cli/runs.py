"""Where replays are stored: in one SQLite file for each folder, `.transom/replays.db`, with a list of runs beside it.

Every run has a number. The conversations of run 1 are stored under their ids, those of run 2 as `ID (run 2)`, and so
on. The same command again is a new run, which replaces the earlier ones once it is finished.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from errno import EACCES, EPERM, EROFS
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from transom import private_files
from transom.errors import InvalidSetting
from transom.importers.files.open_file import files_in
from transom.stores import SqliteStore
from transom.stores.locks import locked

FOLDER = Path(".transom")
STORE = FOLDER / "replays.db"
URL = f"sqlite:///{STORE.as_posix()}?synchronous=normal"
"""The store of replays. It does not wait for the disk at each call, because a replay can be repeated."""

RUNS = FOLDER / "runs.json"
MAP_CACHE = "map-"
"""How the names of the files begin that keep what `transom map` has parsed: 32 hex digits and ".db" follow."""

READ_ONLY = frozenset({EACCES, EPERM, EROFS})
"""The errors of a folder that may not be written."""

_STORED_NAME = re.compile(r"(?s)(?P<id>.*) \(run (?P<number>[1-9]\d{0,8})\)")


class Run(Struct, frozen=True, kw_only=True):
    """A replay run.

    `settings`: the options, the version, and the size and time of each file.
    """

    number: int
    settings: dict[str, Any]


def begin(files: Sequence[Path], settings: dict[str, Any]) -> Run:
    """Add a run to the list. Raises OSError."""
    make_folder()
    settings = {"version": version("transom"), "files": [_file_state(file) for file in files], **settings}
    with _edit_runs() as runs:
        last = max((run.number for run in runs), default=_last_stored_run())
        run = Run(number=last + 1, settings=settings)
        runs.append(run)
        return run


def finish(run: Run) -> None:
    """Remove earlier runs with the same settings from the list and the store, because this one is finished.

    Raises OSError, TransomError.
    """
    with _edit_runs() as runs:
        old = [one.number for one in runs if one.settings == run.settings and one.number < run.number]
        runs[:] = [one for one in runs if one.number not in old]
    if old:
        with closing(SqliteStore(str(STORE), synchronous="normal")) as store:
            names = [name for name in store.names() if split_name(name)[1] in old]
            if names:
                store.forget_all(names)


def stored_name(run: int, conversation: str) -> str:
    """Return the name under which a conversation of a run is stored."""
    return conversation if run == 1 else f"{conversation} (run {run})"


def split_name(name: str) -> tuple[str, int]:
    """Split the name of a stored conversation into its id and the number of its run."""
    match = _STORED_NAME.fullmatch(name)
    return (name, 1) if match is None else (match["id"], int(match["number"]))


def make_folder() -> None:
    """Create the folder `.transom`, with a .gitignore that makes git ignore it.

    Raises InvalidSetting where it may not be written, OSError for other failures.
    """
    try:
        private_files.make_folder(FOLDER)
        ignore = FOLDER / ".gitignore"
        if not ignore.exists():
            with private_files.opened(ignore) as file:
                file.write(b"*\n")
    except OSError as problem:
        if problem.errno not in READ_ONLY:
            raise
        way = "go to a folder that can be written, or give --store URL if the command has it"
        raise InvalidSetting(f"{FOLDER}: {problem.strerror}: {way}") from None


@contextmanager
def _edit_runs() -> Generator[list[Run]]:
    """Lock and read the list of runs, which the block changes in place; it is written at the end of the block.

    A damaged file counts as empty.
    """
    with private_files.opened(RUNS, "a+b") as file, locked(file):
        file.seek(0)
        try:
            runs = msgspec.json.decode(file.read(), type=list[Run])
        except msgspec.DecodeError:
            runs = []
        yield runs
        file.truncate(0)
        file.write(msgspec.json.encode(runs))


def _last_stored_run() -> int:
    """Find the highest number of a run in the store: needed if the list of runs was lost."""
    if not STORE.exists():
        return 0
    with closing(SqliteStore(str(STORE), synchronous="normal")) as store:
        return max((split_name(name)[1] for name in store.names()), default=0)


def _file_state(path: Path) -> list[Any]:
    """Return the path, sizes and times of a file or folder, which differ when it has changed."""
    if path == Path("-"):
        return ["-"]
    files = files_in(path) if path.is_dir() else [path]
    states = [file.stat() for file in files]
    return [str(path.resolve()), *([state.st_size, state.st_mtime_ns] for state in states)]
