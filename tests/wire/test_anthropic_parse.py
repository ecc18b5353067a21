"""What is read: messages to facts, replies, and what is refused."""

from __future__ import annotations

import pytest

from transom.core.message import Assistant, Call, Instruction, Media, Other, Reasoning, Text, ToolResult, Usage, User
from transom.errors import InvalidMessage
from transom.wire.anthropic import ANTHROPIC, AnthropicDialect

MARK = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
SERVER = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}


def text(words="x", **more):
    return {"type": "text", "text": words, **more}


def use(label="a", value=None, **more):
    return {"type": "tool_use", "id": label, "name": "sh", "input": {} if value is None else value, **more}


def turn(*blocks, **more):
    return {"role": "assistant", "content": list(blocks), **more}


def said(*blocks, **more):
    return {"role": "user", "content": list(blocks), **more}


def read(*messages, dialect=ANTHROPIC):
    return dialect.parse(list(messages))


def test_results_and_what_the_user_says_beside_them_are_facts_of_their_own():
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": "ok", "is_error": False, **MARK},
        {"type": "tool_result", "tool_use_id": "b", "content": [text(**MARK), IMAGE], "is_error": True},
        {"type": "tool_result", "tool_use_id": "c"},
    ]
    assert read(said(*results, text("and now"))) == [
        (0, ToolResult(call="a", parts=(Text("ok"),), extra={"is_error": False, **MARK}, dialect="anthropic")),
        (
            0,
            ToolResult(
                call="b",
                parts=(Text("x", MARK), Media("image", IMAGE)),
                shape="parts",
                failed=True,
                dialect="anthropic",
            ),
        ),
        (0, ToolResult(call="c", shape="absent", dialect="anthropic")),
        (0, User(parts=(Text("and now"),), shape="parts", dialect="anthropic")),
    ]


def test_a_turn_keeps_the_order_of_its_blocks():
    redacted = {"type": "redacted_thinking", "data": "ZGF0YQ=="}
    ((at, fact),) = read(
        turn(THOUGHT, text(), use(value={"b": [1, "汉"]}, caller={"type": "direct"}), redacted, SERVER)
    )
    assert at == 0
    assert fact == Assistant(
        parts=(Text("x"), Other(SERVER)),
        shape="parts",
        calls=(Call("a", "sh", '{"b":[1,"汉"]}', {"caller": {"type": "direct"}}),),
        reasoning=(
            Reasoning("hm", "thinking", bound=True, extra={"signature": "c2ln"}),
            Reasoning("ZGF0YQ==", "redacted_thinking", bound=True),
        ),
        order="rpcrp",
        pending_calls=("s1",),
        dialect="anthropic",
    )
    assert read(turn(THOUGHT, text(), use()))[0][1].order == ""


def test_reasoning_is_bound_where_the_model_binds_it():
    ((_, fact),) = read(turn(THOUGHT, text()), dialect=AnthropicDialect(bound=True))
    assert [thought.bound for thought in fact.reasoning] == [True]


def test_what_came_apart_stays_apart():
    facts = read(said(text("1")), said(text("2")), turn(text("3")), turn(text("4")), {**said(), "content": "5"}, said())
    assert [fact.separate for _, fact in facts] == [False, True, False, True, False, True]


def test_a_turn_that_goes_on_in_the_next_message_is_one():
    results = said({"type": "tool_result", "tool_use_id": "a"}, {"type": "tool_result", "tool_use_id": "b"})
    facts = read(turn(text(), use()), turn(use("b")), results)
    assert [(at, type(fact)) for at, fact in facts] == [(0, Assistant), (2, ToolResult), (2, ToolResult)]
    assert facts[0][1].order == "pc|c"
    facts = read(turn(SERVER), turn(FOUND, text()), turn(text()))
    assert [(at, fact.separate) for at, fact in facts] == [(0, False), (2, True)]
    facts = read(turn(use()), {**turn(), "content": "so"}, turn(use("b")))
    assert facts[0][1].order == "c|p|c"


def test_unknown_keys_of_a_message_stay_unless_it_holds_results():
    result = {"type": "tool_result", "tool_use_id": "a", "content": ""}
    facts = read(said(result, text(), id="m1"), said(text(), id="m2"), turn(text(), id="m3"))
    assert [fact.extra for _, fact in facts] == [None, None, {"id": "m2"}, {"id": "m3"}]


def test_a_system_message_in_the_middle_is_an_instruction():
    facts = read({"role": "system", "content": "brief"}, {"role": "system", "content": [text(**MARK)]})
    assert [fact for _, fact in facts] == [
        Instruction(parts=(Text("brief"),), dialect="anthropic"),
        Instruction(parts=(Text("x", MARK),), shape="parts", dialect="anthropic", separate=True),
    ]


def test_reading_copies():
    message = said(text(**MARK))
    ((_, fact),) = read(message)
    message["content"][0]["cache_control"]["type"] = "changed"
    assert fact.parts == (Text("x", {"cache_control": {"type": "ephemeral"}}),)


