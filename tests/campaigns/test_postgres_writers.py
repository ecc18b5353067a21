"""A sample of the writers that are killed; `make writers` is a minute with 16 of them."""

from __future__ import annotations

from pathlib import Path

from postgres_writers import campaign

from postgres_server import TestServer, schema_for


def test_what_was_acknowledged_is_there_once(postgres: TestServer, tmp_path: Path) -> None:
    problems, figures = campaign(postgres, schema_for(str(tmp_path)), seconds=4, writers=4, conversations=2, restarts=1)
    assert problems == []
    assert figures["acknowledged"] > 0
    assert figures["requests"] > 0
