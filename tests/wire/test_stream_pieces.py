"""Pieces of a streamed reply are joined by what the API says joins them. (`tests/campaigns/streams.py` has random
ones.)"""

from __future__ import annotations

import pytest

import transom
from transom.core.message import Reasoning
from transom.providers.scripted import Scripted
from transom.wire.dialects import dialect_named


def chat(*deltas: dict, stop: str = "stop") -> list[dict]:
    chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}]


def piece(index: int | None, arguments: str, name: str | None = None, **beside: object) -> dict:
    function = {"arguments": arguments, **({} if name is None else {"name": name})}
    return {"tool_calls": [{**({} if index is None else {"index": index}), **beside, "function": function}]}


CALLS = {
    "interleaved": [piece(0, "", "f", id="a"), piece(1, "", "g", id="b"), piece(0, '{"k":0}'), piece(1, '{"k":1}')],
    "the second one begins first": [piece(1, '{"k":1}', "g", id="b"), piece(0, '{"k":0}', "f", id="a")],
    "another id in each piece": [piece(0, '{"k"', "f", id="a"), piece(0, ":0}", id="x"), piece(1, '{"k":1}', "g")],
    "the name in each piece": [
        piece(0, '{"k"', "f"),
        piece(0, ":0}", "f"),
        piece(0, "", "f"),
        piece(1, '{"k":1}', "g"),
    ],
    "empty ids": [piece(0, '{"k":0}', "f", id=""), piece(1, '{"k":1}', "g", id="")],
    "no ids": [piece(0, '{"k":0}', "f"), piece(1, '{"k":1}', "g")],
    "one id for both": [piece(0, '{"k":0}', "f", id="x"), piece(1, '{"k":1}', "g", id="x")],
    "neither index nor id": [piece(None, '{"k"', "f"), piece(None, ":0}"), piece(None, '{"k":1}', "g")],
    "one index for both": [piece(0, '{"k":0}', "f"), piece(0, '{"k":1}', "g")],
    "nulls": [piece(0, '{"k"', "f", id="a"), piece(0, ":0}", id=None, type=None), piece(1, '{"k":1}', "g")],
}


@pytest.mark.parametrize("case", CALLS)
def test_pieces_of_a_chat_call_belong_to_its_index(case):
    turn = dialect_named("openai").parse_reply(chat(*CALLS[case], stop="tool_calls"))
    assert [(call.name, call.args) for call in turn.calls] == [("f", '{"k":0}'), ("g", '{"k":1}')]
    with transom.Conversation.open("memory:", "x", budget=5_000) as conv:
        conv.user("Go")
        conv.observe(chat(*CALLS[case], stop="tool_calls"))
        conv.run("Go on.", provider=Scripted("Done."))  # the provider refuses calls that share an id, or have none


def test_thinking_as_lists_then_text_as_strings():
    """Magistral sends a reply so."""

    def thinking(text: str) -> dict:
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}

    chunks = chat(
        {"role": "assistant", "content": ""}, thinking("a"), thinking("b"), {"content": "x"}, {"content": "y"}
    )
    whole = [{"type": "thinking", "thinking": [{"type": "text", "text": "ab"}]}, {"type": "text", "text": "xy"}]
    dialect = dialect_named("mistral")
    assert dialect.parse_reply(chunks) == dialect.parse_reply({"role": "assistant", "content": whole})
    assert dialect.parse_reply(chunks).reasoning == (Reasoning("ab", "thinking"),)
    accumulator = dialect.accumulator()
    for chunk in chunks:
        accumulator.feed(chunk)
    shown = [tuple(delta) for delta in accumulator.take_deltas()]
    assert shown == [("reasoning", "a"), ("reasoning", "b"), ("text", "x"), ("text", "y")]


def detail(**fields: object) -> dict:
    return {"type": "reasoning.text", "format": "anthropic-claude-v1", **fields}


DETAILS = {
    "alone": [detail(text="a", index=0), detail(text="b", index=0), detail(signature="s", index=0)],
    "beside an empty text": [detail(text="ab", index=0), detail(text="", signature="s", index=0)],
    "beside null": [detail(text="ab", index=0, signature=None), detail(text=None, signature="s", index=0)],
    "in each piece": [detail(text="a", index=0, signature="s"), detail(text="b", index=0, signature="s")],
}


