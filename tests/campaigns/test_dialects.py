"""A sample of the sweep over dialects; all of it is `make dialects`."""

from __future__ import annotations

from pathlib import Path

import pytest
from dialects import DIALECTS, judge

from families import FAMILIES


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_window_is_right_in_every_dialect(data: Path, family: str, dialect: str) -> None:
    path = data / "conversations" / f"{family}.jsonl.gz"
    calls = 0
    for budget in (4_000, 16_000):
        _, _, _, seen, wrong = judge(str(path), dialect, budget, every=40)
        assert wrong == []
        calls += seen["calls"]
    assert calls > 0
