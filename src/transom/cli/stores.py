"""Opens the store of a command, and finds a conversation in it by a part of its id."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import closing, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from transom import private_files
from transom.cli.next_commands import program_name
from transom.cli.streams import counted, print_notice
from transom.cli.transom_folder import FOLDER, make_folder, url_of
from transom.core.view import View
from transom.errors import InvalidSetting, StoreDamaged, UnknownLog, listed
from transom.stores import Store, StoredLog, open_store, open_view
from transom.stores.files import absolute_path
from transom.stores.postgres_url import place_of, without_password
from transom.stores.urls import has_postgres_tables, parse_location
from transom.tokenizer import o200k
from transom.wire.dialects import counter_of_log

LAST_STORE = FOLDER / "last"
"""The file with the URL of the store that a replay, an import, a chat, a proxy or an agent has last opened here to fill
it: the default of commands without --store."""

MAX_LISTED_IDS = 5
"""The most ids that an error names."""

MAX_LISTED_CHARACTERS = 80
"""The most characters of an id that an error names."""


def remember_store(url: str) -> None:
    """Make this store the default of commands without --store, except one in memory. A password is not written.

    Where the folder may not be written, a notice says so. Raises OSError for other failures.
    """
    if url == "memory:":
        return
    try:
        make_folder()
        with private_files.opened(LAST_STORE) as file:
            file.write(f"{without_password(url)}\n".encode())
    except (InvalidSetting, PermissionError):
        print_notice(f"{LAST_STORE} cannot be written: give --store {without_password(url)} to the other commands too")


class StoreOnDemand:
    """A store that is opened when it is first used, and created then if there is none.

    So a command that fails before it has something to store leaves no empty store. When it is opened, it becomes the
    store of commands without --store. `url`: where it is.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._store: Store | None = None

    def open(self, name: str) -> StoredLog:
        return self._opened().open(name)

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def __getattr__(self, name: str) -> Any:
        """Return what the store has under this name."""
        return getattr(self._opened(), name)

    def _opened(self) -> Store:
        if self._store is None:
            self._store = open_store(self._url)
            remember_store(self._url)
        return self._store


@contextmanager
def store_to_fill(store: str | None, own: Path) -> Generator[Store]:
    """Yield a `StoreOnDemand` during the block.

    `store`: its URL or path. None: it is `own`, the path of a store in the folder `.transom`, and that folder is
    created at once. The store itself is opened, and created, when the block first uses it; it is closed at the end of
    the block.
    """
    if store is None:
        make_folder()
    url = url_of(own) if store is None else store
    with closing(StoreOnDemand(url)) as on_demand:
        yield cast("Store", on_demand)


@contextmanager
def open_log(store: str | None, part: str) -> Generator[StoredLog]:
    """Open the log of one conversation during the block. `part`: its id, or an unambiguous part of it (`find_name`).

    `store`: a URL, or None for the store that was last filled in this folder. Raises UnknownLog if no id or several
    match, InvalidSetting if there is no store or if `part` is empty."""
    url = store_url(store)
    with existing_store(url) as opened:
        yield opened.open(find_name(opened, part, url))


@contextmanager
def existing_store(url: str) -> Generator[Store]:
    """Open the store at a URL during the block. Raises InvalidSetting if there is no store: none is created."""
    _check_exists(url)
    with closing(open_store(url)) as store:
        yield store


def current_view(log: StoredLog) -> View:
    """Return the view of a whole log. Tokens are counted as its entries were."""
    return open_view(log, counter_of_log(log, o200k()))


def store_url(store: str | None) -> str:
    """Return the URL of a command's store: `store`, or if that is None, the store that was last filled in this folder.

    Raises InvalidSetting if none was.
    """
    if store is not None:
        return store
    if not LAST_STORE.is_file():
        raise InvalidSetting(f"nothing was replayed in this folder yet: run `{program_name()} replay`, or give --store")
    return last_store()


def last_store() -> str:
    """Return the URL of the store that was opened last in this folder to be filled; empty if none was. The store may be
    gone."""
    return LAST_STORE.read_text(encoding="utf-8").strip() if LAST_STORE.is_file() else ""


