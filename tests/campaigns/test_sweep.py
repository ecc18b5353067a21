"""A sample of the sweep; all of it is `make sweep`."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep import judge

FAMILIES = (
    "aider",
    "api_cassettes",
    "claude_code",
    "claude_code2",
    "codex",
    "deerflow",
    "goodai_ltm",
    "locomo",
    "memorybank",
    "pi_mono",
    "swe_agent",
    "tau2",
    "tau2_es",
    "taubench",
    "toolbench",
    "webdancer",
    "who_when",
)


@pytest.mark.parametrize("budget", [4_000, 16_000, 64_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_window_is_valid_and_within_its_budget(data: Path, family: str, budget: int) -> None:
    path = data / "conversations" / f"{family}.jsonl.gz"
    _, _, seen, wrong, _ = judge(str(path), budget, "default", every=25)
    assert wrong == []
    assert seen["calls"] > 0
