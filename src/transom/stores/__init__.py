"""Where logs are kept: `open_store("sqlite:///agent.db")`. What a store must do stands in `base`."""

from __future__ import annotations

from transom.errors import InvalidSetting
from transom.stores.base import Store, StoredLog
from transom.stores.jsonl import JsonlStore
from transom.stores.memory import MemoryStore
from transom.stores.opening import open_view
from transom.stores.sqlite import SqliteStore

__all__ = ["JsonlStore", "MemoryStore", "SqliteStore", "Store", "StoredLog", "open_store", "open_view"]

_FORMS = "memory:, sqlite:///path, jsonl:///folder (four slashes for an absolute path)"


def open_store(url: str) -> Store:
    """The store at a URL; SQLite takes `?synchronous=normal`: faster, and safe but for a loss of power.

    Raises InvalidSetting for a URL or a place that makes no sense, StoreDamaged for a file that is not a store.
    """
    if url == "memory:":
        return MemoryStore()
    scheme, found, rest = url.partition(":///")
    path, _, query = rest.partition("?")
    if not found or scheme not in {"sqlite", "jsonl"} or not path or "\0" in path:
        raise InvalidSetting(f"store {url!r}: must be one of {_FORMS}")
    if scheme == "sqlite" and query in {"", "synchronous=full", "synchronous=normal"}:
        return SqliteStore(path, synchronous=query.removeprefix("synchronous=") or "full")
    if query:
        raise InvalidSetting(f"store {url!r}: unknown option {query!r}; sqlite takes synchronous=full or normal")
    return JsonlStore(path)
