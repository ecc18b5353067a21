"""Our own stores under the suite that `transom.testing` gives to authors of others."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from postgres_server import TestServer, schema_for
from transom.core.entry import Body
from transom.stores import JsonlStore, MemoryStore, SqliteStore
from transom.stores.postgres import PostgresStore
from transom.testing import EVERY_KIND, StoreConformance


def test_the_samples_hold_every_kind() -> None:
    assert {type(body) for body in EVERY_KIND} == set(Body.__args__)


class TestMemoryStore(StoreConformance):
    persistent = False

    def make(self, tmp_path: Path) -> MemoryStore:
        return MemoryStore()


class TestJsonlStore(StoreConformance):
    keeps_snapshots = False

    def make(self, tmp_path: Path) -> JsonlStore:
        return JsonlStore(tmp_path / "logs")


class TestSqliteStore(StoreConformance):
    """All stores of a test share one connection."""

    def make(self, tmp_path: Path) -> SqliteStore:
        return SqliteStore(tmp_path / "agent.db")


class TestSqliteStoreWithSeveralConnections(StoreConformance):
    """Stores with other settings have other connections, as other processes have."""

    turns = itertools.cycle(["full", "normal"])

    def make(self, tmp_path: Path) -> SqliteStore:
        return SqliteStore(tmp_path / "agent.db", synchronous=next(self.turns))


class TestPostgresStore(StoreConformance):
    """All stores of a test share a pool of connections."""

    server: TestServer

    @pytest.fixture(autouse=True)
    def _server(self, postgres: TestServer) -> None:
        self.server = postgres

    def make(self, tmp_path: Path) -> PostgresStore:
        return PostgresStore(self.server.url(schema_for(str(tmp_path))))
