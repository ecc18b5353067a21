"""Every rule both ways: what breaks it is flagged with its number and place, what keeps it is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.wire.responses import DEEPSEEK_RESPONSES, RESPONSES, violations

USER = {"role": "user", "content": "hi"}
SAID = {"role": "assistant", "content": "hello"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}
SEARCH = {"type": "tool_search_call", "call_id": "s", "arguments": {}, "execution": "client"}
CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "sh", "input": "ls"}


def call(label="a", **rest):
    return {"type": "function_call", "call_id": label, "name": "sh", "arguments": "{}", **rest}


def output(label="a", **rest):
    return {"type": "function_call_output", "call_id": label, "output": "ok", **rest}


def said(*parts):
    return {"type": "message", "role": "assistant", "content": list(parts)}


def asked(*parts):
    return {"role": "user", "content": list(parts)}


KEPT = {
    "a text": "hi",
    "an answer": [USER, call(), output()],
    "parallel calls, any order": [call("a"), call("b"), output("b"), output("a")],
    "R3: things between": [call(), SAID, THOUGHT, SAID, USER, output()],
    "an id again in a later turn": [call(), output(), call(), output()],
    "a custom tool": [CUSTOM, {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"}],
    "an output for a built-in call": [SEARCH, output("s")],
    "R5: what it produced": [THOUGHT, call(), output()],
    "R5: another thought, then a message": [THOUGHT, {**THOUGHT, "id": "rs_2"}, SAID],
    "R5: a built-in call": [THOUGHT, {"type": "web_search_call", "id": "ws_1"}],
    "R7: 64": [call("x" * 64), output("x" * 64)],
    "R9": [{"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}, USER],
    "parts": [asked({"type": "input_text", "text": "x"}, {"type": "input_image", "file_id": "f"}, {"type": "new"})],
    "parts said": [said({"type": "output_text", "text": "x"}, {"type": "refusal", "refusal": "no"})],
    "parts of an output": [call(), output(output=[{"type": "input_file", "file_id": "f"}])],
    "any roles, any last": [{"role": "developer", "content": "x"}, {"role": "system", "content": ""}, SAID, SAID],
    "more tools": [USER, {"type": "additional_tools", "role": "developer", "tools": []}],
}

BROKEN = {
    "no input": ([], [("empty", -1)]),
    "empty text": ("", [("empty", -1)]),
    "a number": (7, [("item", -1)]),
    "R1": ([USER, call()], [("R1", 1)]),
    "R1: one of two": ([call("a"), call("b"), output("a")], [("R1", 1)]),
    "R1: custom": ([CUSTOM], [("R1", 0)]),
    "R1: two of one id": ([call(), call(), output()], [("R1", 1)]),
    "R2": ([USER, output()], [("R2", 1)]),
    "R2: before its call": ([output(), call()], [("R2", 0), ("R1", 1)]),
    "R2: a second answer": ([call(), output(), output()], [("R2", 2)]),
    "R2: of another kind": ([CUSTOM, output("c")], [("R2", 1)]),
    "R5: the user": ([THOUGHT, USER], [("R5", 0)]),
    "R5: the end": ([USER, THOUGHT], [("R5", 1)]),
    "R5: an output": ([call(), THOUGHT, output()], [("R5", 1)]),
    "R7": ([call("x" * 65), output("x" * 65)], [("R7", 0), ("R7", 1)]),
    "R9": ([{"type": "compaction", "id": "cmp_1"}], [("R9", 0)]),
    "no object": ([USER, "hi"], [("item", 1)]),
    "no type": ([{}], [("item", 0)]),
    "type is a number": ([{"type": 3, "role": "user", "content": "x"}], [("item", 0)]),
    "no summary": ([{"type": "reasoning"}, SAID], [("item", 0)]),
    "role": ([{"role": "tool", "content": "x"}], [("role", 0)]),
    "role is a list": ([{"role": [], "content": "x"}], [("role", 0)]),
    "no content": ([{"role": "user"}], [("content", 0)]),
    "content null": ([{"role": "assistant", "content": None}], [("content", 0)]),
    "no output": ([call(), {"type": "function_call_output", "call_id": "a"}], [("content", 1)]),
    "no type of a part": ([asked({"text": "x"})], [("content", 0)]),
    "chat's part": ([asked({"type": "text", "text": "x"})], [("content", 0)]),
    "no text": ([asked({"type": "input_text"})], [("content", 0)]),
    "heard in what was said": ([said({"type": "input_text", "text": "x"})], [("content", 0)]),
    "no refusal": ([said({"type": "refusal", "text": "x"})], [("content", 0)]),
    "said in an output": ([call(), output(output=[{"type": "output_text", "text": "x"}])], [("content", 1)]),
    "no call_id": ([{"type": "function_call", "name": "sh", "arguments": "{}"}], [("call", 0)]),
    "empty call_id": ([call(""), output("")], [("call", 0), ("call", 1)]),
    "no JSON in arguments": ([call(arguments="{"), output()], [("call", 0)]),
    "arguments": ([call(arguments={}), output()], [("call", 0)]),
    "name": ([call(name="a.b"), output()], [("name", 0)]),
    "long name": ([call(name="n" * 65), output()], [("name", 0)]),
    "no name": (
        [{**CUSTOM, "name": None}, {"type": "custom_tool_call_output", "call_id": "c", "output": ""}],
        [("name", 0)],
    ),
    "id": ([{**SAID, "id": "msg_1"}, USER, {**SAID, "id": "msg_1"}], [("id", 2)]),
    "text": ([{"role": "user", "content": "\ud83d"}], [("text", 0)]),
    "text deep in an item": ([{"type": "web_search_call", "action": {"q": ["\ud83d"]}}], [("text", 0)]),
    "text as input": ("\udc00", [("text", 0)]),
}


@pytest.mark.parametrize("why", KEPT)
def test_what_keeps_the_rules_is_not_flagged(why):
    assert violations({"input": KEPT[why]}) == []


@pytest.mark.parametrize("why", BROKEN)
def test_what_breaks_a_rule_is_flagged(why):
    given, expected = BROKEN[why]
    assert [(each.rule, each.index) for each in violations({"input": given})] == expected


@pytest.mark.parametrize("key", ["previous_response_id", "conversation", "prompt"])
def test_what_stands_elsewhere_cannot_be_missed(key):
    """R2, and that something must be asked; but a call in the input needs its output there."""
    assert violations({"input": [output()], key: "resp_1"}) == []
    assert violations({key: "resp_1"}) == []
    assert [each.rule for each in violations({"input": [output()], key: None})] == ["R2"]
    assert [each.rule for each in violations({"input": [call()], key: "resp_1"})] == ["R1"]


def test_a_reference_may_be_to_a_call():
    assert violations({"input": [{"type": "item_reference", "id": "fc_1"}, output()]}) == []


def test_r4_is_deepseeks():
    mixed = {"input": [SAID, call("a"), SAID, call("b"), output("a"), output("b")]}
    assert RESPONSES.violations(mixed) == []
    assert [(each.rule, each.index) for each in DEEPSEEK_RESPONSES.violations(mixed)] == [("R4", 1)]
    block = {"input": [SAID, THOUGHT, SAID, call("a"), call("b"), output("a"), output("b"), SAID]}
    assert DEEPSEEK_RESPONSES.violations(block) == []
    behind = {"input": [call("a"), call("b"), output("a"), SAID, output("b")]}
    assert [(each.rule, each.index) for each in DEEPSEEK_RESPONSES.violations(behind)] == [("R4", 1)]


def test_instructions_and_tools_are_looked_at_too():
    assert violations({"input": "hi", "instructions": "be brief", "tools": [{"type": "function", "name": "sh"}]}) == []
    assert violations({"input": "hi", "instructions": None, "tools": [{"type": "web_search"}, {"type": "mcp"}]}) == []
    assert [each.rule for each in violations({"input": "hi", "instructions": 3})] == ["content"]
    assert [each.rule for each in violations({"input": "hi", "instructions": "\ud83d"})] == ["text"]
    found = violations({"input": [USER], "tools": [{"type": "function", "name": "a b"}]})
    assert [(each.rule, each.index) for each in found] == [("name", -1)]


WORDS = st.sampled_from(["input", "type", "role", "content", "call_id", "id", "output", "x", "user", "assistant", "a"])
KINDS = st.sampled_from(
    ["message", "function_call", "function_call_output", "reasoning", "compaction", "custom_tool_call"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | KINDS | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | KINDS | st.just("tools"), inner, max_size=5),
    max_leaves=12,
)


@given(
    JSON | st.fixed_dictionaries({"input": st.lists(JSON, max_size=4)}, optional={"tools": JSON, "instructions": JSON})
)
def test_any_json_gives_a_list(value):
    for strict in (False, True):
        assert isinstance(violations(value, strict=strict), list)
