"""When a cut pays for itself: the rule, and what a conversation with prices comes to."""

from __future__ import annotations

from functools import reduce
from math import inf, nan, sqrt

import pytest

from transom import Budget, Conversation, InvalidSetting, Prices
from transom.cache_prices import ANTHROPIC, OPENAI, SinceBreak
from transom.conversation.render_window import render
from transom.core.entry import Sent
from transom.core.reducer import since_break_with
from transom.evaluation.simulated_cost import cost
from transom.testing.fakes import FakeClock, WordCounter


def sent(tokens: int, shared: int = 0, *, broke: bool = False) -> Sent:
    breaks = (0, 1, "fold") if broke else None
    return Sent(fingerprint="", limit=0, tokens=tokens, messages=1, shared_tokens=shared, breaks=breaks)


def with_requests(since: SinceBreak, *requests: Sent) -> SinceBreak:
    return reduce(lambda before, request: since_break_with(request, before), requests, since)


def test_they_begin_where_the_prefix_broke_and_adds_up_the_tokens_beyond_it():
    since = with_requests(SinceBreak(), sent(100), sent(150, 100))
    assert since == SinceBreak(first_tokens=100, new_tokens=0, excess_tokens=50)
    since = with_requests(since, sent(80, 20, broke=True), sent(90, 80), sent(100, 90))
    assert since == SinceBreak(first_tokens=80, new_tokens=60, excess_tokens=30)


@pytest.mark.parametrize("growth", [100, 400, 1_000])
def test_under_steady_growth_the_gap_between_cuts_is_the_cheapest_one(growth):
    """Gaps of n calls cost K/n + read · growth · n/2 a call, which is least at √(2K / (read · growth))."""
    new = 8_000
    since, calls = SinceBreak(first_tokens=10_000, new_tokens=new), 0
    while not since.pays(ANTHROPIC, 0):
        calls += 1
        since = with_requests(since, sent(10_000 + calls * growth))
    best = sqrt(2 * 1.15 * new / (0.1 * growth))
    assert best - 1 <= calls <= best + 1


def test_before_any_cut_one_would_cost_the_whole_window():
    since = SinceBreak(first_tokens=1_000, excess_tokens=10_000)
    assert since.pays(ANTHROPIC, 800)
    assert not since.pays(ANTHROPIC, 900)
    assert not since.pays(Prices(write=2.0), 800)


def test_prices_have_names_and_a_budget_takes_nothing_else():
    assert Prices.named("openai") is OPENAI
    assert Prices.named(None) is None
    with pytest.raises(InvalidSetting, match="unknown prices 'mine': there are anthropic, openai"):
        Prices.named("mine")
    with pytest.raises(InvalidSetting, match="prices must be Prices or None, not 'openai'"):
        Budget(prices="openai")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"write": nan}, "write must be a finite number of at least 0, not nan"),
        ({"write": inf}, "write must be a finite number of at least 0, not inf"),
        ({"fresh": -0.5}, "fresh must be a finite number of at least 0, not -0.5"),
        ({"fresh": "1"}, "fresh must be a finite number of at least 0, not '1'"),
        ({"read": -1}, "read must be a finite number of at least 0, not -1"),
        ({"read": True}, "read must be a finite number of at least 0, not True"),
        ({"read": None}, "read must be a finite number of at least 0, not None"),
        ({"read": 1.5}, "read must be at most write, 1.0, not 1.5"),
        ({"cache_block": 0}, "cache_block must be a whole number of at least 1, not 0"),
        ({"cache_block": 1.0}, "cache_block must be a whole number of at least 1, not 1.0"),
        ({"cache_minimum": -1}, "cache_minimum must be a whole number of at least 0, not -1"),
        ({"cache_minimum": None}, "cache_minimum must be a whole number of at least 0, not None"),
    ],
)
def test_what_is_no_price_is_refused(given, why):
    with pytest.raises(InvalidSetting) as problem:
        Prices(**given)
    assert str(problem.value) == f"prices: {why}"


def test_reading_may_cost_nothing_or_as_much_as_writing():
    assert Prices(fresh=0, write=1, read=0).of((10, 4)) == 6
    assert Prices(write=1.0, read=1.0).of((10, 4)) == 10


@pytest.mark.parametrize(("name", "least"), [("context", 1), ("reserve", 0)])
def test_a_budget_needs_its_numbers(name, least):
    with pytest.raises(InvalidSetting, match=f"budget: {name} must be a whole number of at least {least}, not None"):
        Budget(**{name: None})


def windows(prices, calls=150):
    budget = Budget(context=20_000, prices=prices)
    conv = Conversation.open("memory:", "x", budget=budget, counter=WordCounter(), clock=FakeClock())
    conv.user("go")
    for number in range(calls):
        yield conv.plan_request()
        body = {"id": f"c{number}", "type": "function", "function": {"name": "sh", "arguments": "{}"}}
        conv.observe({"role": "assistant", "content": None, "tool_calls": [body]})
        conv.tool_result(f"c{number}", f"value_{number} " + "plain words " * 45)


def test_with_prices_a_window_is_cut_before_it_is_full_and_that_is_cheaper():
    sent = {
        name: [(window.size.tokens, window.shared_tokens) for window in windows(Prices.named(name))]
        for name in (None, "anthropic")
    }
    paid = {name: cost(requests, [], ANTHROPIC).paid for name, requests in sent.items()}
    assert max(size for size, _ in sent["anthropic"]) < 0.7 * max(size for size, _ in sent[None])
    assert paid["anthropic"] < 0.8 * paid[None]


def test_a_window_is_the_same_after_the_log_was_opened_again(tmp_path):
    url = f"sqlite:///{tmp_path}/agent.db"
    budget = Budget(context=20_000, prices=ANTHROPIC)

    def played(again):
        conv = Conversation.open(url, str(again), budget=budget, counter=WordCounter(), clock=FakeClock())
        conv.user("go")
        for number in range(60):
            if again:
                conv.close()
                conv = Conversation.open(url, str(again), budget=budget, counter=WordCounter(), clock=FakeClock())
            window = conv.plan_request()
            conv.observe({"role": "assistant", "content": f"value_{number} " + "plain words " * 100})
            conv.user("more")
            yield render(window)["messages"], window.breaks is not None

    once = list(played(False))
    assert any(broke for _, broke in once)
    assert once == list(played(True))
