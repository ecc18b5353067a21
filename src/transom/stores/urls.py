"""Opens the store that a URL or a path names: `open_store("agent.db")`, `open_store("jsonl:///logs")`."""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple, cast

from transom.errors import InvalidSetting, quote
from transom.extras import install_command
from transom.stores.base import Store
from transom.stores.files import expanded
from transom.stores.in_memory import MemoryStore
from transom.stores.jsonl import JsonlStore
from transom.stores.postgres_url import is_postgres_url, parse_postgres_url, without_password
from transom.stores.sqlite import SqliteStore

_FORMS = (
    "memory:, sqlite:///path, jsonl:///folder (four slashes for an absolute path), postgresql://user@host/database, or "
    "a path: agent.db, logs/"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters at least: C:\agent.db is a path
_MAX_CHARACTERS, _MAX_SHOWN = 4_096, 200
_METHODS = ("open", "names", "forget", "close")


class Location(NamedTuple):
    """What a URL or a path of a store names. `path`: of the file or folder, with `~` replaced; empty for memory and for
    a server. `synchronous`: of a SQLite file, "full" or "normal"."""

    kind: Literal["memory", "sqlite", "jsonl", "postgresql"]
    path: str = ""
    synchronous: str = "full"


def open_store(place: str | os.PathLike[str] | Store) -> Store:
    """Open the store that a URL or a path names. A store object is returned as it is; its owner closes it.

    - `memory:`: a new store in memory.
    - `sqlite:///path`: a SQLite file. `?synchronous=normal` behind it is faster, and safe except for a loss of power.
      Stores on the same file with the same option share one connection.
    - `jsonl:///folder`: a JSON Lines store.
    - `postgresql://user@host/database`: a server; needs the extra `transom[postgres]`. Stores with the same URL share
      their connections.
    - a path: a JSON Lines store if it ends with a slash or is a folder, else a SQLite file.

    `~` at the beginning of a path, also in a URL, is the home folder. A store that does not exist is created; only the
    folder in which a SQLite file lies, and the database of a server, must exist.

    Raises InvalidSetting for a place of another form or that cannot be opened, and for an object that is not a store;
    StoreDamaged for a file that is not a store or is newer; StoreUnavailable for a server that cannot be reached.
    """
    if not isinstance(place, str | os.PathLike):
        if not isinstance(place, type) and all(callable(getattr(place, method, None)) for method in _METHODS):
            return place
        raise InvalidSetting(f"store: {_shown(place)} is neither a URL, nor a path, nor a store")
    location = parse_location(place)
    if location.kind == "postgresql":
        with _postgres_packages(str(place)):
            from transom.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra
        return PostgresStore(str(place))
    if location.kind == "memory":
        return MemoryStore()
    path = Path(location.path)
    with suppress(OSError):  # a name that is too long, or a folder that may not be read: opening says so
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InvalidSetting(f"store {_shown(str(place))}: this is no file and no folder, but a device or the like")
    if location.kind == "jsonl":
        return JsonlStore(location.path)
    return SqliteStore(location.path, synchronous=location.synchronous)


@contextmanager
def store_in_use(place: str | os.PathLike[str] | Store) -> Generator[Store]:
    """Yield the store that a URL or a path names, and close it when the block ends. A store object is yielded as it is,
    and stays open. Raises as `open_store` does."""
    store = open_store(place)
    try:
        yield store
    finally:
        if store is not place:
            store.close()


def parse_location(place: str | os.PathLike[str]) -> Location:
    """Find out which store a URL or a path names, without opening it. A path that ends with a slash or is a folder
    names a JSON Lines store, any other path a SQLite file. A path object is never taken for a URL.

    Raises InvalidSetting if it is empty, longer than 4,096 characters, not Unicode, a URL of another form or with an
    unknown option, or a path that was probably meant otherwise: "memory", ":memory:" or a file "….jsonl".
    """
    text = cast("object", os.fspath(place))
    if not isinstance(text, str) or not text or "\0" in text or len(text) > _MAX_CHARACTERS or not _is_unicode(text):
        raise InvalidSetting(f"store {_shown(text)}: must be one of {_FORMS}")
    is_url = isinstance(place, str) and (_SCHEME.match(text) is not None or is_postgres_url(text))
    return _parse_url(text) if is_url else _parse_path(expanded(text))


def _parse_url(url: str) -> Location:
    if url == "memory:":
        return Location("memory")
    if is_postgres_url(url):
        parse_postgres_url(url)
        return Location("postgresql")
    scheme, found, rest = url.partition(":///")
    path, _, query = rest.partition("?")
    if not found or scheme not in {"sqlite", "jsonl"} or not path:
        raise InvalidSetting(f"store {_shown(url)}: must be one of {_FORMS}")
    path = expanded(path)
    if scheme == "jsonl" and not query:
        return Location("jsonl", path)
    if scheme == "sqlite" and query in {"", "synchronous=full", "synchronous=normal"}:
        return Location("sqlite", path, query.removeprefix("synchronous=") or "full")
    only = "sqlite takes synchronous=full or normal"
    raise InvalidSetting(f"store {_shown(url)}: unknown option {_shown(query)}; {only}")


def has_postgres_tables(url: str) -> bool:
    """Whether the schema that the URL of a PostgreSQL store names has our tables. Also true if the server cannot be
    asked: opening the store then raises the error.

    Raises InvalidSetting if the URL is no valid one, or if the extra `postgres` is not installed.
    """
    with _postgres_packages(url):
        from transom.stores.postgres_schema import is_there  # noqa: PLC0415 - an extra
    return is_there(url)


@contextmanager
def _postgres_packages(url: str) -> Generator[None]:
    """Around the imports of the extra `postgres`: if they fail, InvalidSetting names the packages and the command that
    installs them."""
    try:
        yield
    except ImportError as problem:
        needed = f"needs the packages psycopg and psycopg_pool: {install_command('postgres')}"
        raise InvalidSetting(f"store {without_password(url)!r}: {needed}") from problem


def _parse_path(path: str) -> Location:
    if path.endswith(("/", os.sep)) or _is_folder(path):
        return Location("jsonl", path)
    if path in {"memory", ":memory:"}:
        raise InvalidSetting(f"store {path!r}: a store in memory is 'memory:'; a file of that name is './{path}'")
    if path.endswith(".jsonl"):
        raise InvalidSetting(f"store {_shown(path)}: a JSON Lines store is a folder, so end its path with a slash")
    return Location("sqlite", path)


def _is_unicode(text: str) -> bool:
    """False for a text with lone surrogates, of which no file name can be made."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_folder(path: str) -> bool:
    with suppress(OSError):  # a name that is too long
        return Path(path).is_dir()
    return False


def _shown(value: object) -> str:
    return quote(without_password(value) if isinstance(value, str) else value, _MAX_SHOWN)
