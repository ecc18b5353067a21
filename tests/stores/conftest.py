"""The places a store test runs in: `place` is each kind, `disk` each that outlives the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import Place

from transom.stores import JsonlStore
from transom.testing import user_entries


def _place(kind: str, folder: Path) -> Iterator[Place]:
    path = folder.as_posix()
    urls = {"memory": "memory:", "sqlite": f"sqlite:///{path}/agent.db", "jsonl": f"jsonl:///{path}/logs"}
    place = Place(urls[kind])
    yield place
    place.close()


@pytest.fixture(params=["memory", "sqlite", "jsonl"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from _place(request.param, tmp_path)


@pytest.fixture(params=["sqlite", "jsonl"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    yield from _place(request.param, tmp_path)


@pytest.fixture
def lines(tmp_path: Path) -> tuple[Path, list[bytes]]:
    """The file of a log of 3 + 1 + 2 entries, and its lines."""
    log = JsonlStore(str(tmp_path)).open("trip")
    for start, count in ((0, 3), (3, 1), (4, 2)):
        log.append(user_entries(start, count), start)
    (path,) = tmp_path.glob("*.jsonl")
    return path, path.read_bytes().splitlines(keepends=True)
