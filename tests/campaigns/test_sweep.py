"""A sample of the sweep; all of it is `make sweep`."""

from __future__ import annotations

from pathlib import Path

import pytest
from sweep import judge

from families import FAMILIES

MOST = 90
"""Messages of each conversation: long ones cost minutes, and `make sweep` judges them whole."""


@pytest.mark.parametrize("budget", [4_000, 16_000, 64_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_window_is_valid_and_within_its_budget(data: Path, family: str, budget: int) -> None:
    path = data / "conversations" / f"{family}.jsonl.gz"
    every = 100 if budget < 64_000 else 200  # a large window is judged for longest, and is compacted least
    _, _, seen, wrong, _ = judge(str(path), budget, "default", every=every, most=MOST)
    assert wrong == []
    assert seen["calls"] > 0
