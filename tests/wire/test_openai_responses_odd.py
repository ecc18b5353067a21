"""Reading: what is odd comes out again or is refused by name; replies in every form they come in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from responses_kit import read, request_of, told

from transom.core.codec import decode, encode
from transom.core.entry import Entry
from transom.core.message import Assistant, Call, Media, Other, Text, Usage
from transom.errors import InvalidMessage
from transom.wire.rendering import render_messages
from transom.wire.responses import RESPONSES

USER = {"role": "user", "content": "hi"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "first"}]}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "sh", "arguments": "{}"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "hello", "annotations": [], "logprobs": []}],
}


def facts(*items):
    return [fact for _, fact in RESPONSES.parse(list(items))]


def test_the_items_of_a_turn_are_one_fact_placed_where_it_began():
    placed = RESPONSES.parse(
        [USER, THOUGHT, SAID, CALL, {"type": "function_call_output", "call_id": "a", "output": ""}]
    )
    assert [(at, type(fact).__name__) for at, fact in placed] == [(0, "User"), (1, "Assistant"), (4, "ToolResult")]
    turn = placed[1][1]
    assert turn.calls == (Call("a", "sh", "{}", {"id": "fc_1"}),)
    assert turn.parts == (Text("hello", {"annotations": [], "logprobs": []}),)
    assert [thought.text for thought in turn.reasoning] == ["first"]
    assert turn.order == ""
    assert all(fact.dialect == "responses" for _, fact in placed)


def test_a_turn_ends_with_anything_that_is_not_the_models():
    tools = {"type": "additional_tools", "role": "developer", "tools": []}
    settings = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    last = {"role": "system", "content": ""}
    names = [type(fact).__name__ for fact in facts(SAID, tools, SAID, USER, settings, CALL, SAID, last)]
    assert names == ["Assistant", "Instruction", "Assistant", "User", "Instruction", "Assistant", "Instruction"]


def test_what_a_search_for_tools_gave_back_is_the_turns():
    search = {"type": "tool_search_call", "call_id": "s", "arguments": {}}
    found = {"type": "tool_search_output", "call_id": "s", "tools": []}
    (turn,) = facts(search, found, SAID)
    assert turn.parts[:2] == (Other(search), Other(found))


def test_an_image_is_counted_as_one_wherever_it_comes():
    picture = {"type": "image_generation_call", "id": "ig_1", "result": "A" * 100_000}
    (turn,) = facts(picture)
    assert turn.parts == (Media("image", picture),)
    assert told([turn]).view.total.tokens == 3 + 4 + 1000


REFUSED = {
    "not a list": ("input", {}, "input: must be a list"),
    "an item": ([3], "item 0: an item must be an object, not a number"),
    "no type": ([USER, {}], "item 1: the item has no role, and its type must be a string, not null"),
    "type": ([{"type": 3}], "its type must be a string, not a number"),
    "role": ([{"role": "tool", "content": ""}], "role must be one of user, assistant, system, developer, not 'tool'"),
    "no role": ([{"type": "message"}], "role must be one of user, assistant, system, developer, not null"),
    "content": ([{"role": "user", "content": 3}], "content must be a string or a list of parts, not a number"),
    "part": ([{"role": "user", "content": ["x"]}], "content[0] must be an object, not a string"),
    "text": ([{"role": "user", "content": [{"type": "input_text"}]}], "content[0].text must be a string, not null"),
    "output": ([{"type": "function_call_output", "call_id": "a", "output": {}}], "output must be a string or a list"),
    "call_id": ([{**CALL, "call_id": 3}], "call_id must be a string, not a number"),
    "name": ([{**CALL, "name": []}], "name must be a string, not a list"),
    "summary": ([{"type": "reasoning", "summary": "x"}], "summary must be a list, not a string"),
    "thought": ([{"type": "reasoning", "content": ["x"]}], "content[0] must be an object, not a string"),
    "not JSON": ([{"role": "user", "content": "x", "y": {1, 2}}], "y holds a value that is not JSON"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_can_be_read_in_no_way_is_refused_by_name(why):
    given, *_, text = REFUSED[why]
    with pytest.raises(InvalidMessage) as refused:
        RESPONSES.parse({} if given == "input" else given)
    assert text in str(refused.value)


def test_where_is_said_in_front():
    with pytest.raises(InvalidMessage, match=r"^line 3, item 1: "):
        RESPONSES.parse([USER, 3], "line 3")


ODD = [
    {"type": "message", "role": "user", "content": [], "id": "msg_0", "odd": {"x": [1, None]}},
    {"role": "user", "content": [{"type": "input_text", "text": "x", "cache": True}, {"type": "brand_new", "n": 1}]},
    {"role": "assistant", "content": [], "id": "msg_9"},
    {"role": "assistant", "content": ""},
    {**CALL, "arguments": "{}", "namespace": "ns", "status": "completed"},
    {"type": "custom_tool_call", "call_id": "b", "name": "sh", "input": "", "x": 1},
    {"type": "brand_new_call", "call_id": "n", "deep": {"a": [{}]}},
    {"type": "function_call_output", "call_id": "a", "output": [], "id": "fco_1", "status": "completed"},
    {"type": "custom_tool_call_output", "call_id": "b", "output": "", "x": None},
    {"type": "additional_tools", "role": "developer", "tools": [{"type": "function", "name": "more"}], "x": 1},
    {"role": "developer", "content": [{"type": "input_text", "text": "x"}]},
    {"type": "item_reference", "id": "msg_7"},
]


def test_what_is_odd_but_valid_comes_out_as_it_came():
    request = {"input": [{"role": "user", "content": "hi"}, *ODD[1:]]}
    assert RESPONSES.violations(request) == []
    assert request_of(read(request)) == request


def test_a_message_without_content_is_kept_and_not_shown():
    conversation = read({"input": [ODD[0], USER]})
    assert conversation.log[0].body.extra == {"type": "message", "id": "msg_0", "odd": {"x": [1, None]}}
    assert request_of(conversation)["input"] == [USER]


def test_what_came_is_copied():
    item = {"role": "user", "content": [{"type": "input_image", "image_url": "u"}]}
    conversation = read({"input": [item]})
    item["content"][0]["image_url"] = "changed"
    out = request_of(conversation)["input"]
    assert out[0]["content"][0]["image_url"] == "u"
    out[0]["content"][0]["image_url"] = "changed"
    assert request_of(conversation)["input"][0]["content"] is not item["content"]


CALLED = ("function_call", "function_call_output", "custom_tool_call")
PARTS = st.lists(st.fixed_dictionaries({"type": st.text(max_size=3)}))


@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from([*CALLED, "message", "reasoning", "compaction", "odd", None])},
            optional={
                "role": st.sampled_from(["user", "assistant", "system", "x"]),
                "content": st.none() | st.text(max_size=3) | PARTS,
                "summary": st.none() | st.just([]) | st.just([{"text": 3}]),
                "call_id": st.sampled_from(["a", "b", "", None, 3]),
                "name": st.sampled_from(["sh", "", None, 3]),
                "arguments": st.sampled_from(["{", "", None, {"x": 1}, [1], 3]),
                "output": st.sampled_from(["", "x", None, [], 3]),
                "id": st.sampled_from(["x", None, 3, []]),
                "status": st.sampled_from(["x", None, 3]),
            },
        ),
        max_size=6,
    )
)
def test_whatever_is_read_is_stored_whole_and_shown_validly(items):
    try:
        facts = [fact for _, fact in RESPONSES.parse(items)]
    except InvalidMessage:
        return
    for at, fact in enumerate(facts):
        entry = Entry(seq=at, at=0.0, body=fact)
        assert decode(encode(entry)) == entry
    conversation = told(facts)
    sent = RESPONSES.body(conversation.head, render_messages(conversation.plan_request().view, RESPONSES))
    assert not sent["input"] or RESPONSES.violations(sent) == []


# ---- replies

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "error": None,
    "output": [THOUGHT, SAID, CALL],
    "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 64}, "output_tokens": 7},
}


class Dumps:
    """What client libraries hand out: it dumps itself as the dict it would send."""

    def __init__(self, fields, unset=()):
        self.fields, self.unset = fields, unset

    def model_dump(self, *, mode="python", exclude_unset=False, by_alias=False):
        assert mode == "json"
        assert by_alias
        return {key: value for key, value in self.fields.items() if not (exclude_unset and key in self.unset)}


class Plain(Dumps):
    def model_dump(self):
        return {**self.fields, **dict.fromkeys(self.unset)}


@pytest.mark.parametrize("made", [dict, Dumps, Plain])
def test_a_response_is_a_turn_with_its_usage(made):
    turn = RESPONSES.parse_reply(made(RESPONSE))
    assert turn.usage == Usage(prompt=100, cached=64, output=7)
    assert [call.id for call in turn.calls] == ["a"]
    assert request_of(told([turn]))["input"] == [THOUGHT, SAID, CALL]


@pytest.mark.parametrize("made", [Dumps, Plain])
def test_the_objects_of_a_response_may_be_its_items_and_its_input(made):
    items = [made(item, unset=("phase",)) for item in RESPONSE["output"]]
    turn = RESPONSES.parse_reply({"output": items, "usage": made(RESPONSE["usage"])})
    assert turn == RESPONSES.parse_reply(RESPONSE)
    assert [fact for _, fact in RESPONSES.parse(items)] == [RESPONSES.parse_reply(RESPONSE["output"])]


def test_bare_turns():
    assert RESPONSES.parse_reply(SAID) == RESPONSES.parse_reply([SAID]) == facts(SAID)[0]
    assert RESPONSES.parse_reply({"role": "assistant", "content": "x"}).parts == (Text("x"),)
    assert RESPONSES.parse_reply({"output": []}) == Assistant(shape="absent", dialect="responses")


NO_TURN = {
    "an error": ({"error": {"message": "overloaded"}, "output": []}, "the reply is an error: overloaded"),
    "an error event": ({"type": "error", "error": {"message": "gone"}}, "the reply is an error: gone"),
    "no output": ({"id": "resp_1", "output": None}, "the reply's output must be a list, not null"),
    "the user": (USER, "must be one turn of the model"),
    "a call and its output": (
        [CALL, {"type": "function_call_output", "call_id": "a", "output": ""}],
        "must be one turn",
    ),
    "text": ("hello", "a response, an item or a list of items is needed, not a string"),
    "an item": ([3], "reply, item 0: an item must be an object"),
}


@pytest.mark.parametrize("why", NO_TURN)
def test_what_is_no_turn_is_refused(why):
    given, text = NO_TURN[why]
    with pytest.raises(InvalidMessage) as refused:
        RESPONSES.parse_reply(given)
    assert text in str(refused.value)


def test_odd_usage_counts_as_none():
    assert (
        RESPONSES.parse_reply({**RESPONSE, "usage": {"input_tokens": "x", "input_tokens_details": None}}).usage
        == Usage()
    )
    assert RESPONSES.parse_reply({**RESPONSE, "usage": None}).usage is None