def store_path(url: str) -> str:
    """Return the path of the file or folder of a store, as the URL has it; empty for memory and for a server. Whether
    the file is there is not checked.

    Raises InvalidSetting for a URL of no known form.
    """
    return parse_location(url).path


def _check_exists(url: str) -> None:
    """Raise InvalidSetting if there is no store: opening it would create an empty one, also in an empty file."""
    location = parse_location(url)
    if location.kind == "postgresql":
        if not has_postgres_tables(url):
            raise InvalidSetting(f"store {without_password(url)!r}: there is nothing there, in this schema")
        return
    path = absolute_path(location.path) if location.path else None
    if path is None or not path.exists():
        raise InvalidSetting(f"store {url!r}: there is nothing there")
    if location.kind == "sqlite" and path.is_file() and not path.stat().st_size:
        raise InvalidSetting(f"store {url!r}: there is nothing there: the file is empty")


def find_name(store: Store, part: str, url: str) -> str:
    """Return the name that is `part`, or the only one that contains it. A session and its subagents count as one: the
    session is returned.

    `url`: of the store, for errors. Raises UnknownLog if no name or several match, and if `part` is the id of a session
    of which the store has only subagents: no other conversation is taken for one that may just have been forgotten.
    Raises InvalidSetting if `part` is empty, because every name contains it.
    """
    check_part(part)
    names = store.names()
    if part in names:
        return part
    if subagents := subagents_in(store, part):
        shown = listed(subagents, MAX_LISTED_IDS, show=short_id)
        raise UnknownLog(f"no conversation {part!r} in {place_of(url)}; it has subagents of it: {shown}")
    matching = [name for name in names if part in name]
    shortest = min(matching, key=len, default="")
    if matching and {shortest, *subagents_in(store, shortest)}.issuperset(matching):
        return shortest
    if matching:
        raise UnknownLog(
            f"{part!r} is a part of {len(matching):,} ids: {listed(matching, MAX_LISTED_IDS, show=short_id)}"
        )
    if not names:
        raise UnknownLog(f"no conversation {part!r} in {place_of(url)}, and no other")
    if len(names) <= MAX_LISTED_IDS:
        others = f": {', '.join(map(short_id, names))}"
    elif similar := get_close_matches(part, names, n=MAX_LISTED_IDS, cutoff=0.4):
        others = f", the most similar: {', '.join(map(short_id, similar))}"
    else:
        others = f", for example {', '.join(map(short_id, names[:MAX_LISTED_IDS]))}"
    raise UnknownLog(
        f"no conversation {part!r} in {place_of(url)}; it has {counted(len(names), 'conversation')}{others}"
    )


def subagents_in(store: Store, session: str) -> list[str]:
    """Return the names of the subagents of a session in the store: imported ones (`SESSION#AGENT`), and those that a
    run has called (`SESSION/TOOL 7.0`). A user's conversation may be called so too: only the entries of a subagent name
    its tool as the agent."""
    called = re.compile(rf"{re.escape(session)}/(?:.+/)?(.+) \d+\.\d+", re.DOTALL)
    return [
        name
        for name in store.names(session)
        if name.startswith(f"{session}#") or ((match := called.fullmatch(name)) and _is_of_agent(store, name, match[1]))
    ]


def _is_of_agent(store: Store, name: str, agent: str) -> bool:
    try:
        return any(entry.meta is not None and entry.meta.agent_id == agent for entry in store.open(name).read(0, 4))
    except StoreDamaged:
        return False


def short_id(name: str) -> str:
    """Return an id as an error names it: one of more than 80 characters without its middle, so that its ends can be
    typed."""
    return name if len(name) <= MAX_LISTED_CHARACTERS else f"{name[:40]}…{name[-30:]}"


def check_part(part: str) -> None:
    """Raise InvalidSetting if `part`, which should be a part of a conversation's id, is empty or blank."""
    if not part.strip():
        raise InvalidSetting(f"the id of a conversation must not be empty: `{program_name()} conversations` lists them")
