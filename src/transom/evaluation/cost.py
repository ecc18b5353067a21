"""Simulates what a conversation's requests cost with prompt caching, in units of one fresh input token.

Each request reads from the cache what it shares with the beginning of the request before, which is assumed to be still
cached. Output tokens cost the same under every policy and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from transom.prices import Prices, RequestTokens


class Cost(Struct, frozen=True, kw_only=True):
    """What requests cost (`paid`), and what the same calls would cost if each sent the whole conversation
    (`everything`).

    Both in units of one fresh input token.
    """

    paid: float = 0.0
    everything: float = 0.0

    def plus(self, other: Cost) -> Cost:
        """Return the sum of this and `other`."""
        return Cost(paid=self.paid + other.paid, everything=self.everything + other.everything)

    @property
    def share(self) -> float | None:
        """`paid` as a share of `everything`; None if `everything` is 0."""
        return share(self.paid, self.everything)


def share(part: float, whole: float) -> float | None:
    """Return `part / whole`; None if `whole` is 0."""
    return part / whole if whole else None


def cost(sent: Iterable[RequestTokens], whole: Sequence[int], prices: Prices) -> Cost:
    """Compute the cost of one conversation's requests. `sent`: the tokens of each request, in order.

    `whole`: the tokens that each request would have had if it carried everything so far; such a request begins with the
    whole one before it.
    """
    growing = ((size, min(before, size)) for before, size in pairwise((0, *whole)))
    return Cost(paid=sum(map(prices.of, sent)), everything=sum(map(prices.of, growing)))
