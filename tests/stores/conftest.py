"""The places a store test runs in: `place` is each kind, `disk` each that outlives the process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from places import Place


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
