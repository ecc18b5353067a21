"""Find the store of a command and, by a part of its id, the conversation. How `transom` can be typed here."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from difflib import get_close_matches
from pathlib import Path
from shutil import which

from transom.cli.lock_notice import LockNotice
from transom.cli.runs import FOLDER, STORE, make_folder, split_name, stored_name
from transom.cli.streams import counted
from transom.core.view import View
from transom.errors import InvalidSetting, UnknownLog
from transom.search.source import is_own_log
from transom.stores import Store, StoredLog, open_store, open_view
from transom.stores.postgres_url import without_password
from transom.stores.urls import parse_location
from transom.tokenizer import o200k
from transom.wire.dialects import counter_of_log

LAST_STORE = FOLDER / "last"
"""The file with the URL of the last replay's store."""

UV = frozenset({"UV", "UV_RUN_RECURSION_DEPTH"})
"""Variables that `uv run` sets. It adds a folder to PATH that the user's shell does not have."""

MAX_LISTED = 5


def command() -> str:
    """`transom` as the user can type it here: the name if the shell finds this installation by it, else the path."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and started.parent.name == "transom":
        return "python -m transom"
    if started.stem != "transom" or not started.is_file():
        return "transom"
    on_path = None if os.environ.keys() & UV else which("transom")
    if on_path is not None and started.samefile(on_path):
        return "transom"
    path, here = started.absolute(), Path.cwd()
    typed = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
    return shlex.quote(typed if "/" in typed else f"./{typed}")


def remember_store(url: str) -> None:
    """Make this store the default of commands without --store. A password is not kept. Raises OSError."""
    if url != "memory:":
        make_folder()
        LAST_STORE.write_text(without_password(url) + "\n", encoding="utf-8")


@contextmanager
def open_log(store: str | None, part: str, *, writing: bool = False) -> Generator[StoredLog]:
    """The log whose id is `part`, or contains it and is the only one that does. Raises UnknownLog, InvalidSetting."""
    url = store_url(store)
    with existing_store(url, writing=writing) as opened:
        yield opened.open(find_name(opened.names(), part, url))


@contextmanager
def existing_store(url: str, *, writing: bool = False) -> Generator[Store]:
    """The store at a URL, with a notice if it is locked (`writing`: locked against writing). Raises InvalidSetting."""
    _check_exists(url)
    with LockNotice(url, writing=writing), closing(open_store(url)) as store:
        yield store


def current_view(log: StoredLog) -> View:
    """The view of a whole log, counted as the log was counted before."""
    return open_view(log, counter_of_log(log, o200k()))


def store_url(store: str | None) -> str:
    """The store of --store; by default the store of the last replay in this folder. Raises InvalidSetting."""
    if store is not None:
        return store
    if not LAST_STORE.is_file():
        raise InvalidSetting(f"nothing was replayed in this folder yet: run `{command()} replay`, or give --store")
    return LAST_STORE.read_text(encoding="utf-8").strip()


def store_path(url: str) -> str:
    """The file or folder of a store; empty for one in memory or on a server. Raises InvalidSetting."""
    return parse_location(url).path


def _check_exists(url: str) -> None:
    """Opening a store creates it. A command that only reads must not leave an empty store behind."""
    location = parse_location(url)
    if location.kind == "postgresql":
        return
    if not location.path or not Path(location.path).exists():
        raise InvalidSetting(f"store {url!r}: there is nothing there")


def find_name(names: list[str], part: str, url: str) -> str:
    """The stored name that is `part`, or contains it and is the only one that does. Raises UnknownLog.

    In the store of this folder's replays, `part` is looked up run by run, the newest first: see `transom.cli.runs`.
    """
    names = [name for name in names if not is_own_log(name)]
    if Path(store_path(url)) != STORE:
        return _find(names, part, without_password(url))
    runs: dict[int, list[str]] = {}
    for name in names:
        conversation, number = split_name(name)
        runs.setdefault(number, []).append(conversation)
    conversation, number = split_name(part)
    if conversation != part:
        return stored_name(number, _find(runs.get(number, []), conversation, f"run {number} of {url}"))
    for number in sorted(runs, reverse=True):
        if any(part in conversation for conversation in runs[number]):
            return stored_name(number, _find(runs[number], part, url))
    newest = max(runs, default=1)
    return stored_name(newest, _find(runs.get(newest, []), part, url))


def _find(names: list[str], part: str, where: str) -> str:
    """The name that is `part`, or contains it and is the only one that does. Raises UnknownLog."""
    if part in names:
        return part
    matching = [name for name in names if part in name]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UnknownLog(f"{part!r} is a part of {len(matching):,} ids: {_listed(matching)}")
    if not names:
        raise UnknownLog(f"no conversation {part!r} in {where}, and no other")
    if len(names) <= MAX_LISTED:
        others = f": {', '.join(names)}"
    elif similar := get_close_matches(part, names, n=MAX_LISTED, cutoff=0.4):
        others = f", the most similar: {', '.join(similar)}"
    else:
        others = f", for example {', '.join(names[:MAX_LISTED])}"
    raise UnknownLog(f"no conversation {part!r} in {where}; it has {counted(len(names), 'conversation')}{others}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
