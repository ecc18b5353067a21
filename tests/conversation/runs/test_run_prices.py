"""What a run costs, and the context window that it plans for: given, from the price list, or the model's own."""

from __future__ import annotations

import pytest

from transom import Conversation
from transom.conversation import events
from transom.errors import InvalidSetting, RunStopped
from transom.providers.model_prices import TokenPrices
from transom.providers.scripted import Reply, Scripted, call

PRICES = TokenPrices(input=1_000, output=5_000)


def look() -> str:
    """Look around."""
    return "nothing"


def test_a_run_adds_up_what_its_replies_cost():
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        seen = list(conv.stream("Go", provider=Scripted(call("look"), "Done."), tools=[look], prices=PRICES))
    replied = [event for event in seen if isinstance(event, events.Replied)]
    assert [event.cost for event in replied] == [PRICES.cost(event.usage) for event in replied]
    assert seen[-1].result.cost == pytest.approx(sum(event.cost for event in replied))


def test_a_limit_of_money_needs_prices() -> None:
    provider = Scripted(call("look"), "Done.")
    with (
        Conversation.open("memory:", "x", budget=8_000) as conv,
        pytest.raises(RunStopped, match="needs the model's prices"),
    ):
        conv.run("Go", provider=provider, tools=[look], max_cost=0.2)
    assert len(provider.requests) == 1


def test_a_run_stops_at_its_limit_of_money():
    provider = Scripted(then=call("look"))
    with Conversation.open("memory:", "c", budget=10_000) as conv, pytest.raises(RunStopped) as stopped:
        conv.run("Go", provider=provider, tools=[look], prices=PRICES, max_cost=0.2)
    assert stopped.value.reason == "cost"
    assert 0.2 <= stopped.value.result.cost < 1


def test_a_model_without_a_known_price_costs_none():
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        assert conv.run("Go", provider=Scripted("Yes.")).cost is None


class Listed(Scripted):
    """A model that the price list knows."""

    name = "openai"


def test_the_price_list_knows_the_usual_models():
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        result = conv.run("Go", provider=Listed(Reply(text="Yes.", tokens=100), model="gpt-5"))
    assert result.cost == pytest.approx((result.usage.tokens.prompt * 1.25 + 100 * 10) / 1_000_000)


def limit_of(conv: Conversation) -> int:
    return next(entry.body.limit for entry in reversed(list(conv.log)) if type(entry.body).__name__ == "Sent")


@pytest.mark.filterwarnings("ignore:no budget given")
def test_who_gives_no_budget_gets_the_models_context_window():
    with Conversation.open("memory:", "c") as conv:
        conv.run("Go", provider=Listed("Yes.", model="gpt-5"))
        assert limit_of(conv) == 400_000
        conv.run("Go", provider=Listed("Yes.", model="no-such-model"))
        assert limit_of(conv) == 128_000
        conv.budget = 9_000
        conv.run("Go", provider=Listed("Yes.", model="gpt-5"))
        assert limit_of(conv) == 9_000


class Small(Scripted):
    """A model that knows its own window."""

    context_size = 3_000


def test_a_model_that_knows_its_window_gets_no_longer_request():
    with Conversation.open("memory:", "c", budget=10_000) as conv:
        conv.run("Go", provider=Small("Yes."))
        assert limit_of(conv) == 3_000
        conv.run("Go", provider=Scripted("Yes."))
        assert limit_of(conv) == 10_000


def test_prices_that_are_none_are_refused():
    with Conversation.open("memory:", "c", budget=10_000) as conv, pytest.raises(InvalidSetting, match="TokenPrices"):
        conv.run("Go", provider=Scripted("Yes."), prices={"input": 1})
