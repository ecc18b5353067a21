"""A sample of the sweep over dialects; all of it is `make dialects`."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialects import DIALECTS, judge

from families import FAMILIES
from transom.policies import POLICIES

MOST = 60
"""Messages of each conversation: long ones cost minutes, and `make dialects` judges them whole."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_window_is_right_in_every_dialect(data: Path, family: str, dialect: str) -> None:
    turn = FAMILIES.index(family) * len(DIALECTS) + DIALECTS.index(dialect)
    policies = [name for name in POLICIES if name != "passthrough"]  # which refuses what does not fit
    budget, policy = (4_000, "default") if turn % 2 else (16_000, policies[turn // 2 % len(policies)])
    path = str(data / "conversations" / f"{family}.jsonl.gz")
    _, _, _, seen, wrong = judge(path, dialect, budget, policy, every=160, most=MOST)
    assert wrong == []
    assert seen["calls"] > 0
