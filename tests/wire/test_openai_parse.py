"""Messages to facts: what goes where, that it all comes out again, and what is refused in which words."""

from __future__ import annotations

import pytest

from transom.core.message import Assistant, Call, Instruction, Media, Other, Reasoning, Text, ToolResult, User
from transom.errors import InvalidMessage
from transom.wire.openai import message, parse

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FILE = {"type": "document_url", "document_url": "https://example.org/a.pdf"}
THOUGHT = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}


def called(call, **extra):
    return {"role": "assistant", "content": None, "tool_calls": [call], **extra}


FACTS = {
    "user": ({"role": "user", "content": "hi", "name": "Ann"}, User(parts=(Text("hi"),), extra={"name": "Ann"})),
    "empty": ({"role": "user", "content": ""}, User(parts=(Text(""),))),
    "no parts": ({"role": "user", "content": []}, User(shape="parts")),
    "thinking of Mistral's": (
        {"role": "assistant", "content": [THOUGHT, {"type": "text", "text": "x"}, {**THOUGHT, "closed": True}]},
        Assistant(
            parts=(Text("x"),),
            reasoning=(Reasoning("hm", "thinking"), Reasoning("hm", "thinking", extra={"closed": True})),
            order="rpr",
            shape="parts",
        ),
    ),
    "thinking with a reference": (
        {"role": "assistant", "content": [{**THOUGHT, "thinking": [*THOUGHT["thinking"], {"type": "reference"}]}]},
        Assistant(
            parts=(Other({**THOUGHT, "thinking": [*THOUGHT["thinking"], {"type": "reference"}]}),), shape="parts"
        ),
    ),
    "system": ({"role": "system", "content": "s"}, Instruction(parts=(Text("s"),))),
    "developer": ({"role": "developer", "content": None}, Instruction(role="developer", shape="null")),
    "parts": (
        {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"t": 1}}, IMAGE, FILE, THOUGHT]},
        User(
            parts=(Text("a", {"cache_control": {"t": 1}}), Media("image", IMAGE), Media("file", FILE), Other(THOUGHT)),
            shape="parts",
        ),
    ),
    "part without type": ({"role": "user", "content": [{"x": 1}]}, User(parts=(Other({"x": 1}),), shape="parts")),
    "turn": (
        called({"id": "c1", "type": "function", "function": {"name": "sh", "arguments": "{not json"}}),
        Assistant(shape="null", calls=(Call("c1", "sh", "{not json"),)),
    ),
    "reasoning": (
        {"role": "assistant", "content": "a", "reasoning_content": "r", "reasoning": "q", "refusal": None},
        Assistant(parts=(Text("a"),), reasoning=(Reasoning("r"), Reasoning("q", "reasoning")), extra={"refusal": None}),
    ),
    "reasoning of another kind": (
        {"role": "assistant", "content": "a", "reasoning_content": None, "reasoning": ""},
        Assistant(parts=(Text("a"),), extra={"reasoning_content": None, "reasoning": ""}),
    ),
    "no calls": (
        {"role": "assistant", "tool_calls": None, "function_call": None},
        Assistant(shape="absent", extra={"tool_calls": None, "function_call": None}),
    ),
    "empty calls": (
        {"role": "assistant", "content": "x", "tool_calls": [], "function_call": {"name": "", "arguments": ""}},
        Assistant(parts=(Text("x"),), extra={"tool_calls": [], "function_call": {"name": "", "arguments": ""}}),
    ),
    "legacy call": (
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}", "x": 1}},
        Assistant(shape="null", calls=(Call("", "f", "{}", {"x": 1}, legacy=True),)),
    ),
    "legacy call beside calls": (
        called(
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "1"}},
            function_call={"name": "f", "arguments": "1"},
        ),
        Assistant(shape="null", calls=(Call("a", "f", "1"),), extra={"function_call": {"name": "f", "arguments": "1"}}),
    ),
    "call with more": (
        called({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "", "strict": True}}),
        Assistant(
            shape="null",
            calls=(
                Call("a", "f", "", {"index": 0, "type": "function", "function": {"arguments": "", "strict": True}}),
            ),
        ),
    ),
    "call with less": (
        called({"id": None, "function": {"name": None}}),
        Assistant(shape="null", calls=(Call("", "", "", {"id": None, "function": {"name": None}}),)),
    ),
    "arguments as an object": (
        called({"id": "a", "type": "function", "function": {"name": "f", "arguments": {"b": [1, "é"], "a": None}}}),
        Assistant(
            shape="null",
            calls=(
                Call(
                    "a",
                    "f",
                    '{"b":[1,"é"],"a":null}',
                    {"type": "function", "function": {"arguments": {"b": [1, "é"], "a": None}}},
                ),
            ),
        ),
    ),
    "custom call": (
        called({"id": "a", "type": "custom", "custom": {"name": "patch", "input": "***"}}),
        Assistant(shape="null", calls=(Call("a", "patch", "***", {"type": "custom", "custom": {}}),)),
    ),
    "result": (
        {"role": "tool", "tool_call_id": "a", "content": "ok", "name": "sh"},
        ToolResult(call="a", parts=(Text("ok"),), extra={"name": "sh"}),
    ),
    "result without a label": (
        {"role": "tool", "tool_call_id": None, "content": [IMAGE]},
        ToolResult(parts=(Media("image", IMAGE),), shape="parts", extra={"tool_call_id": None}),
    ),
    "legacy result": (
        {"role": "function", "name": "f", "content": "ok"},
        ToolResult(parts=(Text("ok"),), legacy=True, extra={"name": "f"}),
    ),
    "surrogate": ({"role": "user", "content": "a\ud800"}, User(parts=(Text("a\ud800"),))),
}


