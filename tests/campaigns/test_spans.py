"""A sample of the conversations with tools of the provider that span turns; all of them are `make spans`."""

from __future__ import annotations

import pytest
from spans import MODELS, judge


@pytest.mark.parametrize("dialect", MODELS)
def test_every_request_with_tools_of_the_provider_is_valid(dialect: str) -> None:
    outcomes = [judge(dialect, seed) for seed in range(20)]
    assert [problem for _, problems in outcomes for problem in problems] == []
    assert sum(seen["requests"] for seen, _ in outcomes) > 100
