"""A sample of the generated histories; all of them are `make histories`."""

from __future__ import annotations

import pytest
import turnsafe
from histories import judge
from random_histories import HISTORIES


@pytest.mark.parametrize("dialect", HISTORIES)
def test_every_generated_history_fits_and_is_valid(dialect: str) -> None:
    outcomes = [judge(dialect, seed) for seed in range(20)]
    assert [problem for _, problems in outcomes for problem in problems] == []
    assert sum(came == "fitted" for came, _ in outcomes) > 17


@pytest.mark.parametrize("dialect", HISTORIES)
def test_the_generator_makes_valid_ones_and_damaged_ones(dialect: str) -> None:
    made = [(seed, HISTORIES[dialect](seed, bool(seed % 2))[1]) for seed in range(100)]
    broken = [bool(seed % 2) for seed, messages in made if not turnsafe.validate(messages, provider=dialect).ok]
    assert broken.count(False) == 0
    assert broken.count(True) > 40