REFUSED = {
    "message 0: a message must be an object, not a string": "hi",
    "message 0: the message has no role": {"content": "x"},
    "message 0: role must be one of assistant, user, system, not 'tool'": {"role": "tool", "content": "x"},
    "message 0: role must be one of assistant, user, system, not a number": {"role": 3},
    "message 0: content must be a string or a list of blocks, not a number": {"role": "user", "content": 3},
    "message 0: content[1] must be an object, not a string": said(text(), "x"),
    "message 0: content[0].text must be a string, not null": turn({"type": "text"}),
    "message 0: content[0].type must be a string, not null": said({"text": "x"}),
    "message 0: content[0].thinking must be a string, not a number": turn({"type": "thinking", "thinking": 3}),
    "message 0: content[0].id must be a string, not a number": turn(use(3)),
    "message 0: content[0].name must be a string, not an object": turn({**use(), "name": {}}),
    "message 0: content[0].tool_use_id must be a string, not a list": said({"type": "tool_result", "tool_use_id": []}),
    "message 0: content[0].content must be a string or a list of blocks, not an object": said(
        {"type": "tool_result", "tool_use_id": "a", "content": {}}
    ),
    "message 0: content[0].content[0].text must be a string, not a boolean": said(
        {"type": "tool_result", "tool_use_id": "a", "content": [text(words=True)]}
    ),
    "message 0: content[0] is a tool_result: it belongs into a user message": turn(
        {"type": "tool_result", "tool_use_id": "a"}
    ),
    "message 0: content holds a value that is not JSON: object": said(object()),
}


@pytest.mark.parametrize(("why", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_what_can_be_read_in_no_way_is_refused_with_its_place(why, message):
    with pytest.raises(InvalidMessage) as refused:
        read(message)
    assert str(refused.value) == why
    with pytest.raises(InvalidMessage, match=r"row 3, message 1: "):
        ANTHROPIC.parse([said(text()), message], "row 3")


def test_the_parts_of_a_conversation_said_one_by_one():
    assert ANTHROPIC.parse_user("hi") == User(parts=(Text("hi"),), dialect="anthropic")
    assert ANTHROPIC.parse_user([IMAGE]) == User(parts=(Media("image", IMAGE),), shape="parts", dialect="anthropic")
    assert ANTHROPIC.parse_tool_result("a", "ok") == ToolResult(call="a", parts=(Text("ok"),), dialect="anthropic")
    assert ANTHROPIC.parse_system([text()])[0].shape == "parts"
    with pytest.raises(InvalidMessage, match=r"^user: a tool_result is no part of what the user says$"):
        ANTHROPIC.parse_user([{"type": "tool_result", "tool_use_id": "a"}])
    with pytest.raises(InvalidMessage, match=r"^system: must be a string or a list of text blocks, not null$"):
        ANTHROPIC.parse_system(None)


class Dumps:
    """A client library's object."""

    def __init__(self, **fields):
        self.fields = fields

    def model_dump(self):
        return {key: [dumped(each) for each in value] if isinstance(value, list) else dumped(value)
                for key, value in self.fields.items()}  # fmt: skip


def dumped(value):
    return value.model_dump() if isinstance(value, Dumps) else value


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [text(), use(value={"a": None})],
    "stop_reason": "tool_use",
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3_000,
        "output_tokens": 7,
    },
}
TURN = Assistant(parts=(Text("x"),), shape="parts", calls=(Call("a", "sh", '{"a":null}'),), dialect="anthropic")


def test_a_reply_is_the_turn_and_its_usage():
    fact = ANTHROPIC.parse_reply(MESSAGE)
    assert fact == Assistant(
        parts=TURN.parts,
        shape="parts",
        calls=TURN.calls,
        usage=Usage(prompt=3_210, cached=3_000, output=7, cache_write=200),
        dialect="anthropic",
    )
    blocks = [Dumps(**text(), citations=None), Dumps(**use(value={"a": None}), caller=None)]
    spoken = Dumps(**{**MESSAGE, "content": blocks, "usage": Dumps(**MESSAGE["usage"], server_tool_use=None)})
    assert ANTHROPIC.parse_reply(spoken) == fact
    assert ANTHROPIC.parse_reply({"role": "assistant", "content": blocks}) == TURN
    assert read({"role": "assistant", "content": blocks}, Dumps(role="user", content="go")) == [
        (0, TURN),
        (1, User(parts=(Text("go"),), dialect="anthropic")),
    ]


def test_usage_of_any_shape_is_read():
    assert ANTHROPIC.parse_reply({**MESSAGE, "usage": {"input_tokens": None, "output_tokens": "7"}}).usage == Usage()
    assert ANTHROPIC.parse_reply({**MESSAGE, "usage": None}).usage is None


def test_what_is_no_reply_is_refused():
    with pytest.raises(InvalidMessage, match="the reply is an error: Overloaded"):
        ANTHROPIC.parse_reply({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    with pytest.raises(InvalidMessage, match="a response or an assistant message is needed, not str"):
        ANTHROPIC.parse_reply("hi")
    with pytest.raises(InvalidMessage, match="role must be assistant, not 'user'"):
        ANTHROPIC.parse_reply(said(text()))
    with pytest.raises(InvalidMessage, match="the message has no role"):
        ANTHROPIC.parse_reply({"type": "message"})
