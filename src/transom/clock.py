"""Time is passed in: a clock is a callable that gives seconds since the epoch, UTC."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]

system_clock: Clock = time.time
