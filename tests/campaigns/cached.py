"""The share of what is sent that a prompt cache holds, and the least of it that is promised.

A call's cached tokens are those its window shares with the beginning of the one before; refused calls send nothing. The
promise is about the long conversations of three families, under the policy `default` at 16,000 tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

LONG = 150
"""A conversation with more messages than this is long."""

PROMISED = 0.9
FAMILIES = ("claude_code", "claude_code2", "codex")
BUDGET = 16_000
POLICY = "default"


def add_window(seen: Counter[str], messages: Sequence[Any], tokens: int, kept: int) -> None:
    """Add one window of a conversation to the sums of its family."""
    seen.update(tokens=tokens, kept=kept)
    if len(messages) > LONG:
        seen.update(long_tokens=tokens, long_kept=kept)


def share(seen: Counter[str]) -> float | None:
    """From 0 to 1, over every call; None if nothing was sent."""
    return seen["kept"] / seen["tokens"] if seen["tokens"] else None


def long_share(seen: Counter[str]) -> float | None:
    """From 0 to 1, over the calls of long conversations; None if there were none."""
    return seen["long_kept"] / seen["long_tokens"] if seen["long_tokens"] else None


def summary(seen: Counter[str]) -> str:
    """Both shares, for a line of the report."""
    return f"cached {_percent(share(seen))} long {_percent(long_share(seen))}"


def _percent(part: float | None) -> str:
    return "     –" if part is None else f"{part:6.1%}"


def broken(family: str, budget: int, policy: str, seen: Counter[str]) -> list[str]:
    """A line if a whole family was sent with less cached than is promised, or not sent; what nothing is promised for
    has none."""
    found = long_share(seen) or 0.0
    if (budget, policy) != (BUDGET, POLICY) or family not in FAMILIES or found >= PROMISED:
        return []
    return [f"{family} budget {budget}: {found:.2%} cached in long conversations, {PROMISED:.0%} are promised"]
