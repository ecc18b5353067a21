"""What is promised of the cached share: for long conversations of the families named, and for no others."""

from __future__ import annotations

from collections import Counter

import pytest
from cached import BUDGET, FAMILIES, LONG, POLICY, add_window, broken, summary


def windows(*, short: int, long: int) -> Counter[str]:
    """A short conversation and a long one, each with a window of 100 tokens, of which so many are cached."""
    seen: Counter[str] = Counter()
    add_window(seen, range(LONG), 100, short)
    add_window(seen, range(LONG + 1), 100, long)
    return seen


def test_only_long_conversations_count() -> None:
    assert broken(FAMILIES[0], BUDGET, POLICY, windows(short=0, long=90)) == []
    assert broken(FAMILIES[0], BUDGET, POLICY, windows(short=100, long=89)) == [
        "claude_code budget 16000: 89.00% cached in long conversations, 90% are promised"
    ]


@pytest.mark.parametrize(
    ("family", "budget", "policy"),
    [("aider", BUDGET, POLICY), (FAMILIES[0], 4_000, POLICY), (FAMILIES[0], BUDGET, "sliding")],
)
def test_nothing_else_is_promised(family: str, budget: int, policy: str) -> None:
    assert broken(family, budget, policy, windows(short=0, long=0)) == []


def test_the_summary_names_shares_where_there_are_any() -> None:
    seen = windows(short=20, long=90)
    assert summary(seen) == "cached  55.0% long  90.0%"
    assert summary(Counter()) == "cached      – long      –"
    assert broken(FAMILIES[0], BUDGET, POLICY, Counter()), "nothing was measured"
