"""What a conversation's requests cost with prompt caching, simulated: in units of one fresh input token.

Each request may read from the cache what it shares with the beginning of the one before, which is assumed to be there
still. What the model writes costs the same whatever it was shown, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

Request = tuple[int, int]
"""Tokens sent, and how many of them are a common prefix with the request before."""


class Prices(Struct, frozen=True, kw_only=True):
    """A token read from the cache, one written to it, and one of a request too short to be cached.

    What is cached comes in whole steps of `step` tokens, and is at least `least`, as is the request.
    """

    fresh: float = 1.0
    write: float = 1.0
    read: float = 0.1
    step: int = 1
    least: int = 0

    def of(self, request: Request) -> float:
        """What one request costs."""
        sent, kept = request
        if sent < self.least:
            return self.fresh * sent
        cached = kept // self.step * self.step if kept >= self.least else 0
        return self.write * (sent - cached) + self.read * cached


ANTHROPIC = Prices(write=1.25)
OPENAI = Prices(step=128, least=1024)


class Cost(Struct, frozen=True, kw_only=True):
    """What requests cost, and what the same calls would have cost with everything sent each time."""

    paid: float = 0.0
    everything: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(paid=self.paid + other.paid, everything=self.everything + other.everything)

    @property
    def share(self) -> float | None:
        """What was paid, by what everything would have cost."""
        return share(self.paid, self.everything)


def share(part: float, whole: float) -> float | None:
    """From 0 to 1; None where there is nothing to have a share of."""
    return part / whole if whole else None


def cost(sent: Iterable[Request], whole: Sequence[int], prices: Prices) -> Cost:
    """One conversation's requests, in order; `whole`: the tokens of each, had it carried everything so far.

    Where everything is sent, each request begins with the whole one before.
    """
    growing = ((size, min(before, size)) for before, size in pairwise((0, *whole)))
    return Cost(paid=sum(map(prices.of, sent)), everything=sum(map(prices.of, growing)))
