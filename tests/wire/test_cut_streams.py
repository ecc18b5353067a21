"""A stream that ends inside a tool call: the call is left out of the turn, and named."""

from __future__ import annotations

import logging

import pytest
from test_streams import BLOCKS, CALL, FUNCTION, MAKERS

import transom
from transom.core.message import Assistant, Text
from transom.wire.dialects import dialect_named

BOOK_AND_NOW = {
    "openai": {
        "content": None,
        "tool_calls": [CALL, {**CALL, "id": "call_2", "function": {"name": "now", "arguments": "{}"}}],
    },
    "anthropic": BLOCKS[1],
    "responses": [FUNCTION, {**FUNCTION, "id": "fc_2", "call_id": "call_2", "name": "now"}],
}
OLD_FORM = {"role": "assistant", "function_call": {"name": "book", "arguments": '{"ci'}}


def chunks_of(name):
    make, _, _ = MAKERS[name]
    return make(BOOK_AND_NOW[name], typed=False)[1]


@pytest.mark.parametrize("name", list(BOOK_AND_NOW))
def test_at_any_moment_a_call_that_began_is_in_the_turn_or_open(name):
    accumulator = MAKERS[name][2]()
    seen = []
    for chunk in chunks_of(name):
        accumulator.feed(chunk)
        state = [call.name for call in accumulator.turn().calls], list(accumulator.open_calls)
        if not seen or seen[-1] != state:
            seen.append(state)
    assert seen == [([], []), ([], ["book"]), (["book"], []), (["book"], ["now"]), (["book", "now"], [])]


@pytest.mark.parametrize("name", list(BOOK_AND_NOW))
def test_reading_a_stream_that_ended_inside_a_call_warns(name, caplog):
    dialect, chunks = dialect_named(name), chunks_of(name)
    cut = next(at for at in range(len(chunks)) if "now" in open_calls(name, chunks[:at]))
    with (
        transom.Conversation.open("memory:", "x", budget=100_000, dialect=name) as conversation,
        caplog.at_level(logging.WARNING),
    ):
        conversation.user("Book it")
        conversation.append(dialect.parse_reply(chunks[:cut]))
        (call,) = conversation.log[1].body.calls
        assert call.name == "book"
        assert caplog.messages == ["the stream ended inside a call of now: the call is left out of the reply"]
        conversation.tool_result(call.id, "Booked.")
        body = transom.render(conversation.window(), dialect)
        assert dialect.violations(body) == []
        caplog.clear()
        conversation.observe(chunks)
        assert caplog.messages == []


def open_calls(name, chunks):
    accumulator = MAKERS[name][2]()
    for chunk in chunks:
        accumulator.feed(chunk)
    return accumulator.open_calls


def test_a_call_that_ends_with_the_tokens_is_open():
    start = {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": '{"city": "Li'}
    chunks = [
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": piece},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
    ]
    assert open_calls("anthropic", chunks) == ["book"]


def test_a_function_in_the_old_form_of_chat_is_open():
    assert open_calls("openai", [{"choices": [{"index": 0, "delta": OLD_FORM}]}]) == ["book"]
    assert open_calls("openai", [{"choices": [{"index": 0, "delta": OLD_FORM, "finish_reason": "length"}]}]) == []


def gemini_piece(call: dict) -> dict:
    return {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": call}]}}]}


def test_a_gemini_call_in_pieces_is_open_until_its_last_one(caplog):
    pieces = [
        {"name": "book", "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Lis", "willContinue": True}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.city", "stringValue": "bon"}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.seats[1]['no.']", "numberValue": 7}], "willContinue": True},
        {"partialArgs": [{"jsonPath": "$.seats[0]", "nullValue": "NULL_VALUE"}], "willContinue": True},
    ]
    chunks = [gemini_piece(each) for each in pieces]
    text = {"candidates": [{"content": {"role": "model", "parts": [{"text": "I book."}]}, "finishReason": "STOP"}]}
    turn = dialect_named("gemini").parse_reply([text, *chunks])
    assert (turn.calls, [part.text for part in turn.parts]) == ((), ["I book."])
    assert caplog.messages == ["the stream ended inside a call of book: the call is left out of the reply"]
    turn = dialect_named("gemini").parse_reply([text, *chunks, gemini_piece({})])
    whole = {"name": "book", "args": {"city": "Lisbon", "seats": [None, {"no.": 7}]}}
    (call,) = dialect_named("gemini").parse_reply(gemini_piece(whole)).calls
    assert turn.calls == (call,)


@pytest.mark.parametrize("is_streamed", [True, False])
@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ([{"executableCode": {"language": "PYTHON", "code": "1"}}], []),
        ([{"toolCall": {"id": "q"}}, {"functionCall": {"name": "f", "args": {}}}], [1]),
        (
            [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
                {"toolCall": {"id": "q"}},
                {"toolResponse": {"id": "q"}},
            ],
            [0, 1, 2, 3],
        ),
        (
            [
                {"executableCode": {"language": "PYTHON", "code": "1"}},
                {"text": "It runs."},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
                {"executableCode": {"language": "PYTHON", "code": "2"}},
            ],
            [0, 1, 2],
        ),
    ],
)
def test_geminis_own_tools_without_a_result_are_no_part_of_a_reply_that_ended_early(
    is_streamed: bool, parts: list[dict], kept: list[int]
) -> None:
    ended = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "MAX_TOKENS"}]}
    dialect = dialect_named("gemini")
    turn = dialect.parse_reply([ended] if is_streamed else ended)
    whole = [dialect.parse_reply({"parts": [parts[at]]}) for at in kept]
    said = [part for part in turn.parts if part != Text("")]
    assert [*said, *turn.calls] == [each for one in whole for each in (*one.parts, *one.calls)]


