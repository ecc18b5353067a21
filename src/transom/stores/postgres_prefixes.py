"""The index of message prefixes on a PostgreSQL server: see `prefix_index`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import LiteralString

from transom.stores.postgres_database import PostgresDatabase
from transom.stores.prefix_index import KnownPrefix

_FIND: LiteralString = "SELECT key, name, length FROM {s}.prefixes WHERE key = ANY(%s)"
_ADD: LiteralString = """INSERT INTO {s}.prefixes SELECT * FROM unnest(%s::bytea[], %s::bytea[], %s::bigint[])
    ON CONFLICT (key) DO UPDATE SET name = excluded.name, length = excluded.length"""
FORGET_PREFIXES: LiteralString = "DELETE FROM {s}.prefixes WHERE name = ANY(%s)"


class PostgresPrefixIndex:
    """An index in a table of the store's schema, for all processes that use the store."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def find(self, keys: Sequence[bytes]) -> dict[bytes, KnownPrefix]:
        rows = self._database.fetch(_FIND, list(keys)) if keys else []
        return {bytes(key): KnownPrefix(_name(name), length) for key, name, length in rows}

    def add(self, places: Iterable[tuple[bytes, KnownPrefix]]) -> None:
        known = dict(places)  # one row a key: a statement may not change a row twice
        names = [place.name.encode("utf-8", "surrogatepass") for place in known.values()]
        self._database.fetch(_ADD, list(known), names, [place.length for place in known.values()])

    def forget(self, names: Iterable[str]) -> None:
        self._database.fetch(FORGET_PREFIXES, [name.encode("utf-8", "surrogatepass") for name in names])


def _name(stored: bytes) -> str:
    return bytes(stored).decode("utf-8", "surrogatepass")
