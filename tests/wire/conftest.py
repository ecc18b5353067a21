"""Recorded conversations and exchanges: they are never part of the repository, `TRANSOM_DATA` says where they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "campaign: over everything that was recorded; minutes, so only when asked for")


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The folder with the recordings."""
    here = Path(__file__).parents[2]
    folder = Path(os.environ.get("TRANSOM_DATA") or here.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("no recordings: set TRANSOM_DATA to their folder")
    return folder


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> None:
    """Only with `-m campaign`, or with TRANSOM_CAMPAIGN set."""
    if "campaign" not in request.config.option.markexpr and not os.environ.get("TRANSOM_CAMPAIGN"):
        pytest.skip("a campaign: run with -m campaign, or set TRANSOM_CAMPAIGN=1")