@pytest.mark.parametrize("case", DETAILS)
def test_reasoning_in_pieces_keeps_its_signature(case):
    turn = dialect_named("openai").parse_reply(chat(*({"reasoning_details": [each]} for each in DETAILS[case])))
    assert turn.extra == {"reasoning_details": [detail(text="ab", index=0, signature="s")]}


def test_a_whole_message_in_a_stream_is_the_reply_if_nothing_came_in_pieces():
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    whole = {"role": "assistant", "content": "whole", "tool_calls": [call]}
    chunk = {"choices": [{"index": 0, "message": whole, "finish_reason": "tool_calls"}]}
    turn = dialect_named("openai").parse_reply([chunk])
    assert turn == dialect_named("openai").parse_reply({"choices": [chunk["choices"][0]]})
    assert turn.calls
    pieces = chat({"role": "assistant", "content": "in "}, {"content": "pieces"})
    assert dialect_named("openai").parse_reply([*pieces, chunk]) == dialect_named("openai").parse_reply(pieces)


def test_a_signature_ends_a_block_that_has_no_index():
    more = chat(*({"reasoning_details": [each]} for each in (detail(text="a", signature="s"), detail(text="b"))))
    turn = dialect_named("openai").parse_reply(more)
    assert turn.extra == {"reasoning_details": [detail(text="a", signature="s"), detail(text="b")]}


def test_damaged_arguments_that_a_tool_use_ends_with_are_kept():
    """The model wrote them so, and they are not cut off: the tool's result says what is wrong."""
    chunks = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a": b}'}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    ]
    (call,) = dialect_named("anthropic").parse_reply(chunks).calls
    assert (call.name, call.args) == ("f", '{"a": b}')


