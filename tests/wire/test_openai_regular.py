"""The one step for regular messages says the same as the many steps for all."""

from __future__ import annotations

import sys
from enum import StrEnum
from types import MappingProxyType
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.json import encode
from msgspec.structs import replace
from test_openai_odd import odd_messages
from windows import conversations, viewed

from families import FAMILIES
from transom.core.edit import Trim
from transom.core.message import Assistant, Call, Text, ToolResult, User
from transom.errors import InvalidMessage
from transom.wire.openai import parse
from transom.wire.openai.regular import regular, regular_messages
from transom.wire.openai.render import unit_messages
from transom.wire.openai.reply import parse_reply
from transom.wire.turns import sendable

MANY_STEPS = [sys.modules[f"transom.wire.openai.{name}"] for name in ("parse", "reply")]


class Word(StrEnum):
    GREEN = "green"


def told(read, raw):
    """The fact, or why there is none."""
    try:
        return read(raw)
    except InvalidMessage as refused:
        return str(refused)


def slowly(read, raw):
    no = {"return_value": None}
    with patch.object(MANY_STEPS[0], "regular", **no), patch.object(MANY_STEPS[1], "regular", **no):
        return told(read, raw)


def check(raw):
    """Read and said alike in one step and in many; whether one was enough."""
    fact = told(parse, raw)
    assert fact == slowly(parse, raw)
    assert told(parse_reply, raw) == slowly(parse_reply, raw)
    if isinstance(fact, str):
        return False
    enough = check_units(viewed(*([turn(fact)] if isinstance(fact, ToolResult) else []), fact))
    return regular(raw) is not None and enough


def turn(answer):
    """A turn whose call this answers."""
    return Assistant(parts=(Text("so"),), calls=(Call(answer.call, "sh", "{}"),))


def check_units(view):
    """Said alike in one step and in many, to the order of keys; whether one was enough for all."""
    enough = True
    for unit in view.slots:
        said = regular_messages(unit)
        enough = enough and said is not None
        assert said is None or encode(said) == encode(sendable(unit_messages(unit)))
    return enough


@given(odd_messages())
def test_an_odd_message_is_read_and_said_as_by_the_many_steps(raw):
    check(raw)


CALL = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": "{}"}}


REGULAR = [
    {"role": "user", "content": "hello"},
    {"role": "user", "content": ""},
    {"role": "tool", "tool_call_id": "c1", "content": "out"},
    {"role": "assistant", "content": "done"},
    {"role": "assistant", "content": "so", "tool_calls": [CALL, {**CALL, "id": "c2"}]},
]
PARTS = [{"type": "text", "text": "x", "cache": 1}]
ODD = ["", None, 3, "a b", Word.GREEN, "\ud800", [], ["x"], {}, PARTS, (), (CALL,), {1}, MappingProxyType(CALL)]


@pytest.mark.parametrize("raw", REGULAR)
def test_one_step_is_enough_for_a_regular_message(raw):
    assert check(raw)


def deviations(value):
    """The value with one thing in it gone, odd or more than there should be."""
    yield from ODD
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        for other in deviations(inner):
            yield {**value, key: other} if isinstance(value, dict) else [*value[:key], other, *value[key + 1 :]]
    if isinstance(value, dict):
        yield from ({key: value[key] for key in value if key != gone} for gone in value)
        yield {**value, "x": 1}


@pytest.mark.parametrize("raw", [*REGULAR, {"role": "assistant", "content": "so", "function_call": CALL["function"]}])
def test_a_nearly_regular_message_is_read_and_said_as_by_the_many_steps(raw):
    for other in deviations(raw):
        check(other)
    for key in ("name", "refusal", "reasoning_content", "tool_calls", "function_call"):
        for value in (*ODD, "x", CALL["function"], [CALL]):
            check({**raw, key: value})


IDS = st.sampled_from(["c1", "c2", "", "\ud800", "\ud801", "é"])


@given(
    st.lists(IDS, min_size=1, max_size=3),
    st.lists(IDS, max_size=4),
    st.sampled_from(["out", "é", "\ud800", ""]),
    st.sampled_from(["{}", '{"a": "é"}', "\ud800"]),
)
def test_a_turn_and_its_answers_are_said_as_by_the_many_steps(calls, answers, text, args):
    asked = [{**CALL, "id": label, "function": {"name": "sh", "arguments": args}} for label in calls]
    answered = [{"role": "tool", "tool_call_id": label, "content": text} for label in answers]
    view = viewed(*map(parse, [{"role": "assistant", "content": text, "tool_calls": asked}, *answered]))
    plain = len(set(calls)) == len(calls) and all(label and label.isascii() for label in calls)
    assert check_units(view) or not plain


def test_a_trimmed_answer_is_said_as_by_the_many_steps():
    view = viewed(*map(parse, [REGULAR[-1], REGULAR[2]]), Trim(entry=1, part=("text", 0), keep=((0, 1),), note="-"))
    assert [part.text for part in view.slots[0].shown_facts()[1].parts] == ["o-"]
    assert check_units(view)


MADE = ToolResult(synthetic=True, place=(0, 0), call="other", parts=(Text("out"),))
BY_HAND = {
    "two texts": [User(parts=(Text("a"), Text("b")))],
    "a text with more to it": [User(parts=(Text("a", {"cache": 1}),))],
    "a call with an id that is legacy": [Assistant(parts=(Text("so"),), calls=(Call("c1", "sh", "{}", legacy=True),))],
    "an answer by place under another label": [turn(ToolResult(call="c1")), MADE],
    "a legacy answer by place": [turn(ToolResult(call="c1")), replace(MADE, call="c1", legacy=True)],
}


@pytest.mark.parametrize("facts", BY_HAND.values(), ids=BY_HAND)
def test_what_nobody_sends_is_said_as_by_the_many_steps(facts):
    assert not check_units(viewed(*facts))


def test_a_foreign_turn_is_no_regular_one():
    view = viewed(Assistant(parts=(Text("so"),), calls=(Call("c1", "sh", "{}"),), dialect="anthropic"))
    assert not check_units(view)


def test_what_is_not_a_plain_text_becomes_one():
    fact = regular({"role": "tool", "tool_call_id": Word.GREEN, "content": Word.GREEN})
    assert fact is not None
    assert [type(text) for text in (fact.call, fact.parts[0].text)] == [str, str]


def test_what_the_caller_does_afterwards_does_not_reach_a_regular_turn():
    raw = {"role": "assistant", "content": "so", "tool_calls": [{**CALL, "function": dict(CALL["function"])}]}
    fact = regular(raw)
    raw["tool_calls"][0]["function"]["name"] = "other"
    assert isinstance(fact, Assistant)
    assert fact.calls[0].name == "sh"


def test_most_recorded_messages_need_one_step(data):
    messages = [
        raw
        for family in FAMILIES
        for conversation in conversations(data / "conversations" / f"{family}.jsonl.gz", 3)
        for raw in conversation["messages"][:100]
    ]
    enough = [check(raw) for raw in messages]
    assert len(messages) > 1_000
    assert sum(enough) > 0.5 * len(messages)
