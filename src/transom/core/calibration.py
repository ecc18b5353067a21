"""Calibration: how many of the provider's tokens there are to one of ours."""

from __future__ import annotations

from transom.core.message import Usage


def learn(known: float, sent: int, usage: Usage) -> float:
    """The ratio after one more reply. `sent`: our count of the prompt."""
    if not usage.prompt or not sent:
        return known
    seen = usage.prompt / sent
    return known + 0.2 * (min(2.0, max(0.5, seen)) - known)
