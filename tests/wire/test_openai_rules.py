"""Each rule by an example that keeps it and one that breaks it."""

from __future__ import annotations

import pytest

from transom.wire.openai import Violation, violations

USER = {"role": "user", "content": "hi"}


def call(label="a", name="sh", args="{}"):
    return {"id": label, "type": "function", "function": {"name": name, "arguments": args}}


def turn(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def answer(label="a", content="ok"):
    return {"role": "tool", "tool_call_id": label, "content": content}


def said(*parts, role="user"):
    return {"role": role, "content": list(parts)}


TEXT = {"type": "text", "text": "x"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
AUDIO = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
ASKS = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}

VALID = {
    "one message": [USER],
    "calls answered in any order (C5)": [turn(call("a"), call("b")), answer("b"), answer("a"), USER],
    "a label again in a later turn (C13)": [turn(call()), answer(), turn(call()), answer()],
    "a long label (C6)": [turn(call("x" * 53)), answer("x" * 53)],
    "roles twice running, assistant first, system last (C9)": [
        {"role": "assistant", "content": "a"},
        {"role": "assistant", "content": "b"},
        USER,
        USER,
        {"role": "system", "content": "s"},
    ],
    "a developer (C10)": [{"role": "developer", "content": "d"}, USER],
    "names (C7)": [{**USER, "name": "Ann-1_x"}, turn(call(name="a" * 64)), answer(), {**USER, "name": None}],
    "no content beside calls (C8)": [turn(call(), content=[]), answer(), {"role": "assistant", "audio": {"id": "x"}}],
    "a custom tool": [turn({"id": "a", "type": "custom", "custom": {"name": "p", "input": "free"}}), answer()],
    "parts": [said(TEXT, IMAGE, AUDIO), turn(call()), answer(content=[TEXT]), said(TEXT, role="system")],
    "legacy": [ASKS, {"role": "function", "name": "f", "content": None}, ASKS],
    "tool_calls null": [{"role": "assistant", "content": "x", "tool_calls": None, "function_call": None}],
}

INVALID = {
    "C1 at the end": ([turn(call())], "C1", 0, "no answer to a"),
    "C1 before another role": ([turn(call("b"), call("a")), answer("b"), USER], "C1", 0, "no answer to a"),
    "C1 before a turn": ([turn(call()), turn(call("b")), answer("b")], "C1", 0, "no answer to a"),
    "C2 first": ([answer()], "C2", 0, "a tool message without calls before it"),
    "C2 after a user": ([turn(call()), answer(), USER, answer()], "C2", 3, "a tool message without calls before it"),
    "C3": ([turn(call()), answer(), answer("z")], "C3", 2, "no call 'z' in the assistant message before it"),
    "C4 answers": ([turn(call()), answer(), answer()], "C4", 2, "a second answer to 'a'"),
    "C4 calls": ([turn(call(), call()), answer()], "C4", 0, "two calls share an id"),
    "C7 name": ([{**USER, "name": "Ann B"}], "C7", 0, "name 'Ann B'"),
    "C7 empty": ([{**USER, "name": ""}], "C7", 0, "name ''"),
    "C7 call": ([turn(call(name="a" * 65)), answer()], "C7", 0, f"tool_calls[0].function.name {'a' * 65!r}"),
    "C7 line end": ([turn(call(name="a\n")), answer()], "C7", 0, r"tool_calls[0].function.name 'a\n'"),
    "C7 function": ([ASKS, {"role": "function", "content": "x"}], "C7", 1, "name None"),
    "C7 custom": (
        [turn({"id": "a", "type": "custom", "custom": {"input": ""}}), answer()],
        "C7",
        0,
        "tool_calls[0].custom.name None",
    ),
    "C8 null": ([{"role": "assistant", "content": None}], "C8", 0, "neither content nor calls"),
    "C8 absent": ([{"role": "assistant", "tool_calls": []}], "C8", 0, "neither content nor calls"),
    "C8 no parts": ([said(role="assistant")], "C8", 0, "neither content nor calls"),
    "C8 refusal": ([{"role": "assistant", "content": None, "refusal": "no"}], "C8", 0, "neither content nor calls"),
    "C11": ([turn(call()), answer(content=[TEXT, AUDIO])], "C11", 1, "content[1] is 'input_audio'"),
    "C12": ([turn(call(args={"a": 1})), answer()], "C12", 0, "tool_calls[0].function.arguments is not a string"),
    "C12 legacy": ([{**ASKS, "function_call": {"name": "f"}}], "C12", 0, "function_call.arguments is not a string"),
    "legacy": ([USER, {"role": "function", "name": "f", "content": ""}], "legacy", 1, None),
    "legacy twice": ([ASKS, *[{"role": "function", "name": "f", "content": ""}] * 2], "legacy", 2, None),
    "legacy after tool_calls": (
        [turn(call()), answer(), {"role": "function", "name": "f", "content": ""}],
        "legacy",
        2,
        None,
    ),
    "role unknown": ([{"role": "bot", "content": "x"}], "role", 0, "no such role: 'bot'"),
    "role absent": ([{"content": "x"}], "role", 0, "no such role: None"),
    "role odd": ([{"role": ["user"], "content": "x"}], "role", 0, "no such role: ['user']"),
    "message": ([USER, "hi"], "message", 1, "not an object"),
    "content null": ([{"role": "user", "content": None}], "content", 0, "no content"),
    "content absent": ([turn(call()), {"role": "tool", "tool_call_id": "a"}], "content", 1, "no content"),
    "content empty": ([said()], "content", 0, "no content"),
    "content odd": ([{"role": "user", "content": 5}], "content", 0, "content is not a string or a list"),
    "function parts": (
        [ASKS, {"role": "function", "name": "f", "content": [TEXT]}],
        "content",
        1,
        "content is not a string",
    ),
    "part odd": ([said("x")], "content", 0, "content[0].type is not a string"),
    "part without text": ([said({"type": "text", "text": None})], "content", 0, "content[0].text is not a string"),
    "call without id": ([turn({"type": "function", "function": {"name": "f", "arguments": "{}"}})], "call", 0, None),
    "C12 no JSON": (
        [turn(call(args="*** Begin Patch")), answer()],
        "C12",
        0,
        "tool_calls[0].function.arguments is no JSON object: '*** Begin Patch'",
    ),
    "C12 not a number": ([turn(call(args='{"a": NaN}')), answer()], "C12", 0, None),
    "C11 an image": ([turn(call()), answer(content=[TEXT, IMAGE])], "C11", 1, "content[1] is 'image_url'"),
    "call without type": ([turn({**call(), "type": None}), answer()], "call", 0, "tool_calls[0].type is None"),
    "custom without input": (
        [turn({"id": "a", "type": "custom", "custom": {"name": "p"}}), answer()],
        "call",
        0,
        "tool_calls[0].custom.input is not a string",
    ),
    "calls odd": ([{"role": "assistant", "content": "x", "tool_calls": {}}], "call", 0, "tool_calls is not a list"),
    "surrogate": ([said({"type": "text", "text": "a\ud800"})], "text", 0, "a lone surrogate"),
    "surrogate in a key": ([{**USER, "\udfff": 1}], "text", 0, "a lone surrogate"),
    "nothing": ([], "empty", -1, "no messages"),
}


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_a_valid_request_breaks_no_rule(messages):
    assert violations(messages) == []


@pytest.mark.parametrize(("messages", "rule", "index", "why"), INVALID.values(), ids=INVALID)
def test_an_invalid_request_breaks_one_rule(messages, rule, index, why):
    (found,) = violations(messages)
    assert (found.rule, found.index) == (rule, index)
    assert why is None or found.why == why


def test_all_that_is_wrong_is_named_in_the_order_of_the_messages():
    messages = [answer("x"), {**USER, "name": "?"}, turn(call(args=None)), USER]
    assert [(found.rule, found.index) for found in violations(messages)] == [
        ("C2", 0),
        ("C7", 1),
        ("C12", 2),
        ("C1", 2),
    ]


def test_tools_need_names_that_the_pattern_takes():
    def tool(name):
        return {"type": "function", "function": {"name": name}}

    own = {"type": "openrouter:web_search", "parameters": {}}
    assert violations([USER], [tool("ok"), own]) == []
    assert violations([USER], [own, tool("not ok")]) == [Violation("C7", -1, "tools[1].function.name 'not ok'")]


def test_depth_is_no_matter():
    deep = "x"
    for _ in range(10_000):
        deep = [deep]
    assert violations([{**USER, "deep": deep}]) == []
