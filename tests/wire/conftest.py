"""Campaigns run over everything that was recorded, only when asked for: with `-m campaign`, or TRANSOM_CAMPAIGN set."""

from __future__ import annotations

import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "campaign: over everything that was recorded, so only when asked for")


@pytest.fixture
def campaign(request: pytest.FixtureRequest) -> None:
    """Skips a campaign that was not asked for."""
    if "campaign" not in request.config.option.markexpr and not os.environ.get("TRANSOM_CAMPAIGN"):
        pytest.skip("a campaign: run with -m campaign, or set TRANSOM_CAMPAIGN=1")
