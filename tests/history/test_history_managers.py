"""The managers by themselves: a list in, a list out."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from message_lists import DAMAGED, SYSTEM, assistant, assistant_call, history, tool_result, user

import transom
from transom.errors import InvalidMessage, InvalidSetting
from transom.history import (
    ComposedManager,
    EngineManager,
    PassthroughManager,
    SlidingWindowManager,
    ToolResultTruncator,
    coherent,
)
from transom.wire.openai import violations

SUFFIX = "\n... [truncated]"
MANAGERS = [
    PassthroughManager(),
    SlidingWindowManager(7),
    ToolResultTruncator(100),
    ComposedManager((ToolResultTruncator(100), SlidingWindowManager(7))),
]


def curated(manager, messages):
    return manager.curate(messages, session=None)


# ---- each by itself


def test_passthrough_returns_a_new_list_of_the_same_messages():
    messages = history(3)
    out = curated(PassthroughManager(), messages)
    assert out == messages
    assert out is not messages


def test_sliding_window_keeps_the_system_message_and_the_last_messages():
    messages = history(6)
    assert curated(SlidingWindowManager(3), messages) == [SYSTEM, *messages[-3:]]
    assert curated(SlidingWindowManager(100), messages) == messages


def test_sliding_window_never_separates_a_call_from_its_result():
    messages = history(10)
    begins = [at for at, message in enumerate(messages) if at and message["role"] != "tool"]
    for size in range(len(messages) + 1):
        out = curated(SlidingWindowManager(size), messages)
        start = next((at for at in begins if len(messages) - at <= size), len(messages))
        assert out == [SYSTEM, *messages[start:]]
        assert not violations(out)


def test_truncator_shortens_only_long_results_and_the_limit_includes_the_suffix():
    messages = [
        SYSTEM,
        user("u" * 5000),
        assistant_call("a", "b", text="t" * 5000),
        tool_result("a", "x" * 2001),
        tool_result("b", "y" * 2000),
    ]
    out = curated(ToolResultTruncator(), messages)
    assert out[:3] == messages[:3]
    assert out[3] == tool_result("a", "x" * (2000 - len(SUFFIX)) + SUFFIX)
    assert out[4] == messages[4]
    assert curated(ToolResultTruncator(), out) == out, "once is enough"


@pytest.mark.parametrize("limit", [0, 1, len(SUFFIX) - 1, len(SUFFIX), len(SUFFIX) + 1, 60])
def test_truncator_keeps_any_limit(limit):
    out = curated(ToolResultTruncator(limit), [assistant_call("a"), tool_result("a", "x" * 100)])
    assert len(out[1]["content"]) == limit
    assert not violations(out)


def test_truncator_lets_the_parts_of_a_result_share_the_limit_and_images_stay():
    image = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    texts = [{"type": "text", "text": letter * 60} for letter in "xyz"]
    out = curated(
        ToolResultTruncator(100), [assistant_call("a"), {**tool_result("a"), "content": [texts[0], image, *texts[1:]]}]
    )
    cut = {"type": "text", "text": "y" * (100 - 60 - len(SUFFIX)) + SUFFIX}
    assert out[1]["content"] == [texts[0], image, cut]


def test_engine_manager_keeps_the_budget_for_any_list():
    messages = history(60)
    out = curated(EngineManager(budget=transom.Budget(context=2_000)), messages)
    assert out == transom.fit(messages, budget=2_000)
    assert not violations(out)
    assert len(curated(EngineManager("sliding", transom.Budget(max_messages=9)), messages)) <= 9
    with pytest.raises(InvalidSetting, match="unknown policy"):
        EngineManager("magic")
    small = curated(EngineManager(budget=transom.Budget(max_bytes=4_000)), messages)
    assert 0 < len(json.dumps(small)) < 6_000 < len(json.dumps(messages))


# ---- what the source design asks for, by name


def test_orphaned_tool_results_are_removed():
    messages = [
        SYSTEM,
        tool_result("gone"),
        user("hello"),
        tool_result("x"),
        assistant_call("a"),
        tool_result("a"),
        tool_result("a", "again"),
    ]
    for manager in (SlidingWindowManager(50), ToolResultTruncator(), ComposedManager((SlidingWindowManager(50),))):
        assert curated(manager, messages) == [SYSTEM, user("hello"), assistant_call("a"), tool_result("a")]
    cut = curated(
        SlidingWindowManager(2), [SYSTEM, assistant_call("a", "b"), tool_result("a"), tool_result("b"), assistant("so")]
    )
    assert cut == [SYSTEM, assistant("so")], "a result never outlives its call"


def test_multiple_managers_chain_correctly():
    messages = history(8, size=400)
    chain = ComposedManager((ToolResultTruncator(1000), SlidingWindowManager(5)))
    out = curated(chain, messages)
    assert out == curated(SlidingWindowManager(5), curated(ToolResultTruncator(1000), messages))
    assert len(out) == 6
    assert max(len(message["content"] or "") for message in out) == 1000
    seen = []

    class Watch:
        def __init__(self, name):
            self.name = name

        def curate(self, messages, *, session):
            seen.append((self.name, len(messages), session))
            return list(messages[1:])

    ComposedManager((Watch("first"), Watch("second"))).curate(messages, session="s")
    assert seen == [("first", len(messages), "s"), ("second", len(messages) - 1, "s")]
    assert curated(ComposedManager(()), messages) == messages


@pytest.mark.parametrize("manager", [*MANAGERS, EngineManager()], ids=lambda manager: type(manager).__name__)
def test_empty_messages(manager):
    assert curated(manager, []) == []


def test_no_system_message():
    messages = history(6, system=False)
    assert curated(SlidingWindowManager(3), messages) == messages[-3:]
    assert curated(SlidingWindowManager(0), messages) == []
    for manager in MANAGERS:
        assert not violations(curated(manager, messages))


def test_window_of_zero():
    assert curated(SlidingWindowManager(0), history(6)) == [SYSTEM]
    assert curated(SlidingWindowManager(0), [SYSTEM]) == [SYSTEM]
    assert curated(SlidingWindowManager(0), []) == []


# ---- laws of all


@pytest.mark.parametrize("manager", [*MANAGERS, EngineManager()], ids=lambda manager: type(manager).__name__)
@given(DAMAGED)
def test_input_is_not_mutated_and_the_result_is_always_the_same(manager, messages):
    before = copy.deepcopy(messages)
    once = curated(manager, messages)
    assert messages == before
    assert curated(manager, copy.deepcopy(messages)) == once


@given(DAMAGED, st.integers(0, 12), st.integers(0, 120))
def test_every_manager_returns_a_valid_list_for_any_list(messages, window, length):
    for manager in (
        SlidingWindowManager(window),
        ToolResultTruncator(length),
        ComposedManager((ToolResultTruncator(length), SlidingWindowManager(window))),
    ):
        out = curated(manager, messages)
        assert not out or not violations(out)
        lead = 0
        while lead < len(out) and out[lead]["role"] in {"system", "developer"}:
            lead += 1
        if not isinstance(manager, ToolResultTruncator):
            assert len(out) <= window + lead


@given(st.integers(0, 20), st.booleans())
def test_coherent_does_not_change_a_valid_list(turns, system):
    messages = history(turns, system=system)
    assert coherent(messages) == messages


def test_invalid_settings_raise():
    for setting in (-1, 1.5, None, True):
        with pytest.raises(InvalidSetting, match="window_size must be a whole number of at least 0"):
            SlidingWindowManager(setting)
        with pytest.raises(InvalidSetting, match="max_length"):
            ToolResultTruncator(setting)
    with pytest.raises(InvalidMessage, match="message 1: the message has no role"):
        curated(SlidingWindowManager(3), [user("a"), {"content": "b"}])