@pytest.mark.parametrize("status", ["in_progress", "interpreting", "incomplete", "completed"])
def test_a_call_of_openais_own_tools_that_was_running_is_no_part_of_a_reply_that_ended_early(status: str) -> None:
    code = {"type": "code_interpreter_call", "id": "ci", "code": "1", "container_id": "c", "status": status}
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "status": "incomplete"}
    reply = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [code, call]}
    done = [
        {"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate((code, call))
    ]
    end = {"type": "response.incomplete", "response": {**reply, "output": []}}
    for each in (reply, done, [*done, end], [*done, {**end, "response": reply}]):
        turn = dialect_named("responses").parse_reply(each)
        assert (len(turn.parts), len(turn.calls)) == (status == "completed", 1)


def test_a_whole_call_is_a_reply_also_if_the_stream_broke_off_behind_it() -> None:
    delta = {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}
    turn = dialect_named("openai").parse_reply([{"choices": [{"index": 0, "delta": delta}]}])
    assert [(call.name, call.args) for call in turn.calls] == [("f", "{}")]


@pytest.mark.parametrize("name", list(MAKERS))
def test_observe_refuses_every_stream_that_broke_off_and_failed_takes_the_error(name: str) -> None:
    make, replies, accumulator_of = MAKERS[name]
    chunks = make(replies[1], typed=False)[1]
    whole = next(at for at in range(1, len(chunks) + 1) if ended(accumulator_of(), chunks[:at]))
    said = 0
    for upto in range(1, whole):
        with transom.Conversation.open("memory:", "x", budget=100_000, dialect=name) as conv:
            conv.user("Book it")
            conv.request()
            entries = len(conv.log)
            with pytest.raises((transom.ProviderError, transom.InvalidMessage)) as broken:
                conv.observe(chunks[:upto])
            if isinstance(broken.value, transom.ProviderError):
                assert len(conv.log) == entries
            decision = conv.failed(broken.value, retry=transom.Retry(wait=0, attempts=2))
            failure = conv.log[decision.entry].body
            if isinstance(broken.value, transom.ProviderError):
                assert (decision.kind, decision.retry) == ("connection", True)
                assert "the stream ended before the reply did" in decision.why
                said += bool(failure.text or failure.reasoning)
            conv.request()
            conv.observe(chunks)
            assert isinstance(conv.log[len(conv.log) - 1].body, Assistant)
    assert said or name == "openai"


def ended(accumulator, chunks):
    for chunk in chunks:
        accumulator.feed(chunk)
    return accumulator.finished


def test_the_text_of_a_stream_that_broke_off_is_shown_if_nobody_tries_again() -> None:
    chunks = [{"choices": [{"index": 0, "delta": {"role": "assistant", "content": "One two"}}]}]
    with transom.Conversation.open("memory:", "x", budget=8_000) as conv:
        conv.user("Count")
        conv.request()
        with pytest.raises(transom.ProviderError) as broken:
            conv.observe(chunks)
        assert not conv.failed(broken.value, retry=transom.Retry(attempts=1)).retry
        conv.user("Go on")
        assert "One two" in str(conv.request()["messages"])


def test_a_blocked_prompt_is_no_stream_that_broke_off() -> None:
    with transom.Conversation.open("memory:", "x", budget=8_000, dialect="gemini") as conv:
        conv.user("Hi")
        conv.request()
        conv.observe([{"promptFeedback": {"blockReason": "SAFETY"}}])
        assert isinstance(conv.log[2].body, Assistant)


ENDS = {
    "openai, usage behind the end": (
        "openai",
        [{"choices": [{"index": 0, "delta": {"content": "Hi."}}]}, {"choices": [], "usage": {"prompt_tokens": 1}}],
    ),
    "openai, a whole message": ("openai", [{"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}]),
    "anthropic, no reason": (
        "anthropic",
        [
            {"type": "message_start", "message": {"role": "assistant", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi."}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_stop"},
        ],
    ),
}


@pytest.mark.parametrize(("dialect", "chunks"), ENDS.values(), ids=ENDS)
def test_a_stream_that_ends_without_a_reason_has_not_broken_off(dialect: str, chunks: list[dict]) -> None:
    with transom.Conversation.open("memory:", "x", budget=10_000, dialect=dialect) as conv:
        conv.user("Hello")
        conv.request()
        conv.observe(chunks)
        assert conv.view.in_flight is None


def test_without_an_open_request_what_arrived_is_logged() -> None:
    with transom.Conversation.open("memory:", "x", budget=10_000) as conv:
        conv.user("Hello")
        entry = conv.observe([{"choices": [{"index": 0, "delta": {"content": "Hi, I"}}]}])
        assert "Hi, I" in str(conv.log[entry].body)
