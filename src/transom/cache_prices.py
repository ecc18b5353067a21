"""What tokens cost with prompt caching, and when a compaction pays for itself.

A provider bills input tokens at different prices: those that it reads from its prompt cache, and those that it must
process. A compaction breaks the cached prefix, so the next request pays the higher price once; the later requests are
smaller.
"""

from __future__ import annotations

from math import inf
from typing import cast

from msgspec import Struct

from transom.errors import InvalidSetting, quote

RequestTokens = tuple[int, int]
"""Two numbers of one request: all its tokens, and those of the prefix that it shares with the request before."""


class Prices(Struct, frozen=True, kw_only=True):
    """The prices of a model's tokens, in any one unit: only their ratios matter.

    - `read`: the price of a token that is read from the cache, because the request before began with it too.
    - `write`: the price of every other token of a request that is long enough to be cached.
    - `fresh`: the price of every token of a request with fewer than `cache_minimum` tokens; such a request is not
      cached.
    - `cache_block`: the cache holds whole blocks of this number of tokens.
    - `cache_minimum`: requests, and shared beginnings of requests, with fewer tokens than this are not cached.
    - `output`: the price of a token that a model writes. It counts for the answers of summarizers; what the
      conversation's own model writes costs the same whatever it was shown, and is left out.

    Raises InvalidSetting if a price is not a finite number of at least 0, if `read` is above `write`, if `cache_block`
    is not a whole number of at least 1, or if `cache_minimum` is not a whole number of at least 0.
    """

    fresh: float = 1.0
    write: float = 1.0
    read: float = 0.1
    cache_block: int = 1
    cache_minimum: int = 0
    output: float = 5.0

    def __post_init__(self) -> None:
        for name in ("fresh", "write", "read", "output"):
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
        """The prices of a provider by its name: one of `PRICES`. None if `name` is None.

        Raises InvalidSetting for any other name; the message lists the names.
        """
        if name is None:
            return None
        if not isinstance(cast("object", name), str) or name not in PRICES:
            raise InvalidSetting(f"unknown prices {quote(name)}: there are {', '.join(PRICES)}")
        return PRICES[name]

    def of(self, request: RequestTokens) -> float:
        """Return what one request costs, in the unit of the prices. `request`: all its tokens, and how many of them it
        shares with the beginning of the request before it.

        With at least `cache_minimum` tokens: `read` for each shared token that is in a whole block, and `write` for
        each other token. If fewer than `cache_minimum` tokens are shared, all are written. With fewer than
        `cache_minimum` tokens in the whole request: `fresh` for each token.
        """
        sent, shared = request
        if sent < self.cache_minimum:
            return self.fresh * sent
        cached = shared // self.cache_block * self.cache_block if shared >= self.cache_minimum else 0
        return self.write * (sent - cached) + self.read * cached

    def of_summary(self, *, window: int, source: int, answer: int) -> float:
        """What it costs to make a summary of `answer` tokens, in the unit of the prices: the cheaper one of two
        requests, and the answer at `output`.

        The forked request is the live request, of `window` tokens, with the instructions behind it. The cache has the
        live request, so the price is that of `of`. The flat request has the old turns and the previous summary as text,
        `source` tokens, and the instructions, all at `fresh`. The instructions are 400 tokens (`INSTRUCTION_TOKENS`).
        """
        forked, flat = self.of((window + INSTRUCTION_TOKENS, window)), self.fresh * (source + INSTRUCTION_TOKENS)
        return min(forked, flat) + self.output * answer


INSTRUCTION_TOKENS = 400
"""The tokens of the instructions in a request for a summary, about."""

ANTHROPIC = Prices(write=1.25)
OPENAI = Prices(cache_block=128, cache_minimum=1024, output=8.0)
"""Their prices, in units of one fresh input token."""
PRICES = {"anthropic": ANTHROPIC, "openai": OPENAI}
"""The prices that have a name (`Prices.named`)."""


class SinceBreak(Struct, frozen=True, gc=False):
    """Token sums of the requests since the cached prefix last broke, by which `pays` says whether a compaction pays.
    The reducer adds each request.

    - `first_tokens`: the tokens of the request that broke the prefix, or of the first request of all.
    - `new_tokens`: how many of these were not in the cache; 0 if no request has broken a prefix.
    - `excess_tokens`: for each later request, how many more tokens than `first_tokens` it had; all added up.
    """

    first_tokens: int = 0
    new_tokens: int = 0
    excess_tokens: int = 0

    def excess_cost(self, prices: Prices) -> float:
        """What re-reading the tokens that a compaction would have removed (`excess_tokens`) has cost, in the unit of
        the prices."""
        return prices.read * self.excess_tokens

    def compaction_cost(self, prices: Prices, tokens: int) -> float:
        """What a compaction costs, in the unit of the prices: as much as the last one did, or before the first one as
        much as to write a window of `tokens` tokens that could have been read from the cache."""
        return (prices.write - prices.read) * (self.new_tokens or tokens)

    def growth(self, tokens: int) -> float:
        """The tokens by which the window has grown at each call since the break, on average; at least 1. `tokens`: the
        tokens of the window now.

        If the window grows by g tokens at each of n calls, it has `more` = g · n tokens more than at first, and
        `excess_tokens` is about g · n² / 2. So g = more² / (2 · excess_tokens).
        """
        more = tokens - self.first_tokens
        return max(1.0, more * more / (2 * self.excess_tokens) if self.excess_tokens > 0 < more else more)

    def pays(self, prices: Prices, tokens: int, summary: float = 0.0, share: float = 1.0) -> bool:
        """Whether a compaction is now cheaper than going on with the long window of `tokens` tokens.

        True once re-reading the excess tokens (`excess_cost`) has cost as much as a compaction costs
        (`compaction_cost`), plus `summary`, the price of the new summary that it needs. With a `share` below 1: once it
        has cost this share of that sum.

        Under steady growth of g tokens a call this is the cheapest gap between compactions, √(2 · cost / (g · read))
        calls; it needs no forecast of g (part-period balancing: DeMatteis 1968, "An economic lot-sizing technique, I").
        """
        return self.excess_cost(prices) >= share * (self.compaction_cost(prices, tokens) + summary)


class ChoiceCost(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """What one way to compact a window costs and saves. A price is in fresh input tokens.

    - `name`: the name of the choice.
    - `tokens`: those of the window after it. `saved_tokens`: how many fewer each later request has.
    - `once`: the price of the tokens that are no longer read from the cache, and of a new summary. `summary`: the price
      of the summary alone.
    - `calls`: the number of calls until the next compaction. `per_call`: the price of one of them: a share of `once`,
      and the window that it reads from the cache, on average.
    """

    name: str
    tokens: int
    saved_tokens: int
    once: float
    summary: float = 0.0
    calls: float
    per_call: float


class CompactionCosts(Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """The costs that a plan compared to choose a compaction, or to decide whether the next one gets a new summary. A
    price is in fresh input tokens.

    - `why`: "full"; "price", if the window was compacted before it was full because that is cheaper; "soon", if it was
      only decided whether the next compaction gets a new summary.
    - `tokens`: those of the window before. `growth`: the tokens by which it grows at each call.
    - `excess`: what it has cost so far to re-read the tokens that a compaction would have removed. `compaction`: what a
      compaction costs. A `why` of "price" says that `excess` has reached it.
    - `choices`: the costs of each way that was tried. `taken`: the name of the one that was taken.
    """

    why: str
    tokens: int
    growth: float
    excess: float
    compaction: float
    choices: tuple[ChoiceCost, ...] = ()
    taken: str = ""
