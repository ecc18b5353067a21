"""A sample of the sweep over dialects; all of it is `make dialects`."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialects import DIALECTS, judge

from families import FAMILIES
from transom.policies import POLICIES

MOST = 100
"""Messages of each conversation: long ones cost minutes, and `make dialects` judges them whole."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_window_is_right_in_every_dialect(data: Path, family: str, dialect: str) -> None:
    path = data / "conversations" / f"{family}.jsonl.gz"
    calls = 0
    turn = FAMILIES.index(family) * len(DIALECTS) + DIALECTS.index(dialect)
    policies = [name for name in POLICIES if name != "passthrough"]  # which refuses what does not fit
    for budget, policy in ((4_000, "default"), (16_000, policies[turn % len(policies)])):
        _, _, _, seen, wrong = judge(str(path), dialect, budget, policy, every=80, most=MOST)
        assert wrong == []
        calls += seen["calls"]
    assert calls > 0
