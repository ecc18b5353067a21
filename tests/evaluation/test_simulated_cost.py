"""What requests cost: by hand."""

from __future__ import annotations

import pytest

from transom.cache_prices import ANTHROPIC, OPENAI, Prices
from transom.evaluation.simulated_cost import Cost, cost

SENT = [(1_000, 0), (1_500, 1_000), (1_500, 1_400)]
WHOLE = [1_000, 1_500, 2_000]


def test_what_is_written_costs_more_than_what_is_read():
    found = cost(SENT, WHOLE, ANTHROPIC)
    assert found.paid == pytest.approx(1_250 + (100 + 625) + (140 + 125))
    assert found.everything == pytest.approx(1_250 + (100 + 625) + (150 + 625))
    assert found.share == pytest.approx(2_240 / 2_750)


def test_a_cache_in_steps_from_a_least_on():
    found = cost(SENT, WHOLE, OPENAI)
    assert found.paid == pytest.approx(1_000 + 1_500 + (220 + 128)), "1,000 in common are too few, 1,400 are 1,280"
    assert found.everything == pytest.approx(1_000 + 1_500 + (592 + 140.8)), "1,500 in common are 1,408"


@pytest.mark.parametrize(("kept", "read"), [(1_023, 0), (1_024, 1_024), (1_151, 1_024), (1_152, 1_152)])
def test_the_steps(kept, read):
    assert OPENAI.of((2_000, kept)) == pytest.approx(2_000 - 0.9 * read)


def test_a_request_too_short_to_be_cached_is_not_written_either():
    prices = Prices(write=1.25, read=0.1, cache_minimum=1_000)
    assert prices.of((999, 999)) == 999
    assert prices.of((1_000, 0)) == 1_250


def test_costs_add_up_and_nothing_has_no_share():
    both = Cost(paid=1.0, everything=4.0).plus(Cost(paid=2.0, everything=8.0))
    assert (both, both.share) == (Cost(paid=3.0, everything=12.0), 0.25)
    assert cost([], [], ANTHROPIC).share is None
