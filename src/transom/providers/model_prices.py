"""What is known of a model: what its tokens cost in money, and how long its context window is.

It is read from the package `genai-prices`, if that is installed (`transom[prices]`); nothing is downloaded. Otherwise
the caller gives both.
"""

from __future__ import annotations

from importlib.util import find_spec
from math import inf
from typing import Any

from msgspec import Struct

from transom.cache_prices import Prices
from transom.core.message import Usage
from transom.errors import InvalidSetting, quote
from transom.extras import install_command

__all__ = ["TokenPrices", "context_size", "cost", "token_prices"]

MILLION = 1_000_000
_SHORT = 1_000
"""The tokens of a request that no price list calls long."""

_UNLISTED = ("scripted", "local")
_PRICE_LISTS = {"gemini": "google", "responses": "openai"}
"""The name that the price list has for a provider, where it is another one."""


class TokenPrices(Struct, frozen=True, kw_only=True):
    """US dollars for a million tokens: of the request (`input`) and of the answer (`output`). `cache_read`,
    `cache_write`: the same as `input` if not given.

    Raises InvalidSetting if a price is not a finite number of at least 0.
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
        """Compute what a call with this usage costs, in US dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        written = self.input if self.cache_write is None else self.cache_write
        fresh = max(0, usage.prompt - usage.cached - usage.cache_write)
        dollars = fresh * self.input + usage.cached * read + usage.cache_write * written + usage.output * self.output
        return dollars / MILLION

    def input_cost(self, tokens: int, shared: int) -> float:
        """Compute what the input of a request costs, in US dollars: `shared` of its tokens are read from the cache, all
        others are written to it."""
        return self.cost(Usage(prompt=tokens, cached=shared, cache_write=tokens - shared))

    def relative(self) -> Prices:
        """Convert the prices to units of one fresh input token, as the planner needs them.

        A price of reading from the cache above that of writing to it is lowered to that. Raises InvalidSetting if
        `input` is 0: there is nothing to compare with.
        """
        if not self.input:
            raise InvalidSetting("prices: input must be above 0 to compare other prices with it")
        write = 1.0 if self.cache_write is None else self.cache_write / self.input
        read = 1.0 if self.cache_read is None else self.cache_read / self.input
        return Prices(fresh=1.0, write=write, read=min(read, write), output=self.output / self.input)


def cost(usage: Usage | None, model: str, prices: TokenPrices | None = None) -> float | None:
    """Compute what one call to a model, "provider:model", costs in US dollars: by `prices` if given, else by the price
    list.

    None without a usage; also if no prices are given and the list does not know the model, or is not installed.
    """
    if usage is None:
        return None
    if prices is not None:
        return prices.cost(usage)
    if (found := _listed(model)) is None:
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


def token_prices(model: str) -> TokenPrices | None:
    """Return the prices of a model, "provider:model", from the price list; None if it does not know them, or is not
    installed. Where the price of a token depends on the length of the request, it is that of a short one."""
    kinds = {
        "input": Usage(prompt=_SHORT),
        "output": Usage(output=_SHORT),
        "cache_read": Usage(prompt=_SHORT, cached=_SHORT),
        "cache_write": Usage(prompt=_SHORT, cache_write=_SHORT),
    }
    dollars = {kind: cost(usage, model) for kind, usage in kinds.items()}
    known = {kind: each * MILLION / _SHORT for kind, each in dollars.items() if each is not None}
    return TokenPrices(**known) if len(known) == len(kinds) else None


def listed_prices(model: str) -> TokenPrices:
    """Return the prices of a model, "provider:model", from the price list. Raises InvalidSetting, which says whether
    the list is not installed or does not know the model."""
    if (found := token_prices(model)) is not None:
        return found
    if find_spec("genai_prices") is None:
        raise InvalidSetting(f"the price list is not installed: {install_command('prices')}")
    raise InvalidSetting(f"the prices of {quote(model)} are not known: a model is named as provider:model")


def context_size(model: str) -> int | None:
    """Return the tokens of the context window of a model, "provider:model", from the price list. None if the list does
    not know the model or its window, or is not installed."""
    found = _listed(model)
    return None if found is None else found[1].context_window


def _listed(model: str) -> tuple[Any, Any] | None:
    """Look up "provider:model" in the price list: return its own objects for both, or None."""
    provider, _, name = model.partition(":")
    if provider in _UNLISTED:
        return None
    try:
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 - an extra, and half a second
    except ImportError:
        return None
    try:
        return get_snapshot().find_provider_model(name, None, _PRICE_LISTS.get(provider, provider), None)
    except LookupError:
        return None
