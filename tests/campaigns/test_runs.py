"""A sample of the random runs; `make runs` makes 1,000 in each dialect."""

from __future__ import annotations

import pytest
from runs import DIALECTS, judge


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_random_run_is_valid_and_keeps_every_fact(dialect: str) -> None:
    outcomes = [judge(dialect, seed) for seed in range(20)]
    assert [problem for _, problems in outcomes for problem in problems] == []
    assert sum(end == "answered" for end, _ in outcomes) > 6
