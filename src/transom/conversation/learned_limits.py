"""The tokens that models take, learned from requests that they refused as too long, for several conversations.

The log of a conversation has what its own requests taught (`View.learned_limits`). Forks, sub-agents and the other
conversations of a client would each be refused once: their logs do not have the failure.
"""

from __future__ import annotations

from threading import Lock


class LearnedLimits:
    """The limits by the name of the model. A limit only falls. Any thread may use it."""

    def __init__(self) -> None:
        self._limits: dict[str, int] = {}
        self._lock = Lock()

    def learn(self, model: str, limit: int) -> None:
        """Take in that this model refused more tokens than these."""
        with self._lock:
            self._limits[model] = min(limit, self._limits.get(model, limit))

    def of(self, model: str) -> int | None:
        """The limit of this model; None if nothing was learned."""
        return self._limits.get(model)
