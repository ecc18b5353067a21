"""The error for a request that does not fit names the ways out, each with its number, by what takes the room."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from transom import Budget, Conversation
from transom.errors import BudgetImpossible
from transom.policies import policy_named
from transom.providers.scripted import Scripted

TOOL = {"type": "function", "function": {"name": "find", "description": "word " * 400, "parameters": {}}}
NO_LAST_RESORT = replace(policy_named("sliding"), last_resort=())


def refusal(conv: Conversation, **options: Any) -> BudgetImpossible:
    with pytest.raises(BudgetImpossible) as raised:
        conv.request(**options)
    assert "\n" not in str(raised.value)
    assert str(raised.value).endswith(", or ".join(raised.value.ways_out))
    return raised.value


def opened(**settings: Any) -> Conversation:
    return Conversation.open("memory:", "long", **{"budget": 200, "system": "Be brief.", **settings})


def test_a_long_system_prompt_is_to_be_shortened():
    with opened(system="word " * 300) as conv:
        conv.user("hi")
        refused = refusal(conv)
        need = refused.bill["need"]
        assert refused.ways_out == (
            f"give a budget of more than {need} tokens",
            f"shorten the system prompt by more than {need - 200} tokens",
        )


def test_tool_definitions_are_to_be_shortened_where_they_are_the_cause():
    with opened() as conv:
        conv.user("hi")
        refused = refusal(conv, tools=[TOOL])
        assert (
            refused.ways_out[-1] == f"shorten the tool definitions by more than {refused.bill['need'] - 200:,} tokens"
        )


def test_several_parts_are_named_where_none_alone_is_the_cause():
    with opened(system="word " * 450, budget=300) as conv:
        conv.user("hi")
        refused = refusal(conv, tools=[TOOL])
        assert refused.ways_out[-1].startswith("shorten the system prompt and the tool definitions together by more")


def test_a_smaller_reserve_is_a_way_out_if_it_is_large_enough():
    with opened(system="word " * 300, budget=Budget(context=1_000, reserve=800)) as conv:
        conv.user("hi")
        refused = refusal(conv)
        need = refused.bill["need"]
        assert refused.ways_out[:2] == (
            f"give a budget of more than {need + 800:,} tokens",
            f"keep less than {1_000 - need} tokens for the answer (reserve) instead of 800",
        )
        conv.budget = Budget(context=1_000, reserve=40)
        assert "reserve" not in str(refusal(conv, tools=[{**TOOL, "x": "word " * 900}]))


def test_the_numbers_are_enough():
    with opened(budget=Budget(context=1_000, reserve=800), state={"todo": "word " * 300}) as conv:
        conv.user("hi")
        need = refusal(conv).bill["need"]
        assert refusal(conv).ways_out == (
            f"give a budget of at least {need + 800:,} tokens",
            f"keep at most {1_000 - need} tokens for the answer (reserve) instead of 800",
            f"shorten the state by at least {need - 200} tokens",
        )
        for budget in (Budget(context=need + 800, reserve=800), Budget(context=1_000, reserve=1_000 - need)):
            conv.budget = budget
            assert conv.window().tokens == need


def test_pinned_entries_are_named_with_the_undo_that_frees_them():
    with opened(policy=NO_LAST_RESORT, budget=2_000) as conv:
        entries = []
        for number in range(12):
            entries.append(conv.user(f"question {number} " + "word " * 100))
            conv.observe({"role": "assistant", "content": "word " * 200})
        conv.user("go on")
        pins = [conv.pin(entry) for entry in entries[8:]]
        large = conv.pin(entries[10] + 1)
        conv.budget = 500
        refused = refusal(conv)
        assert refused.bill["pinned"] > 500
        unpin = next(way for way in refused.ways_out if way.startswith("unpin "))
        assert unpin.startswith(f"unpin entry {entries[10] + 1} (")
        assert f"undo {large})" in unpin
        for pin in (*pins, large):
            conv.undo(pin)
        assert conv.window().tokens <= 500


def test_a_policy_that_makes_no_room_is_to_be_replaced():
    with opened(policy="passthrough") as conv:
        conv.user("hi")
        conv.pin(conv.observe({"role": "assistant", "content": "word " * 500}))
        conv.user("go on")
        assert "take a policy that makes room, such as default" in refusal(conv).ways_out
        assert not any(way.startswith("unpin") for way in refusal(conv).ways_out)


def test_another_limit_is_named_by_its_setting():
    with opened(budget=Budget(max_messages=1)) as conv:
        conv.user("hi")
        assert refusal(conv).ways_out == ("give a budget with max_messages of at least 2",)


def test_a_limit_of_the_model_is_not_raised_by_a_larger_budget():
    provider = Scripted("Hello.")
    provider.context_size = 200  # pyright: ignore[reportAttributeAccessIssue]
    with opened(system="word " * 300, budget=100_000) as conv, pytest.raises(BudgetImpossible) as raised:
        conv.run("hi", provider=provider)
    need = raised.value.bill["need"]
    assert raised.value.ways_out[0] == f"take a model with a context window of more than {need} tokens"
