"""Each rule by an example that keeps it and one that breaks it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.wire.anthropic import ANTHROPIC, Violation, violations

USER = {"role": "user", "content": "hi"}
TEXT = {"type": "text", "text": "x"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
THOUGHT = {"type": "thinking", "thinking": "", "signature": "s"}
SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
SERVED = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
MARK = {"cache_control": {"type": "ephemeral"}}
MARKED = {**TEXT, **MARK}


def use(label="a", **more):
    return {"type": "tool_use", "id": label, "name": "sh", "input": {}, **more}


def got(label="a", **more):
    return {"type": "tool_result", "tool_use_id": label, "content": "ok", **more}


def turn(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def said(*blocks, role="user"):
    return {"role": role, "content": list(blocks)}


def system(content="s"):
    return {"role": "system", "content": content}


VALID = {
    "one message": [USER],
    "results in any order, then text (A1, A3)": [USER, turn(TEXT, use("a"), use("b")), said(got("b"), got("a"), TEXT)],
    "results in two messages (A1, A7)": [turn(use("a"), use("b")), said(got("a")), said(got("b")), USER],
    "a turn in two messages (A1, A7)": [turn(use("a")), turn(use("b")), said(got("a"), got("b"))],
    "an id again in a later turn (A5)": [turn(use()), said(got()), turn(use()), said(got())],
    "an id of any length (A6)": [turn(use("x_-" * 70)), said(got("x_-" * 70))],
    "the same role twice, assistant first (A7, A8)": [turn(TEXT), turn(TEXT), USER, USER],
    "system in the middle and last (A9)": [USER, system(), turn(TEXT), USER, system([TEXT]), system()],
    "the model's content may be empty (A10)": [USER, said(role="assistant"), USER, {**turn(), "content": ""}, USER],
    "a result's too (A10)": [turn(use(), use("b")), said(got(content=""), got("b", content=[]))],
    "a result without content": [turn(use()), said({"type": "tool_result", "tool_use_id": "a"})],
    "ends with a provider's tool (A12, A16)": [USER, turn(TEXT, SERVER)],
    "nothing but a provider's tool (A16)": [USER, turn(SERVER, SERVED), USER],
    "thinking at the end of a message, not of the turn": [USER, turn(TEXT, THOUGHT), turn(TEXT), USER],
    "thinking": [USER, turn(THOUGHT, {"type": "redacted_thinking", "data": "d"}, TEXT), USER],
    "white space at the end of a turn in the middle (A11)": [USER, turn({**TEXT, "text": "x "}), USER],
    "100 images (A17)": [said(*[IMAGE] * 100)],
    "an error that says something (A18)": [turn(use()), said(got(is_error=True))],
    "an error that shows something (A18)": [turn(use()), said(got(is_error=True, content=[IMAGE]))],
    "four marks (A19)": [said(MARKED, MARKED), turn(use(**MARK)), said(got(content=[MARKED]))],
    "kinds we do not know": [said({"type": "container_upload", "file_id": "f"}, {"type": "later"}), turn(TEXT), USER],
}


def test_an_id_again_in_a_later_turn_is_a_warning():
    messages = [turn(use()), said(got()), turn(use("b"), use()), said(got("b"), got()), turn(use()), said(got())]
    found = ANTHROPIC.warnings({"messages": messages})
    assert [(each.rule, each.index, each.why) for each in found] == [
        ("A5", 2, "the id 'a' is that of a call in message 0"),
        ("A5", 4, "the id 'a' is that of a call in message 0"),
    ]
    assert ANTHROPIC.warnings({"messages": [turn(use()), said(got()), turn(use("b")), said(got("b"))]}) == []
    assert (
        ANTHROPIC.warnings({"messages": [None, {"role": "assistant", "content": "x"}, turn({"type": "tool_use"})]})
        == []
    )


INVALID = {
    "A1 at the end": ([turn(use())], "A1", 0, "no result for a"),
    "A1 before a turn": ([turn(use("b"), use("c")), said(got("c")), turn(TEXT), USER], "A1", 0, "no result for b"),
    "A1 behind a system message": ([turn(use()), system(), USER], "A1", 0, "no result for a"),
    "A1 in the second message of a turn": ([turn(TEXT), turn(use()), USER], "A1", 1, "no result for a"),
    "A2 first": ([said(got())], "A2", 0, "no call 'a' in the turn before it"),
    "A2 a turn later": (
        [turn(use()), said(got()), turn(TEXT), said(got())],
        "A2",
        3,
        "no call 'a' in the turn before it",
    ),
    "A3": ([turn(use()), said(TEXT, got())], "A3", 1, "a result behind other content"),
    "A3 over messages": ([turn(use()), USER, said(got())], "A3", 2, "a result behind other content"),
    "A4": ([turn(use()), said(got(), got())], "A4", 1, "a second result for 'a'"),
    "A4 over messages": ([turn(use()), said(got()), said(got())], "A4", 2, "a second result for 'a'"),
    "A5": ([turn(use(), use()), said(got())], "A5", 0, "two calls share the id 'a'"),
    "A5 over messages": ([turn(use()), turn(use()), said(got())], "A5", 1, "two calls share the id 'a'"),
    "A9": ([system(), USER], "A9", 0, "a system message first"),
    "A10 blank": ([said({**TEXT, "text": " \n"})], "A10", 0, "content[0] is blank"),
    "A10 in a turn": ([USER, turn({**TEXT, "text": ""}, SERVER)], "A10", 1, "content[0] is blank"),
    "A10 string": ([{**USER, "content": ""}], "A10", 0, "content is blank"),
    "A10 turn of white space": ([{**turn(), "content": " x"}, {**turn(), "content": "\n"}, USER], "A10", 1, None),
    "A10 list": ([said()], "A10", 0, "content is empty"),
    "A12": ([USER, turn(TEXT)], "A12", 1, "ends with the model's own words"),
    "A12 thinking": ([USER, turn(THOUGHT)], "A12", 1, "ends with the model's own words"),
    "A17": ([said(*[IMAGE] * 101)], "A17", -1, "101 images"),
    "A18 string": ([turn(use()), said(got(is_error=True, content=" "))], "A18", 1, None),
    "A18 blocks": ([turn(use()), said(got(is_error=True, content=[{**TEXT, "text": ""}]))], "A18", 1, None),
    "A19": ([said(*[MARKED] * 5)], "A19", -1, "5 blocks with cache_control"),
    "message": ([USER, "hi"], "message", 1, "not an object"),
    "role": ([{**USER, "role": "tool"}], "role", 0, "no such role: 'tool'"),
    "role odd": ([{**USER, "role": ["user"]}], "role", 0, None),
    "content": ([{**USER, "content": None}], "content", 0, "content is not a string or a list"),
    "block without type": ([said({"text": "x"})], "content", 0, "content[0].type is not a string"),
    "block that is none": ([said("x")], "content", 0, "content[0].type is not a string"),
    "text without text": ([said({"type": "text"})], "content", 0, "content[0].text is not a string"),
    "thinking of the user": ([said(THOUGHT)], "content", 0, "content[0] is 'thinking'"),
    "a call of the user": ([said(use())], "content", 0, "content[0] is 'tool_use'"),
    "a result of the model": ([turn(got()), USER], "content", 0, "content[0] is 'tool_result'"),
    "input": ([turn(use(input="{}")), said(got())], "call", 0, "content[0].input is not an object"),
    "result": ([turn(use()), said(got(content={}))], "content", 1, None),
    "result of odd blocks": ([turn(use()), said(got(content=["x"]))], "content", 1, None),
    "result of odd texts": ([turn(use()), said(got(content=[{"type": "text"}]))], "content", 1, None),
    "name": ([turn(use(name="a b")), said(got())], "name", 0, "content[0].name 'a b'"),
    "name length": ([turn(use(name="a" * 129)), said(got())], "name", 0, None),
    "unsigned": ([turn({"type": "thinking", "thinking": "x"}, TEXT), USER], "thinking", 0, None),
    "redacted without data": (
        [turn({"type": "redacted_thinking"}, TEXT), USER],
        "thinking",
        0,
        "content[0].data is not a string",
    ),
    "thinking at the end of a turn": (
        [USER, turn(TEXT), turn(TEXT, THOUGHT), USER],
        "thinking",
        2,
        "the turn ends with 'thinking'",
    ),
    "redacted thinking behind a call": (
        [turn(use(), {"type": "redacted_thinking", "data": "d"}), said(got())],
        "thinking",
        0,
        "the turn ends with 'redacted_thinking'",
    ),
    "surrogate": ([said({**TEXT, "text": "a\ud800"})], "text", -1, "a lone surrogate"),
    "surrogate in a key": ([{**USER, "\udfff": 1}], "text", -1, "a lone surrogate"),
    "nothing": ([], "empty", -1, "no messages"),
}


@pytest.mark.parametrize("messages", VALID.values(), ids=VALID)
def test_a_valid_request_breaks_no_rule(messages):
    assert violations({"messages": messages}) == []


@pytest.mark.parametrize(("messages", "rule", "index", "why"), INVALID.values(), ids=INVALID)
def test_an_invalid_request_breaks_one_rule(messages, rule, index, why):
    (found,) = violations({"messages": messages})
    assert (found.rule, found.index) == (rule, index)
    assert why is None or found.why == why


def test_ids_are_checked_on_both_sides():  # A6
    for label in ("a b", "", "a\n", None, 3):
        found = violations({"messages": [turn(use(label)), said(got(label))]})
        assert [(each.rule, each.index) for each in found if each.rule == "A6"] == [("A6", 0), ("A6", 1)]


def test_white_space_at_the_very_end():
    """A11 comes with A12: what ends in it ends in the model's words."""
    found = violations({"messages": [USER, {**turn(), "content": "so "}]})
    assert [each.rule for each in found] == ["A11", "A12"]
    assert [each.rule for each in violations({"messages": [USER, {**turn(), "content": "so"}]})] == ["A12"]


