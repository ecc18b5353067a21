"""What a conversation's requests cost with prompt caching, simulated: in units of one fresh input token.

Each request may read from the cache what it shares with the beginning of the one before, which is assumed to be there
still. What the model writes costs the same whatever it was shown, and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from transom.core.prices import Prices, RequestTokens


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


def cost(sent: Iterable[RequestTokens], whole: Sequence[int], prices: Prices) -> Cost:
    """One conversation's requests, in order; `whole`: the tokens of each, had it carried everything so far.

    Where everything is sent, each request begins with the whole one before.
    """
    growing = ((size, min(before, size)) for before, size in pairwise((0, *whole)))
    return Cost(paid=sum(map(prices.of, sent)), everything=sum(map(prices.of, growing)))
