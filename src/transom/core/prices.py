"""What tokens cost with prompt caching, in units of one fresh input token; and when a compaction pays for itself."""

from __future__ import annotations

from math import inf
from typing import cast

from msgspec import Struct, field

from transom.errors import InvalidSetting, quote

RequestTokens = tuple[int, int]
"""Tokens sent, and how many of them are a common prefix with the request before."""


class Prices(Struct, frozen=True, kw_only=True):
    """The prices of a token that is read from the cache, of one that is written to it, and of one in a request that is
    too short to be cached (`fresh`).

    The cache holds whole blocks of `cache_block` tokens, and at least `cache_minimum`; shorter requests are not cached.
    Raises InvalidSetting for what is no price, or if reading costs more than writing.
    """

    fresh: float = 1.0
    write: float = 1.0
    read: float = 0.1
    cache_block: int = 1
    cache_minimum: int = 0

    def __post_init__(self) -> None:
        for name in ("fresh", "write", "read"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
                raise InvalidSetting(f"prices: {name} must be a finite number of at least 0, not {quote(value)}")
        if self.read > self.write:
            raise InvalidSetting(f"prices: read must be at most write, {quote(self.write)}, not {quote(self.read)}")
        for name, least in (("cache_block", 1), ("cache_minimum", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise InvalidSetting(f"prices: {name} must be a whole number of at least {least}, not {quote(value)}")

    @staticmethod
    def named(name: str | None) -> Prices | None:
        """A provider's prices; None without a name. Raises InvalidSetting, with the names there are."""
        if name is None:
            return None
        if not isinstance(cast("object", name), str) or name not in PRICES:
            raise InvalidSetting(f"unknown prices {quote(name)}: there are {', '.join(PRICES)}")
        return PRICES[name]

    def of(self, request: RequestTokens) -> float:
        """What one request costs: `read` for the shared tokens, in whole blocks, and `write` for every other one.

        In a request that is too short to be cached, `fresh` for every token.
        """
        sent, shared = request
        if sent < self.cache_minimum:
            return self.fresh * sent
        cached = shared // self.cache_block * self.cache_block if shared >= self.cache_minimum else 0
        return self.write * (sent - cached) + self.read * cached


ANTHROPIC = Prices(write=1.25)
OPENAI = Prices(cache_block=128, cache_minimum=1024)
PRICES = {"anthropic": ANTHROPIC, "openai": OPENAI}


class SinceBreak(Struct, frozen=True, gc=False):
    """The requests since the last one that broke the prefix.

    `first_tokens`: of that request. `new_tokens`: how many of these were not in the cache; 0 before any break.
    `excess_tokens`: the tokens of the later requests beyond the first, added up.
    """

    first_tokens: int = 0
    new_tokens: int = 0
    excess_tokens: int = field(default=0, name="carried")

    def next_request(self, tokens: int, shared: int, *, broke: bool) -> SinceBreak:
        """After one more request, which shares `shared` tokens with the one before."""
        if broke or not self.first_tokens:
            return SinceBreak(tokens, tokens - shared if broke else 0)
        return SinceBreak(self.first_tokens, self.new_tokens, self.excess_tokens + tokens - self.first_tokens)

    def pays(self, prices: Prices, tokens: int) -> bool:
        """True once re-reading the tokens that a compaction would have removed has cost as much as one compaction: the
        last one, or before the first a rewrite of a window of `tokens`.

        Under steady growth g this is the cheapest gap between compactions, √(2 · cost / (g · read)) calls; it needs no
        forecast of g (part-period balancing: DeMatteis 1968, "An economic lot-sizing technique, I").
        """
        return prices.read * self.excess_tokens >= (prices.write - prices.read) * (self.new_tokens or tokens)
