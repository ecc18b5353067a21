"""Where replays are kept in this folder, and how a conversation is found by a part of its id."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from difflib import get_close_matches
from pathlib import Path
from shutil import which

from transom.cli.lock_notice import Watch
from transom.cli.runs import FOLDER, STORE, make_folder, name_in, run_of
from transom.errors import InvalidSetting, UnknownLog
from transom.stores import Store, StoredLog, open_store
from transom.stores.urls import parse_location

LAST = FOLDER / "last"
UV = frozenset({"UV", "UV_RUN_RECURSION_DEPTH"})
"""Set by `uv run`, which puts a folder on the PATH that the shell it was typed in does not have there."""


def command() -> str:
    """`transom` as it can be typed here: by its name if the shell finds this one by it, else by its path."""
    started = Path(sys.argv[0])
    if started.name == "__main__.py" and started.parent.name == "transom":
        return "python -m transom"
    if started.stem != "transom" or not started.is_file():
        return "transom"
    found = None if os.environ.keys() & UV else which("transom")
    if found is not None and started.samefile(found):
        return "transom"
    path, here = started.absolute(), Path.cwd()
    shown = path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
    return shlex.quote(shown if "/" in shown else f"./{shown}")


def remember(url: str) -> None:
    """Commands without --store look here from now on. Raises OSError."""
    if url != "memory:":
        make_folder()
        LAST.write_text(url + "\n", encoding="utf-8")


@contextmanager
def found_log(store: str | None, part: str, *, writing: bool = False) -> Generator[StoredLog]:
    """The log whose id is `part`, or the only one whose id holds it. Raises UnknownLog, InvalidSetting."""
    url = url_of(store)
    with opened(url, writing=writing) as place:
        yield place.open(named(place.names(), part, url))


@contextmanager
def opened(url: str, *, writing: bool = False) -> Generator[Store]:
    """The store at a URL; says so if it is locked, `writing`: against that alone. Raises InvalidSetting."""
    _must_exist(url)
    with Watch(url, writing=writing), closing(open_store(url)) as store:
        yield store


def url_of(store: str | None) -> str:
    """The store that was asked for; if none was, that of the last replay here."""
    return _last_store() if store is None else store


def path_of(url: str) -> str:
    """The file or folder of a store; empty for memory. Raises InvalidSetting."""
    return parse_location(url).path


def _last_store() -> str:
    if not LAST.is_file():
        raise InvalidSetting(f"nothing was replayed in this folder yet: run `{command()} replay`, or give --store")
    return LAST.read_text(encoding="utf-8").strip()


def _must_exist(url: str) -> None:
    """To look is not to make: opening an unknown place would leave an empty store there."""
    path = path_of(url)
    if not path or not Path(path).exists():
        raise InvalidSetting(f"store {url!r}: there is nothing there")


def named(names: list[str], part: str, url: str) -> str:
    """The id that is `part`, or the only one that holds it. Raises UnknownLog.

    In the store of this folder's replays that is an id of the newest run that has such a one: see `transom.cli.runs`.
    """
    if Path(path_of(url)) != STORE:
        return _named(names, part, url)
    runs: dict[int, list[str]] = {}
    for name in names:
        runs.setdefault(run_of(name)[1], []).append(run_of(name)[0])
    title, number = run_of(part)
    if title != part:
        return name_in(number, _named(runs.get(number, []), title, f"run {number} of {url}"))
    for number in sorted(runs, reverse=True):
        if any(part in title for title in runs[number]):
            return name_in(number, _named(runs[number], part, url))
    newest = max(runs, default=1)
    return name_in(newest, _named(runs.get(newest, []), part, url))


def _named(names: list[str], part: str, url: str) -> str:
    """The id that is `part`, or the only one that holds it. Raises UnknownLog."""
    if part in names:
        return part
    holding = [name for name in names if part in name]
    if len(holding) == 1:
        return holding[0]
    if holding:
        raise UnknownLog(f"{part!r} is a part of {len(holding):,} ids: {_listed(holding)}")
    near = get_close_matches(part, names, n=5, cutoff=0.4) or names
    there = f"; there is {_listed(near)}" if near else ", and no other"
    raise UnknownLog(f"no conversation {part!r} in {url}{there}")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