def test_with_thinking_on_the_turn_in_work_begins_with_it():  # A14
    def rules(*blocks, kind="enabled", after=()):
        request = {"messages": [USER, turn(*blocks), said(got()), *after], "thinking": {"type": kind}}
        return [(each.rule, each.index) for each in violations(request)]

    assert rules(TEXT, use()) == [("A14", 1)]
    assert rules(THOUGHT, use()) == []
    assert rules({"type": "redacted_thinking", "data": ""}, use()) == []
    assert rules(use(), kind="adaptive") == []
    assert rules(use(), after=(turn(TEXT), USER)) == []


def test_the_system_prompt():
    def rules(system):
        return [(each.rule, each.index) for each in violations({"system": system, "messages": [USER]})]

    assert rules("s") == rules([TEXT, MARKED]) == rules(None) == []
    assert rules(" ") == rules([{**TEXT, "text": ""}]) == [("A10", -1)]
    assert rules({}) == rules([IMAGE]) == rules(["x"]) == [("system", -1)]
    assert rules([MARKED] * 5) == [("A19", -1)]


def test_tools_need_names_that_the_pattern_takes_and_their_marks_count():
    tools = [{"name": "ok"}, {"type": "mcp_toolset"}, {"name": "not ok", **MARK}]
    assert violations({"messages": [USER], "tools": tools}) == [Violation("name", -1, "tools[2].name 'not ok'")]
    found = violations({"messages": [said(*[MARKED] * 4)], "tools": [{"name": "t", **MARK}]})
    assert found == [Violation("A19", -1, "5 blocks with cache_control")]