@pytest.mark.parametrize("broken", [[1], {"a": 1}, "0"], ids=repr)
def test_an_index_that_is_no_number_ends_nothing(broken):
    call = {"index": broken, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    turn = dialect_named("openai").parse_reply(chat({"tool_calls": [call]}))
    assert [each.args for each in turn.calls] == ["{}"]
    event = {"type": "content_block_delta", "index": broken, "delta": {"type": "text_delta", "text": "x"}}
    assert len(dialect_named("anthropic").parse_reply([event]).parts) == 1


@pytest.mark.parametrize("pieces", [["get_", "weather"], ["get_weather", "get_weather"], ["get_weather", None, ""]])
def test_a_name_comes_in_pieces_or_whole_in_every_piece(pieces: list[str | None]) -> None:
    accumulator = dialect_named("openai").accumulator()
    for piece in pieces:
        called = {"index": 0, "id": "call_1", "function": {"name": piece, "arguments": ""}}
        accumulator.feed({"choices": [{"index": 0, "delta": {"tool_calls": [called]}}]})
    accumulator.feed({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    assert [called.name for called in accumulator.turn().calls] == ["get_weather"]


ONE_INDEX = {
    "the name ahead of its arguments": [
        piece(0, "", "f", id="a"),
        piece(0, '{"k":0}'),
        piece(0, "", "f", id="b"),
        piece(0, '{"k":1}'),
    ],
    "neither index nor id": [
        piece(None, "", "f"),
        piece(None, '{"k":0}'),
        piece(None, "", "f2"),
        piece(None, '{"k":1}'),
    ],
    "the whole call said again": [
        piece(0, '{"k":0}', "f", id="a"),
        piece(0, '{"k":0}', "f", id="a"),
        piece(0, '{"k":1}', "f", id="b"),
    ],
}


@pytest.mark.parametrize("case", ONE_INDEX)
def test_calls_under_one_index_are_told_apart(case: str) -> None:
    turn = dialect_named("openai").parse_reply(chat(*ONE_INDEX[case], stop="tool_calls"))
    assert [call.args for call in turn.calls] == ['{"k":0}', '{"k":1}']


NO_ARGUMENTS = {
    "in one piece": ([piece(0, '{"k":0}', "f", id="a"), piece(0, "", "f", id="b")], ['{"k":0}', ""]),
    "in two pieces": (
        [piece(0, '{"k":0}', "f", id="a"), piece(0, "", "f", id="b"), piece(0, "", id="b")],
        ['{"k":0}', ""],
    ),
    "the last piece, where each has another id": (
        [piece(0, '{"k"', "f", id="a"), piece(0, ":0}", "f", id="x"), piece(0, "", "f", id="y")],
        ['{"k":0}'],
    ),
    "the last piece, where the server numbers the calls": (
        [piece(0, '{"k":0}', "f", id="a"), piece(1, "{}", "f", id="b"), piece(1, "", "f", id="x")],
        ['{"k":0}', "{}"],
    ),
}


@pytest.mark.parametrize("case", NO_ARGUMENTS)
def test_a_call_without_arguments_under_the_index_of_another_is_one(case: str) -> None:
    pieces, arguments = NO_ARGUMENTS[case]
    turn = dialect_named("openai").parse_reply(chat(*pieces, stop="tool_calls"))
    assert [call.args for call in turn.calls] == arguments


def test_a_signature_may_come_ahead_of_its_text() -> None:
    turn = dialect_named("openai").parse_reply(
        chat(*({"reasoning_details": [each]} for each in (detail(signature="s", index=0), detail(text="a", index=0))))
    )
    assert turn.extra == {"reasoning_details": [detail(text="a", index=0, signature="s")]}


def block(index: object, **fields: object) -> dict:
    return {"type": "content_block_start", "index": index, "content_block": fields}


def delta(index: object, kind: str, **fields: object) -> dict:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def anthropic(*events: dict, stop: str = "end_turn"):
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {}}
    return dialect_named("anthropic").parse_reply([*events, end])


@pytest.mark.parametrize("ended", [True, False])
def test_a_text_that_no_event_begins_is_not_lost_in_the_thinking_before_it(ended: bool) -> None:
    stopped = [{"type": "content_block_stop", "index": 0}] if ended else []
    turn = anthropic(
        block(0, type="thinking", thinking=""),
        delta(0, "thinking_delta", thinking="a"),
        *stopped,
        delta(0, "text_delta", text=None),
        delta(0, "text_delta", text="x"),
    )
    assert ([part.text for part in turn.parts], turn.reasoning) == (["x"], (Reasoning("a", "thinking"),))


def test_an_index_may_be_written_as_a_text_and_arguments_may_come_first() -> None:
    events = (
        delta("1", "input_json_delta", partial_json='{"k":1}'),
        block("0", type="tool_use", id="a", name="f", input={}),
        block("1", type="tool_use", id="b", name="g", input={}),
        delta("0", "input_json_delta", partial_json='{"k":0}'),
    )
    turn = anthropic(*events, stop="tool_use")
    assert [(call.name, call.args) for call in turn.calls] == [("f", '{"k":0}'), ("g", '{"k":1}')]


def test_true_is_no_index() -> None:
    events = (block(1, type="text", text=""), block(2, type="text", text=""), delta(True, "text_delta", text="x"))
    assert [part.text for part in anthropic(*events).parts] == ["", "x"]


def test_arguments_whose_call_never_began_do_not_cost_the_text() -> None:
    events = (
        block(0, type="text", text=""),
        delta(0, "text_delta", text="x"),
        delta(1, "input_json_delta", partial_json='{"k":1}'),
    )
    turn = anthropic(*events)
    assert ([part.text for part in turn.parts], turn.calls) == (["x"], ())


def test_the_first_candidate_of_gemini_is_the_one_with_index_0_and_pieces_of_calls_may_be_mixed() -> None:
    def chunk(*calls: dict, **end: object) -> dict:
        other = {"index": 1, "content": {"parts": [{"text": "another"}]}}
        return {"candidates": [other, {"content": {"parts": [{"functionCall": call} for call in calls]}, **end}]}

    chunks = [
        chunk({"name": "f", "id": "1", "willContinue": True}, {"name": "g", "id": "2", "willContinue": True}),
        chunk({"id": "1", "partialArgs": [{"jsonPath": "$.a", "stringValue": "x"}], "willContinue": True}),
        chunk({"id": "2", "partialArgs": [{"jsonPath": "$.b", "numberValue": 2}]}),
        chunk({"id": "1"}, finishReason="STOP"),
    ]
    turn = dialect_named("gemini").parse_reply(chunks)
    assert turn.parts == ()
    assert [(call.id, call.name, call.args) for call in turn.calls] == [("1", "f", '{"a":"x"}'), ("2", "g", '{"b":2}')]


def test_a_call_of_responses_that_ends_without_its_arguments_has_those_that_came() -> None:
    call = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": call},
        {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "i", "delta": '{"k":0}'},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]
    assert [each.args for each in dialect_named("responses").parse_reply(events).calls] == ['{"k":0}']
