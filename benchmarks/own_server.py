"""A PostgreSQL server for the benchmarks that are given none."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def server_url(schema: str) -> str:
    """Start a server of our own, which ends with this process, and return the URL of a schema of it."""
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
    from postgres_server import TestServer  # noqa: PLC0415

    return TestServer(f"s{os.getpid()}").url(schema)
