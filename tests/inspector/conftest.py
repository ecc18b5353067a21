"""A store, and a client of the inspector's server of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from inspected import ORIGIN, PORT
from starlette.testclient import TestClient

from transom.inspector.server import Inspector
from transom.stores import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store in a file."""
    return open_store(f"sqlite:///{tmp_path}/store.db")


@pytest.fixture
def enter(store: Store) -> Callable[..., TestClient]:
    """`enter()` gives a client that has used the one-time link of a server of the store."""

    def enter(**settings: bool) -> TestClient:
        app = Inspector(store, place="store.db", **settings).app(port=PORT, token="secret")
        client = TestClient(app, base_url=ORIGIN, headers={"Origin": ORIGIN})
        assert client.get("/?token=secret").status_code == 200
        return client

    return enter
