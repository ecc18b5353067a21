"""The places a store test runs in: `place` is each kind, `durable` each that outlives the process, `disk` those of the
durable ones that keep everything in files of this test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import Place

from postgres_server import schema_for
from transom.stores import JsonlStore
from transom.testing import user_entries


def _place(request: pytest.FixtureRequest) -> Iterator[Place]:
    folder = request.getfixturevalue("tmp_path")
    path = folder.as_posix()
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").url(schema_for(path))
    else:
        url = {"memory": "memory:", "sqlite": f"sqlite:///{path}/agent.db", "jsonl": f"jsonl:///{path}/logs"}[
            request.param
        ]
    place = Place(url)
    yield place
    place.close()


@pytest.fixture(params=["memory", "sqlite", "jsonl", "postgresql"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _place(request)


@pytest.fixture(params=["sqlite", "jsonl", "postgresql"])
def durable(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _place(request)


@pytest.fixture(params=["sqlite", "jsonl"])
def disk(request: pytest.FixtureRequest) -> Iterator[Place]:
    yield from _place(request)


@pytest.fixture
def lines(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """The file of a log of 3 + 1 + 2 entries, and its lines."""
    log = JsonlStore(str(tmp_path)).open("trip")
    for start, count in ((0, 3), (3, 1), (4, 2)):
        log.append(user_entries(start, count), start)
    (path,) = tmp_path.glob("*.jsonl")
    return path, path.read_bytes().splitlines(keepends=True)
