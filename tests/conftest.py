"""Hypothesis profiles, the folder of real conversations, and a database server.

`postgres` is a real PostgreSQL server, started when a test asks for it.

HYPOTHESIS_PROFILE=campaign runs many more examples, each time others; the default is modest and always the same.
TRANSOM_DATA names the folder of real conversations (default: ../shared/data beside the repository).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from summary_requests import FOUND, checked
from transom.summaries import LlmSummarizer

if TYPE_CHECKING:
    from postgres_server import TestServer

_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
_PHASES = [phase for phase in Phase if phase is not Phase.explain]  # minutes for a comment beside the example
settings.register_profile(
    "default", max_examples=40, deadline=None, derandomize=True, suppress_health_check=_SLOW, phases=_PHASES
)
settings.register_profile("campaign", max_examples=5_000, deadline=None, suppress_health_check=_SLOW, phases=_PHASES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


if os.environ.pop("PYTHONDONTWRITEBYTECODE", None):
    # Tests start some hundreds of processes. Each would compile all of Transom and its dependencies again: a second.
    # Each worker of pytest-xdist would compile all test files with their assertions: 17 seconds.
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".cache" / "bytecode")
    sys.dont_write_bytecode = False

os.environ["PYTEST_ADDOPTS"] = "-p no:langsmith_plugin"  # as here, in the tests that run pytest on the code of a page

# Each client of an SDK reads all roots of the web for 20 ms or more, and tests make some thousand; they connect to the
# loopback only, without TLS. So one root is enough.
os.environ.setdefault("SSL_CERT_FILE", str(Path(__file__).parent / "one_root.pem"))

LlmSummarizer.steps = checked(LlmSummarizer.steps)

gc.set_threshold(50_000, 20, 20)  # millions of objects live to the end: modules, and the tests themselves


def pytest_collection_finish() -> None:
    """Keep the garbage collector away from what lives to the end: looking through it again and again took an eighth of
    the time of all tests."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _look_at_summary_requests() -> Iterator[None]:
    """Every request for a summary, in any test, holds what it must."""
    FOUND.clear()
    yield
    assert FOUND == []


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real conversations; without it the test is skipped."""
    folder = Path(os.environ.get("TRANSOM_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real conversations at {folder}: set TRANSOM_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def postgres() -> TestServer:
    """A PostgreSQL server, which all workers of this run share."""
    from postgres_server import TestServer  # noqa: PLC0415 - psycopg, which most tests do not need
    from transom.stores import postgres_database  # noqa: PLC0415

    postgres_database.RETRY_SECONDS_OPENING = 30.0  # some tests restart the server that others use meanwhile
    server = TestServer(os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}")[:12])
    with server.connect() as db:
        db.execute("ALTER SYSTEM SET fsync = off")  # processes are killed in tests, the machine is not
        db.execute("SELECT pg_reload_conf()")
    return server
