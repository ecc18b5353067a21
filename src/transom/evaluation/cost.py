"""Simulates what a conversation's requests cost with prompt caching, in units of one fresh input token."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from transom.cache_prices import Prices, RequestTokens
from transom.evaluation.sums import Sums, share


class Cost(Sums, frozen=True, kw_only=True):
    """What requests cost, in units of one fresh input token. `paid`: as they were sent; `everything`: if each had sent
    the whole conversation so far.
    """

    paid: float = 0.0
    everything: float = 0.0

    @property
    def share(self) -> float | None:
        """`paid` as a share of `everything`; None if `everything` is 0."""
        return share(self.paid, self.everything)


def cost(sent: Iterable[RequestTokens], whole: Sequence[int], prices: Prices) -> Cost:
    """Compute what the requests of one conversation cost, in units of one fresh input token.

    Each request reads from the cache what it shares with the beginning of the request before, which is assumed to be
    still cached. Output tokens cost the same under every policy and are left out.

    `sent`: of each request, in order, its tokens and those that it shares with the request before. `whole`: the tokens
    that each would have had if it carried everything so far; such a request begins with all of the one before it.
    """
    growing = ((size, min(before, size)) for before, size in pairwise((0, *whole)))
    return Cost(paid=sum(map(prices.of, sent)), everything=sum(map(prices.of, growing)))
