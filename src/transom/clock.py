"""Clocks: time is always passed in, as a callable that gives seconds since 1970 (UTC)."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Gives the time now, in seconds since 1970 (UTC)."""

system_clock: Clock = time.time
"""The clock of the machine."""
