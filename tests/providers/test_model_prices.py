"""Prices in money and context sizes: given, from the price list, or not known."""

from __future__ import annotations

import sys

import pytest

from transom.cache_prices import Prices
from transom.core.message import Usage
from transom.errors import InvalidSetting
from transom.providers.model_prices import TokenPrices, context_size, cost

USAGE = Usage(prompt=1_000_000, cached=600_000, cache_write=100_000, output=10_000, reasoning=4_000)


def test_each_kind_of_token_has_its_price():
    prices = TokenPrices(input=3, output=15, cache_read=0.3, cache_write=3.75)
    assert prices.cost(USAGE) == pytest.approx(0.3 * 3 + 0.6 * 0.3 + 0.1 * 3.75 + 0.01 * 15)
    assert cost(USAGE, "nobody:nothing", prices) == prices.cost(USAGE)


def test_a_cache_price_that_is_not_given_is_that_of_the_input():
    assert TokenPrices(input=2, output=0).cost(USAGE) == pytest.approx(2.0)


def test_the_planner_gets_them_in_units_of_a_fresh_token():
    prices = TokenPrices(input=4, output=15, cache_read=0.4, cache_write=5)
    assert prices.relative() == Prices(fresh=1.0, write=1.25, read=0.1, output=3.75)
    assert TokenPrices(input=4, output=15).relative() == Prices(fresh=1.0, write=1.0, read=1.0, output=3.75)
    assert TokenPrices(input=4, output=0).relative().output == 0


@pytest.mark.parametrize("wrong", [{"input": -1}, {"output": True}, {"cache_read": float("nan")}, {"input": None}])
def test_what_is_no_price_is_refused(wrong):
    with pytest.raises(InvalidSetting, match=next(iter(wrong))):
        TokenPrices(**{"input": 1, "output": 1, **wrong})


def test_a_free_input_cannot_be_compared_with():
    with pytest.raises(InvalidSetting, match="above 0"):
        TokenPrices(input=0, output=1).relative()


def test_the_list_knows_models_their_prices_and_context_sizes():
    assert cost(Usage(prompt=1000, cached=500, output=100), "anthropic:claude-sonnet-4-5") == pytest.approx(0.00315)
    assert context_size("anthropic:claude-sonnet-4-5") == 200_000
    assert cost(Usage(prompt=1000, output=100), "gemini:gemini-2.5-flash") is not None
    assert context_size("openai:gpt-5") == 400_000


@pytest.mark.parametrize(("provider", "model"), [("openai", "no-such-model"), ("nobody", "gpt-5"), ("local", "")])
def test_what_the_list_does_not_know_has_no_price_and_no_size(provider, model):
    assert cost(USAGE, f"{provider}:{model}") is None
    assert context_size(f"{provider}:{model}") is None


def test_without_the_list_nothing_is_known(monkeypatch):
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    assert cost(USAGE, "openai:gpt-5") is None
    assert context_size("openai:gpt-5") is None