@pytest.mark.parametrize(("raw", "fact"), FACTS.values(), ids=FACTS)
def test_a_message_becomes_a_fact_and_the_same_message_again(raw, fact):
    assert parse(raw) == fact
    assert message(fact) == raw


CALL = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}

REFUSED = {
    "no message": ("hi", "a message must be an object, not a string"),
    "null": (None, "a message must be an object, not null"),
    "no role": ({"content": "x"}, "the message has no role"),
    "role": ({"role": "bot"}, "role must be one of system, developer, user, assistant, tool, function, not 'bot'"),
    "role odd": ({"role": {}}, "role must be one of system, developer, user, assistant, tool, function, not an object"),
    "key": ({1: 2}, "the keys of a message must be strings, not a number"),
    "name": ({"role": "user", "name": 5}, "name must be a string, not a number"),
    "content": ({"role": "user", "content": True}, "content must be a string, a list of parts or null, not a boolean"),
    "content object": (
        {"role": "user", "content": {}},
        "content must be a string, a list of parts or null, not an object",
    ),
    "part": (
        {"role": "user", "content": [{"type": "text", "text": "a"}, "b"]},
        "content[1] must be an object, not a string",
    ),
    "text": ({"role": "user", "content": [{"type": "text"}]}, "content[0].text must be a string, not null"),
    "calls": ({"role": "assistant", "tool_calls": {}}, "tool_calls must be a list, not an object"),
    "call": (called("f"), "tool_calls[0] must be an object, not a string"),
    "no function": (called({"id": "a"}), "tool_calls[0] has no function"),
    "no custom": (called({"id": "a", "type": "custom", "function": {}}), "tool_calls[0] has no custom"),
    "function": (called({"function": "f"}), "tool_calls[0].function must be an object, not a string"),
    "call id": (called({**CALL, "id": 7}), "tool_calls[0].id must be a string, not a number"),
    "call name": (called({"function": {"name": []}}), "tool_calls[0].function.name must be a string, not a list"),
    "function_call": ({"role": "assistant", "function_call": "f"}, "function_call must be an object, not a string"),
    "function_call name": (
        {"role": "assistant", "function_call": {"name": 1}},
        "function_call.name must be a string, not a number",
    ),
    "function_call name list": (
        {"role": "assistant", "function_call": {"name": [""]}},
        "function_call.name must be a string, not a list",
    ),
    "tool_call_id": ({"role": "tool", "tool_call_id": 1}, "tool_call_id must be a string, not a number"),
    "not JSON": (
        {"role": "user", "content": [{"type": "x", "x": b""}]},
        "content holds a value that is not JSON: bytes",
    ),
    "not finite": ({"role": "user", "x": float("inf")}, "x holds inf, which is not JSON"),
    "key inside": ({"role": "user", "x": {1: 1}}, "x holds an object with a key that is not a string"),
}


@pytest.mark.parametrize(("raw", "why"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_message_is_refused_in_one_line(raw, why):
    with pytest.raises(InvalidMessage) as refused:
        parse(raw, "a.jsonl:3, messages[7]")
    assert (refused.value.where, refused.value.why) == ("a.jsonl:3, messages[7]", why)
    assert "\n" not in str(refused.value)


def nested(levels):
    deep = "x"
    for level in range(levels):
        deep = [deep] if level % 2 else {"a": deep}
    return deep


@pytest.mark.parametrize("place", ["extra", "part", "call"])
def test_nesting_has_an_end(place):
    def at(deep):
        return {
            "extra": {"role": "user", "content": "x", "extra": deep},
            "part": {"role": "user", "content": [{"type": "x", "x": deep}]},
            "call": called({**CALL, "x": deep}),
        }[place]

    field = {"extra": "extra", "part": "content", "call": "tool_calls"}[place]
    assert message(parse(at(nested(90)))) == at(nested(90))
    with pytest.raises(InvalidMessage, match=f"m: {field} is nested more than 100 levels deep"):
        parse(at(nested(10_000)), "m")


def test_a_cycle_is_refused():
    raw = {"role": "user", "content": "x"}
    raw["self"] = raw
    with pytest.raises(InvalidMessage, match="self is nested more than 100 levels deep"):
        parse(raw)


def test_what_the_caller_does_afterwards_does_not_reach_the_fact():
    raw = {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}], "x": {"y": [1]}}
    fact = parse(raw)
    raw["content"][0]["image_url"]["url"] = "v"
    raw["x"]["y"].append(2)
    assert fact == User(
        parts=(Media("image", {"type": "image_url", "image_url": {"url": "u"}}),),
        shape="parts",
        extra={"x": {"y": [1]}},
    )
