"""What is known of a model: what its tokens cost in money, and how long its context window is.

Known from the package `genai-prices`, if it is installed (`transom[prices]`); nothing is downloaded. Otherwise the
caller gives them.
"""

from __future__ import annotations

from math import inf
from typing import Any

from msgspec import Struct

from transom.core.message import Usage
from transom.core.prices import Prices
from transom.errors import InvalidSetting, quote

__all__ = ["TokenPrices", "context_size", "cost"]

MILLION = 1_000_000

_UNLISTED = ("scripted", "local")
_PRICE_LISTS = {"gemini": "google", "responses": "openai"}
"""Providers that the price list has under another name."""


class TokenPrices(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens. `cache_read`, `cache_write`: as `input` if not given.

    Raises InvalidSetting for what is no price.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            optional = value is None and name.startswith("cache")
            if not optional and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf):
                raise InvalidSetting(f"prices: {name} must be a finite number of at least 0, not {quote(value)}")

    def cost(self, usage: Usage) -> float:
        """What a call with this usage costs."""
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, usage.prompt - usage.cached - usage.cache_write)
        dollars = fresh * self.input + usage.cached * read + usage.cache_write * written + usage.output * self.output
        return dollars / MILLION

    def relative(self) -> Prices:
        """The same in units of one fresh input token, as the planner wants it. Raises InvalidSetting if it is free."""
        if not self.input:
            raise InvalidSetting("prices: input must be above 0 to compare other prices with it")
        write = 1.0 if self.cache_write is None else self.cache_write / self.input
        read = 1.0 if self.cache_read is None else self.cache_read / self.input
        return Prices(fresh=1.0, write=write, read=min(read, write))


def cost(usage: Usage, provider: str, model: str, prices: TokenPrices | None = None) -> float | None:
    """US dollars for one call, by `prices` or else by the price list; None if the model is in no list."""
    if prices is not None:
        return prices.cost(usage)
    if (found := _listed(provider, model)) is None:
        return None
    where, listed = found
    from genai_prices import Usage as ListedUsage  # noqa: PLC0415 - an extra

    counted = ListedUsage(
        input_tokens=max(usage.prompt, usage.cached + usage.cache_write),
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    return float(listed.calc_price(counted, where).total_price)


def context_size(provider: str, model: str) -> int | None:
    """The tokens of a model's context window by the price list; None if it does not say."""
    found = _listed(provider, model)
    return None if found is None else found[1].context_window


def _listed(provider: str, model: str) -> tuple[Any, Any] | None:
    """The list's own objects for a provider and a model, if it knows them."""
    if provider in _UNLISTED:
        return None
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - an extra, and half a second
    except ImportError:
        return None
    try:
        return get_snapshot().find_provider_model(model, None, _PRICE_LISTS.get(provider, provider), None)
    except LookupError:
        return None