def test_all_that_is_wrong_is_named_in_the_order_of_the_messages():
    messages = [said(got("x")), said({**TEXT, "text": ""}), turn(use(input=3)), USER]
    found = [(each.rule, each.index) for each in violations({"messages": messages})]
    assert found == [("A2", 0), ("A10", 1), ("call", 2), ("A1", 2)]


KEYS = st.sampled_from(
    ["messages", "role", "content", "type", "text", "id", "name", "input", "tool_use_id", "system", "tools", "thinking"]
)
WORDS = st.sampled_from(["user", "assistant", "system", "text", "tool_use", "tool_result", "thinking", "enabled", " "])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(
    JSON | st.fixed_dictionaries({"messages": st.lists(JSON, max_size=4)}, optional={"thinking": JSON, "tools": JSON})
)
def test_any_json_has_an_answer(request):
    assert all(isinstance(found, Violation) for found in violations(request))


def test_depth_is_no_matter():
    deep = "x"
    for _ in range(10_000):
        deep = [deep]
    assert violations({"messages": [{**USER, "deep": deep}]}) == []


def test_a_turn_needs_a_word_behind_it_unless_the_provider_is_at_work():
    ends = {"at work": [THOUGHT, SERVER], "has thought on": [SERVER, THOUGHT], "has said": [SERVER, TEXT]}
    facts = {name: ANTHROPIC.parse([turn(*blocks)])[0][1] for name, blocks in ends.items()}
    assert [name for name, fact in facts.items() if ANTHROPIC.required_user_turn(fact)] == [
        "has thought on",
        "has said",
    ]
