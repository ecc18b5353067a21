"""Clocks: time is always passed in, as a callable that gives seconds since 1970 (UTC)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], float]
"""Gives the time now, in seconds since 1970 (UTC)."""

system_clock: Clock = time.time
"""The clock of the machine."""


def utc(at: float) -> datetime:
    """The date, in UTC, of a time in seconds since 1970. Nothing is raised.

    The last date there is for a time beyond the year 9999 (a clock that gives milliseconds), the first one for a time
    before the year 1, and 1970 for NaN.
    """
    try:
        return datetime.fromtimestamp(at, UTC)
    except (ValueError, OverflowError, OSError):
        end = datetime.max if at > 0 else datetime.min if at < 0 else datetime(1970, 1, 1)  # noqa: DTZ901, DTZ001 - below
        return end.replace(tzinfo=UTC)
