"""What tokens cost with prompt caching, in units of one fresh input token; and when a cut pays for itself."""

from __future__ import annotations

from math import inf
from typing import cast

from msgspec import Struct

from transom.errors import InvalidSetting, quote

Request = tuple[int, int]
"""Tokens sent, and how many of them are a common prefix with the request before."""


class Prices(Struct, frozen=True, kw_only=True):
    """A token read from the cache, one written to it, and one of a request too short to be cached.

    What is cached comes in whole steps of `step` tokens, and is at least `least`, as is the request. Raises
    InvalidSetting for what is no price, or if reading costs more than writing.
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
        """A provider's prices; no name has none. Raises InvalidSetting, with the names there are."""
        if name is None:
            return None
        if not isinstance(cast("object", name), str) or name not in PRICES:
            raise InvalidSetting(f"unknown prices {quote(name)}: there are {', '.join(PRICES)}")
        return PRICES[name]

    def of(self, request: Request) -> float:
        """What one request costs."""
        sent, kept = request
        if sent < self.cache_minimum:
            return self.fresh * sent
        cached = kept // self.cache_block * self.cache_block if kept >= self.cache_minimum else 0
        return self.write * (sent - cached) + self.read * cached


ANTHROPIC = Prices(write=1.25)
OPENAI = Prices(cache_block=128, cache_minimum=1024)
PRICES = {"anthropic": ANTHROPIC, "openai": OPENAI}


class SinceBreak(Struct, frozen=True, gc=False):
    """The requests since one last broke the prefix: the tokens of that one, how many of them were new, and what the
    later ones carried beyond them, added up. Before any break everything is new."""

    first_tokens: int = 0
    new_tokens: int = 0
    carried: int = 0

    def next_request(self, tokens: int, kept: int, *, broke: bool) -> SinceBreak:
        """With the next request."""
        if broke or not self.first_tokens:
            return SinceBreak(tokens, tokens - kept if broke else 0)
        return SinceBreak(self.first_tokens, self.new_tokens, self.carried + tokens - self.first_tokens)

    def pays(self, prices: Prices, tokens: int) -> bool:
        """Whether reading what a cut would have spared has by now cost what a cut costs: that of a window of so many
        tokens, or what the last one cost.

        Under steady growth g this is the cheapest gap between cuts, √(2 · cost / (g · read)) calls; it needs no
        forecast of g (part-period balancing: DeMatteis 1968, "An economic lot-sizing technique, I").
        """
        return prices.read * self.carried >= (prices.write - prices.read) * (self.new_tokens or tokens)
