"""How full the window of a conversation is, and what its requests took."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from transom.core.budget import Budget, pressure
from transom.core.policy import Policy, compacts_next, policy_limit
from transom.core.tokens import ZERO
from transom.core.usage import TotalUsage
from transom.core.view import View

WARNING_SHARE = 0.6
"""How full the fullest limit is when `usage.status` becomes "warning"."""


class WindowUsage(Struct, frozen=True, kw_only=True):
    """How full the window is before the next plan: `used` tokens, calibrated by what providers have reported, and
    `percent` of the budget's tokens, which may be above 100.

    `status` is about the fullest limit, messages, bytes and images included, and the policy's own limits where they are
    lower. "compacting": the next request compacts. "warning": it does not, and the fullest limit is at least 60% full.
    "normal": in all other cases.
    """

    used: int
    budget: int
    """The usable tokens of a window."""
    percent: float
    remaining: int
    """`budget` less `used`, at least 0."""
    status: Literal["normal", "warning", "compacting"]


class ConversationUsage(TotalUsage, frozen=True, kw_only=True):
    """What the requests of a conversation took (all fields of `TotalUsage`), and how full its window is."""

    percent: float = 0.0
    """How full the window is before the next plan, in percent of the budget; `window_usage` says more."""


def window_usage(view: View, limits: Budget, policy: Policy) -> WindowUsage:
    """How full the window of a view is before the next plan, within these limits and this policy's own."""
    used = view.tokens
    if compacts_next(view, limits, policy):
        status = "compacting"
    else:
        fullest = pressure(view.total, ZERO, policy_limit(limits, policy, view.calibration))
        status = "warning" if fullest >= WARNING_SHARE else "normal"
    return WindowUsage(
        used=used,
        budget=limits.usable,
        percent=round(100 * used / limits.usable, 1),
        remaining=max(0, limits.usable - used),
        status=status,
    )
