"""What an API does not take as input never goes out, whatever object brought it in: judged by the SDKs' own types."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types import chat
from openai.types.chat.parsed_chat_completion import ParsedChatCompletion, ParsedChatCompletionMessage
from openai.types.chat.parsed_function_tool_call import ParsedFunction, ParsedFunctionToolCall
from pydantic import BaseModel, TypeAdapter
from sdk_types import dicts_in, fields_of
from windows import fitted

from transom.wire.openai.parse import TAKEN, parse, parse_reply


def test_the_table_names_every_field_that_the_sdk_takes():
    compatible = {
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "extra_content",
        "prefix",
        "thinking_blocks",
        "reasoning_items",
    }
    message = fields_of(chat.ChatCompletionAssistantMessageParam)
    assert set(TAKEN) - compatible == set(message)
    calls = dicts_in(message["tool_calls"])
    assert set(TAKEN["tool_calls"]) - {"extra_content"} == {key for call in calls for key in fields_of(call)}
    for call in calls:
        for key, hint in fields_of(call).items():
            for body in dicts_in(hint):
                assert set(TAKEN["tool_calls"][key]) == set(fields_of(body))
    assert [set(fields_of(each)) for each in dicts_in(message["function_call"])] == [set(TAKEN["function_call"])]


# ---- objects as they come


class Trip(BaseModel):
    city: str


def parsed_message() -> ParsedChatCompletionMessage[Trip]:
    """What `client.chat.completions.parse()` gives, and the last event of `.stream()`."""
    function = ParsedFunction(name="book", arguments='{"city":"Lisbon"}', parsed_arguments=Trip(city="Lisbon"))
    call = ParsedFunctionToolCall.construct(id="call_1", type="function", function=function, index=0)
    return ParsedChatCompletionMessage[Trip].construct(
        role="assistant", content='{"city":"Lisbon"}', parsed=Trip(city="Lisbon"), tool_calls=[call], annotations=[]
    )


def parsed_completion() -> ParsedChatCompletion[Trip]:
    choice = {"index": 0, "finish_reason": "tool_calls", "message": parsed_message()}
    return ParsedChatCompletion[Trip].construct(id="1", object="chat.completion", choices=[choice])


class LiteLlmMessage(BaseModel):
    """Dumps what LiteLLM's `Message` dumps (1.106)."""

    content: str | None = None
    role: str = "assistant"
    tool_calls: list[dict[str, Any]] | None = None
    function_call: dict[str, Any] | None = None
    reasoning_content: str | None = None
    thinking_blocks: list[dict[str, Any]] | None = None
    provider_specific_fields: dict[str, Any] | None = None
    annotations: list[Any] | None = None
    images: list[Any] | None = None


def litellm_message() -> LiteLlmMessage:
    notes = {"provider_specific_fields": {"thought_signature": "s"}}
    function = {"name": "book", "arguments": '{"city":"Lisbon"}', **notes}
    return LiteLlmMessage(
        content='{"city":"Lisbon"}',
        tool_calls=[{"index": 0, "id": "call_1", "type": "function", "function": function, **notes}],
        provider_specific_fields={"refusal": None},
    )


TURN = {
    "role": "assistant",
    "content": '{"city":"Lisbon"}',
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "book", "arguments": '{"city":"Lisbon"}'}}
    ],
}
ANSWER = {"role": "tool", "tool_call_id": "call_1", "content": "booked"}
TAKEN_BY_OPENAI = TypeAdapter(list[chat.ChatCompletionMessageParam])


@pytest.mark.parametrize("message", [parsed_message(), litellm_message()], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("written", [lambda each: each, lambda each: each.model_dump()], ids=["object", "dict"])
def test_what_only_responses_have_does_not_go_out(message, written):
    history = [{"role": "user", "content": "Book it"}, written(message), ANSWER]
    window = fitted(history)
    TAKEN_BY_OPENAI.validate_python(window)
    turn = {key: value for key, value in window[1].items() if value is not None}
    assert [window[0], turn, window[2]] == [{"role": "user", "content": "Book it"}, TURN, ANSWER]


@pytest.mark.parametrize(
    "reply",
    [
        parsed_completion(),
        parsed_completion().model_dump(),
        parsed_message(),
        litellm_message(),
        {"choices": [{"message": litellm_message().model_dump()}]},
    ],
)
def test_a_reply_is_read_without_them(reply):
    assert parse_reply(reply) == parse(TURN)


def test_what_compatible_servers_want_back_stays_in_a_reply():
    details = [{"type": "reasoning.encrypted", "data": "x"}]
    signature = {"extra_content": {"google": {"thought_signature": "s"}}}
    message = {
        "role": "assistant",
        "content": "Yes",
        "reasoning_details": details,
        "tool_calls": [{**TURN["tool_calls"][0], **signature}],
    }
    reply = chat.ChatCompletion.construct(choices=[{"message": {**message, "executed_tools": []}}])
    assert parse_reply(reply) == parse(message)


def test_an_unknown_field_of_the_callers_own_message_survives():
    message = {"role": "user", "content": "Hello", "cache_control": {"type": "ephemeral"}, "x": None}
    turn = {"role": "assistant", "content": "Hi", "x_own": {"parsed": 1}}
    assert fitted([message, turn]) == [message, turn]


@pytest.mark.parametrize("calls", [[], None])
def test_no_calls_are_left_out(calls):
    turn = {"role": "assistant", "content": "Hi", "tool_calls": calls}
    expected = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert fitted([expected[0], turn]) == expected


def test_a_spoken_answer_goes_out_as_its_id():
    spoken = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Hello there"}
    turn = {"role": "assistant", "content": None, "audio": spoken}
    window = fitted([{"role": "user", "content": "Hello"}, turn])
    assert window[1] == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}
