"""A sample of the streamed replies; `make streams` makes 10,000 in each dialect."""

from __future__ import annotations

import pytest
from streams import STREAMS, judge


@pytest.mark.parametrize("dialect", STREAMS)
def test_a_reply_in_any_pieces_is_the_reply_that_came_whole(dialect: str) -> None:
    assert [problem for seed in range(200) if (problem := judge(dialect, seed))] == []
