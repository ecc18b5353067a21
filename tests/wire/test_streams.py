"""A streamed reply is the same turn as one that came whole; what came so far is always a valid turn."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import anthropic
import httpx2
import openai
import pytest
from anthropic.types import RawMessageStreamEvent
from google import genai
from google.genai import types as google
from hypothesis import given
from hypothesis import strategies as st
from openai._models import construct_type
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from pydantic import TypeAdapter
from windows import fitted

import transom
from chunks import chat_chunks, gemini_chunks, message_events, response_events
from transom.core.message import Usage
from transom.errors import InvalidMessage
from transom.wire.anthropic.stream import AnthropicAccumulator
from transom.wire.dialects import dialect_named
from transom.wire.gemini.stream import GeminiAccumulator
from transom.wire.openai.stream import ChatAccumulator
from transom.wire.responses.stream import ResponsesAccumulator

CHAT_USAGE = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
USAGE = {"input_tokens": 12, "output_tokens": 7}
RESPONSE_USAGE = {
    **USAGE,
    "total_tokens": 19,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}
GOOGLE_USAGE = {"promptTokenCount": 12, "candidatesTokenCount": 7}

CALL = {"id": "call_1", "type": "function", "function": {"name": "book", "arguments": '{"city": "Lisbon", "n": [1]}'}}
CHAT = [
    {"role": "assistant", "content": "Hello, Ms. 汉字"},
    {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]},
    {"role": "assistant", "content": "I book.", "reasoning_content": "Let me think.", "tool_calls": [CALL]},
    {"role": "assistant", "content": None, "refusal": "I can not do that."},
    {"role": "assistant", "content": ""},
]
BLOCKS = [
    [{"type": "text", "text": "Hello there"}],
    [
        {"type": "thinking", "thinking": "Hm, a flight.", "signature": "c2ln"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "book", "input": {"city": "Lisbon", "none": None}},
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
    ],
    [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "text", "text": "Found."},
    ],
]
MESSAGE = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Hello there", "annotations": []}],
}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]}
FUNCTION = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "book",
    "arguments": '{"city":"Lisbon"}',
    "status": "completed",
}
ITEMS = [
    [MESSAGE],
    [REASONING, MESSAGE, FUNCTION],
    [REASONING, FUNCTION, {**FUNCTION, "id": "fc_2", "call_id": "call_2"}],
]
PARTS = [
    [{"text": "Hello there"}],
    [
        {"text": "I think so.", "thought": True},
        {"text": "I look.", "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "book", "args": {"city": "Lisbon"}}},
    ],
    [{"functionCall": {"id": "1", "name": "book", "args": {}}, "thoughtSignature": "c2ln"}, {"text": "Wait."}],
]


def chat_case(message, *, typed):
    chunks = list(chat_chunks(message, CHAT_USAGE))
    whole = {"choices": [{"index": 0, "message": message}], "usage": CHAT_USAGE}
    return whole, [ChatCompletionChunk.model_validate(each) for each in chunks] if typed else chunks


def anthropic_case(content, *, typed):
    chunks = list(message_events(content, USAGE))
    whole = {"id": "msg_1", "type": "message", "role": "assistant", "content": content, "usage": USAGE}
    adapter = TypeAdapter(RawMessageStreamEvent)
    events = [each for each in chunks if each["type"] != "ping"]
    return whole, [adapter.validate_python(each) for each in events] if typed else chunks


def responses_case(output, *, typed):
    chunks = list(response_events(output, RESPONSE_USAGE))
    whole = {"id": "resp_1", "object": "response", "output": output, "usage": RESPONSE_USAGE}
    return whole, [construct_type(value=each, type_=ResponseStreamEvent) for each in chunks] if typed else chunks


def gemini_case(parts, *, typed):
    chunks = list(gemini_chunks(parts, GOOGLE_USAGE))
    whole = {"candidates": [{"content": {"role": "model", "parts": parts}}], "usageMetadata": GOOGLE_USAGE}
    return whole, [google.GenerateContentResponse.model_validate(each) for each in chunks] if typed else chunks


MAKERS = {
    "openai": (chat_case, CHAT, ChatAccumulator),
    "anthropic": (anthropic_case, BLOCKS, AnthropicAccumulator),
    "responses": (responses_case, ITEMS, ResponsesAccumulator),
    "gemini": (gemini_case, PARTS, GeminiAccumulator),
}
CASES = [(name, at) for name, (_, replies, _) in MAKERS.items() for at in range(len(replies))]


@pytest.mark.parametrize("typed", [True, False], ids=["objects", "dicts"])
@pytest.mark.parametrize(("name", "at"), CASES)
def test_a_list_of_chunks_is_the_turn_that_came_whole(name, at, typed):
    make, replies, _ = MAKERS[name]
    whole, chunks = make(replies[at], typed=typed)
    dialect = dialect_named(name)
    assert dialect.parse_reply(chunks) == dialect.parse_reply(whole)
    assert dialect.parse_reply(tuple(chunks)).usage == Usage(prompt=12, output=7)


def assert_valid_so_far(name, chunks):
    """At any moment: only calls whose arguments are whole, and a request with the turn in it breaks no rule."""
    dialect, accumulator = dialect_named(name), MAKERS[name][2]()
    final = dialect.parse_reply(chunks)
    whole = {(call.name, call.args) for call in final.calls}
    for chunk in chunks:
        accumulator.feed(chunk)
        turn = accumulator.turn()
        assert {(call.name, call.args) for call in turn.calls} <= whole
        assert turn.calls == final.calls[: len(turn.calls)]
        yield turn
    assert turn == final
    assert accumulator.finished
    assert accumulator.usage == final.usage


@pytest.mark.parametrize(("name", "at"), CASES)
def test_what_came_so_far_is_a_valid_turn(name, at):
    make, replies, _ = MAKERS[name]
    _, chunks = make(replies[at], typed=False)
    dialect = dialect_named(name)
    for turn in assert_valid_so_far(name, chunks):
        conversation = conversation_with(turn, name)
        body = transom.render(conversation.window(), dialect)
        assert dialect.violations(body) == []


def conversation_with(turn, name):
    conversation = transom.Conversation.open("memory:", "x", budget=100_000, dialect=name)
    conversation.user("Book it")
    conversation.append(turn)
    conversation.user("Go on")
    return conversation


@given(st.integers(1, 9), st.sampled_from(CHAT), st.integers(0, 40))
def test_a_cut_chat_stream_holds_no_partial_call(most, message, upto):
    chunks = list(chat_chunks(message))[: max(1, upto)]
    accumulator = ChatAccumulator()
    for chunk in chunks:
        accumulator.feed(chunk)
    assert all(json.loads(call.args) for call in accumulator.turn().calls)


# ---- what was recorded


def recorded(data, path: str) -> Iterator[dict]:
    with gzip.open(data / "provider_exchanges.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if path in row["path"] and row["status"] == 200:
                yield row["request"]


def test_recorded_chat_turns_streamed(data):
    seen = 0
    keys = {"role", "content", "refusal", "reasoning_content", "reasoning", "tool_calls"}
    for request in recorded(data, "chat/completions"):
        for message in request["messages"]:
            content = message.get("content")
            if message["role"] == "assistant" and isinstance(content, (str, type(None))) and set(message) <= keys:
                whole, chunks = chat_case({"content": None, **message}, typed=False)
                if content or message.get("tool_calls"):
                    assert_same("openai", whole, chunks)
                    seen += 1
    assert seen > 60


def test_recorded_messages_streamed(data):
    seen = 0
    for request in recorded(data, "/v1/messages"):
        for message in request["messages"]:
            if message["role"] == "assistant" and isinstance(message["content"], list):
                content = [{k: x for k, x in block.items() if k != "cache_control"} for block in message["content"]]
                assert_same("anthropic", *anthropic_case(content, typed=False))
                seen += 1
    assert seen > 50


def test_recorded_items_streamed(data):
    kinds, seen = {"message", "reasoning", "function_call", "web_search_call", "code_interpreter_call"}, 0
    for request in recorded(data, "/responses"):
        items = [each for each in request["input"] if isinstance(each, dict)] if "input" in request else []
        output = [each for each in items if each.get("type") in kinds and each.get("role") in (None, "assistant")]
        output = [each for each in output if isinstance(each.get("content", []), list)]
        if output and output[-1]["type"] != "reasoning":
            assert_same("responses", *responses_case(output, typed=False))
            seen += 1
    assert seen > 30


def test_recorded_contents_streamed(data):
    seen = 0
    for request in recorded(data, ":"):
        for content in request.get("contents", []) if isinstance(request, dict) else []:
            if content.get("role") == "model" and content.get("parts"):
                assert_same("gemini", *gemini_case(joined(content["parts"]), typed=False))
                seen += 1
    assert seen > 50


def joined(parts: list[dict]) -> list[dict]:
    """Neighbouring texts as one, which is how a reply that came whole has them."""
    out: list[dict] = []
    for part in parts:
        if out and set(out[-1]) == set(part) and set(part) in ({"text"}, {"text", "thought"}):
            out[-1] = {**part, "text": out[-1]["text"] + part["text"]}
        else:
            out.append(part)
    return out


def assert_same(name, whole, chunks):
    dialect = dialect_named(name)
    assert dialect.parse_reply(chunks) == dialect.parse_reply(whole)
    assert list(assert_valid_so_far(name, chunks))


# ---- the SDKs' own clients


def answering(events: list[dict], *, named: bool) -> httpx2.Client:
    """An HTTP client whose server answers with these events."""
    head = "event: {}\ndata: {}\n\n" if named else "data: {1}\n\n"
    body = "".join(head.format(event.get("type"), json.dumps(event)) for event in events)
    body += "" if named else "data: [DONE]\n\n"

    def handle(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter([body.encode()]))

    return httpx2.Client(transport=httpx2.MockTransport(handle))


ASK = {"model": "m", "messages": [{"role": "user", "content": "Book it"}]}


def test_openai_chat_streams():
    message = {key: value for key, value in CHAT[2].items() if key != "reasoning_content"}
    whole, _ = chat_case(message, typed=False)
    client = openai.OpenAI(api_key="-", http_client=answering(list(chat_chunks(message, CHAT_USAGE)), named=False))
    dialect = dialect_named("openai")
    expected = dialect.parse_reply(whole)

    raw = client.chat.completions.create(**ASK, stream=True)
    with pytest.raises(InvalidMessage, match="a stream: read it to its end, then observe the list of its chunks"):
        dialect.parse_reply(raw)
    assert dialect.parse_reply(list(raw)) == expected

    with client.chat.completions.stream(**ASK) as stream:
        with pytest.raises(InvalidMessage, match="a stream"):
            dialect.parse_reply(stream)
        events = list(stream)
    assert dialect.parse_reply(events) == expected
    assert dialect.parse_reply(stream.get_final_completion()) == expected


def test_responses_streams():
    whole, chunks = responses_case(ITEMS[1], typed=False)
    client = openai.OpenAI(api_key="-", http_client=answering(chunks, named=True))
    dialect = dialect_named("responses")
    expected = dialect.parse_reply(whole)

    assert dialect.parse_reply(list(client.responses.create(model="m", input="Book it", stream=True))) == expected
    with client.responses.stream(model="m", input="Book it") as stream:
        with pytest.raises(InvalidMessage, match="a stream"):
            dialect.parse_reply(stream)
        events = list(stream)
    assert dialect.parse_reply(events) == expected


def test_anthropic_streams():
    whole, chunks = anthropic_case(BLOCKS[1], typed=False)
    client = anthropic.Anthropic(api_key="-", http_client=answering(chunks, named=True))
    dialect = dialect_named("anthropic")
    expected = dialect.parse_reply(whole)

    assert dialect.parse_reply(list(client.messages.create(**ASK, max_tokens=9, stream=True))) == expected
    with client.messages.stream(**ASK, max_tokens=9) as stream:
        with pytest.raises(InvalidMessage, match="a stream"):
            dialect.parse_reply(stream)
        events = list(stream)
    assert dialect.parse_reply(events) == expected
    assert dialect.parse_reply(stream.get_final_message()) == expected


def test_gemini_streams():
    whole, chunks = gemini_case(PARTS[1], typed=False)
    body = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text=body))
    options = google.HttpOptions(httpx_client=httpx2.Client(transport=transport))
    client = genai.Client(api_key="-", http_options=options)
    stream = client.models.generate_content_stream(model="m", contents="Book it")
    dialect = dialect_named("gemini")
    with pytest.raises(InvalidMessage, match="a stream"):
        dialect.parse_reply(stream)
    assert dialect.parse_reply(list(stream)) == dialect.parse_reply(whole)


# ---- what goes wrong


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("openai", {"error": {"message": "overloaded"}}),
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}),
        ("responses", {"type": "error", "message": "overloaded"}),
        ("responses", {"type": "response.failed", "response": {"error": {"message": "overloaded"}}}),
        ("gemini", {"error": {"code": 503, "message": "overloaded"}}),
    ],
)
def test_an_error_in_the_stream_is_an_error(name, error):
    make, replies, accumulator = MAKERS[name]
    chunks = [*make(replies[0], typed=False)[1][:6], error]
    with pytest.raises(InvalidMessage, match="the reply is an error: overloaded"):
        dialect_named(name).parse_reply(chunks)
    partial = accumulator()
    for chunk in chunks:
        partial.feed(chunk)
    assert partial.error == "overloaded"
    assert partial.turn().parts


@pytest.mark.parametrize("name", MAKERS)
def test_a_list_of_other_things_is_refused_in_one_line(name):
    with pytest.raises(InvalidMessage):
        dialect_named(name).parse_reply([7])


def test_calls_without_an_index_are_told_apart_by_their_ids():
    """Gemini's compatible API gives every call the index 0, or none."""
    calls = [{**CALL, "index": 0}, {**CALL, "id": "call_2", "index": 0}]
    chunks = [{"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]} for call in calls]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    turn = dialect_named("openai").parse_reply(chunks)
    assert [call.id for call in turn.calls] == ["call_1", "call_2"]
    answers = [{"role": "tool", "tool_call_id": label, "content": "x"} for label in ("call_1", "call_2")]
    message = {"role": "assistant", "content": None, "tool_calls": [CALL, {**CALL, "id": "call_2"}]}
    assert turn == dialect_named("openai").parse_reply(message)
    assert fitted([{"role": "user", "content": "Go"}, message, *answers])[1] == message
