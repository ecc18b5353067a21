"""The tokens that models take, learned from requests that they refused as too long, for several conversations.

The log of a conversation has what its own requests taught (`View.learned_limits`). Forks, sub-agents and the other
conversations of a client would each be refused once: their logs do not have the failure.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple


class LearnedLimit(NamedTuple):
    """What the refusals of one model have taught. The limit is in the provider's tokens, and a conversation that was
    never refused does not know yet how many of them one of ours is.

    `ratio`: the provider's tokens for one of ours, in the refused request.
    """

    tokens: int
    ratio: float


class LearnedLimits:
    """The limits by the name of the model. A limit only falls, and its ratio only rises. Any thread may use it."""

    def __init__(self) -> None:
        self._limits: dict[str, LearnedLimit] = {}
        self._lock = Lock()

    def learn(self, model: str, tokens: int, ratio: float) -> None:
        """Take in that this model refused more tokens than these."""
        with self._lock:
            known = self._limits.get(model, LearnedLimit(tokens, ratio))
            self._limits[model] = LearnedLimit(min(tokens, known.tokens), max(ratio, known.ratio))

    def of(self, model: str) -> LearnedLimit | None:
        """The limit of this model; None if nothing was learned."""
        return self._limits.get(model)
