"""Which store a URL or a path names: `open_store("agent.db")`, `open_store("jsonl:///logs")`."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple, cast

from transom.errors import InvalidSetting, quote
from transom.stores.base import Store
from transom.stores.jsonl import JsonlStore
from transom.stores.memory import MemoryStore
from transom.stores.postgres_url import is_postgres_url, parse_postgres_url, without_password
from transom.stores.sqlite import SqliteStore

_FORMS = (
    "memory:, sqlite:///path, jsonl:///folder (four slashes for an absolute path), postgresql://user@host/database, or "
    "a path: agent.db, logs/"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # two letters at least: C:\agent.db is a path
_LONGEST, _SHOWN = 4_096, 200
_METHODS = ("open", "names", "forget", "close")


class Location(NamedTuple):
    """What a URL or a path names. `path` is empty for memory and for a server."""

    kind: Literal["memory", "sqlite", "jsonl", "postgresql"]
    path: str = ""
    synchronous: str = "full"


def open_store(place: str | os.PathLike[str] | Store) -> Store:
    """The store at a URL or a path; a store object comes back as it is, and is its owner's to close.

    A path that ends with a slash or is a folder is a JSON Lines store, every other path is a SQLite file. SQLite takes
    `?synchronous=normal`: faster, and safe except for a loss of power. SQLite stores on the same file share one
    connection; each `memory:` is a new store.

    "postgresql://user@host/database" is a server, and needs the extra `transom[postgres]`. Stores on the same URL share
    their connections.

    Raises InvalidSetting for a place that makes no sense, StoreDamaged for a file that is not a store, StoreUnavailable
    for a server that cannot be reached.
    """
    if not isinstance(place, str | os.PathLike):
        if not isinstance(place, type) and all(callable(getattr(place, method, None)) for method in _METHODS):
            return place
        raise InvalidSetting(f"store: {_shown(place)} is neither a URL, nor a path, nor a store")
    location = parse_location(place)
    if location.kind == "postgresql":
        return _postgres_store(str(place))
    if location.kind == "memory":
        return MemoryStore()
    if location.kind == "jsonl":
        return JsonlStore(location.path)
    return SqliteStore(location.path, synchronous=location.synchronous)


def parse_location(place: str | os.PathLike[str]) -> Location:
    """What a URL or a path names; nothing is opened. Raises InvalidSetting."""
    text = cast("object", os.fspath(place))
    if not isinstance(text, str) or not text or "\0" in text or len(text) > _LONGEST or not _is_unicode(text):
        raise InvalidSetting(f"store {_shown(text)}: must be one of {_FORMS}")
    is_url = isinstance(place, str) and (_SCHEME.match(text) is not None or is_postgres_url(text))
    return _parse_url(text) if is_url else _parse_path(text)


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
    if scheme == "jsonl" and not query:
        return Location("jsonl", path)
    if scheme == "sqlite" and query in {"", "synchronous=full", "synchronous=normal"}:
        return Location("sqlite", path, query.removeprefix("synchronous=") or "full")
    only = "sqlite takes synchronous=full or normal"
    raise InvalidSetting(f"store {_shown(url)}: unknown option {_shown(query)}; {only}")


def _postgres_store(url: str) -> Store:
    try:
        from transom.stores.postgres import PostgresStore  # noqa: PLC0415 - an extra
    except ImportError as problem:
        needed = "needs the packages psycopg and psycopg_pool: pip install 'transom[postgres]'"
        raise InvalidSetting(f"store {without_password(url)!r}: {needed}") from problem
    return PostgresStore(url)


def _parse_path(path: str) -> Location:
    if path.endswith(("/", os.sep)) or _is_folder(path):
        return Location("jsonl", path)
    if path in {"memory", ":memory:"}:
        raise InvalidSetting(f"store {path!r}: a store in memory is 'memory:'; a file of that name is './{path}'")
    if path.endswith(".jsonl"):
        raise InvalidSetting(f"store {_shown(path)}: a JSON Lines store is a folder, so end its path with a slash")
    return Location("sqlite", path)


def _is_unicode(text: str) -> bool:
    """Without lone surrogates, of which no file name can be made."""
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
    return quote(without_password(value) if isinstance(value, str) else value, _SHOWN)
