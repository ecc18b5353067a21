"""A provider on the loopback: it checks each request by the rules of its API and answers from a script.

It speaks for OpenAI (chat and responses), Anthropic and Gemini: first it calls the tool `weather`, then, when a request
holds the result, it answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from loopback_server import PostHandler, as_events, end_of_events, is_streamed, serving
from transom.wire.dialects import dialect_named

ARGUMENTS = {"city": "Lisbon"}
ANSWER = "It is clear in Lisbon."
USAGE = {"prompt_tokens": 40, "completion_tokens": 5, "total_tokens": 45}


class Provider:
    """What the server received, by dialect, and what it refused."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.refused: list[str] = []
        self.url = ""


def chat(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A completion; streamed, its chunks."""
    done = body["messages"][-1]["role"] == "tool"
    function = {"name": "weather", "arguments": json.dumps(ARGUMENTS)}
    call = {"id": f"call_{len(body['messages'])}", "type": "function", "function": function}
    base = {"id": "chat_1", "created": 1, "model": body["model"]}
    message = {"role": "assistant", "content": ANSWER} if done else {"role": "assistant", "tool_calls": [call]}
    finish = "stop" if done else "tool_calls"
    if not body.get("stream"):
        choice = {"index": 0, "message": {"content": None, **message}, "finish_reason": finish}
        return [{**base, "object": "chat.completion", "choices": [choice], "usage": USAGE}]
    delta = message if done else {"role": "assistant", "tool_calls": [{"index": 0, **call}]}
    chunks = [({"index": 0, "delta": delta, "finish_reason": None}), {"index": 0, "delta": {}, "finish_reason": finish}]
    found = [{**base, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
    return [*found, {**base, "object": "chat.completion.chunk", "choices": [], "usage": USAGE}]


def responses(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A response; streamed, its events."""
    last = body["input"][-1]
    if last.get("type") == "function_call_output":
        text = {"type": "output_text", "text": ANSWER, "annotations": []}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    else:
        call = {"call_id": f"call_{len(body['input'])}", "name": "weather", "arguments": json.dumps(ARGUMENTS)}
        item = {"type": "function_call", "id": "fc_1", "status": "completed", **call}
    usage = {
        "input_tokens": 40,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 45,
    }
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": body["model"], "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    whole = {**base, **rest, "output": [item], "usage": usage}
    return _numbered(response_events(whole)) if body.get("stream") else [whole]


def response_events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A response of one item, as the events of its stream."""
    (item,) = whole["output"]
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": []}}
    started = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
    yield {"type": "response.output_item.added", "output_index": 0, "item": started}
    place = {"item_id": item["id"], "output_index": 0}
    if item["type"] == "message":
        (part,) = item["content"]
        place["content_index"] = 0
        yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
        for piece in _halves(part["text"]):
            yield {"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **place, "part": part}
    else:
        for piece in _halves(item["arguments"]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        done = {"arguments": item["arguments"], "name": item["name"]}
        yield {"type": "response.function_call_arguments.done", **place, **done}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": whole}


def _numbered(events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) // 2
    return text[:middle], text[middle:]


def anthropic(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A message; streamed, its events."""
    done = any(block.get("type") == "tool_result" for block in _blocks(body["messages"][-1]["content"]))
    use = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "name": "weather", "input": ARGUMENTS}
    content = [{"type": "text", "text": ANSWER}] if done else [use]
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
    usage = {"input_tokens": 40, "output_tokens": 5}
    whole = {**base, "content": content, "stop_reason": "end_turn" if done else "tool_use", "usage": usage}
    return list(message_events(whole)) if body.get("stream") else [whole]


def message_events(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message of one block, as the events of its stream."""
    (block,) = whole["content"]
    usage = {**whole["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None, "usage": usage}}
    if block["type"] == "text":
        start = {**block, "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in _halves(block["text"])]
    else:
        start = {**block, "input": {}}
        pieces = _halves(json.dumps(block["input"]))
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    yield {"type": "content_block_start", "index": 0, "content_block": start}
    yield from ({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": 0}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": whole["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _blocks(content: Any) -> list[dict[str, Any]]:
    return content if isinstance(content, list) else []


def gemini(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A response of generateContent."""
    done = any("functionResponse" in part for part in body["contents"][-1]["parts"])
    part = {"text": ANSWER} if done else {"functionCall": {"name": "weather", "args": ARGUMENTS}}
    candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 40, "candidatesTokenCount": 5, "totalTokenCount": 45}
    return [{"candidates": [candidate], "usageMetadata": usage}]


def gemini_chunks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The responses of streamGenerateContent: a text in two pieces, a call whole; the end comes with the last."""
    (whole,) = gemini(body)
    (candidate,) = whole["candidates"]
    (part,) = candidate["content"]["parts"]
    pieces = [{"text": piece} for piece in _halves(part["text"])] if "text" in part else [part]
    chunks = [{"candidates": [{"index": 0, "content": {"role": "model", "parts": [piece]}}]} for piece in pieces]
    chunks[-1] = {**whole, "candidates": [{**chunks[-1]["candidates"][0], "finishReason": "STOP"}]}
    return chunks


ROUTES = {
    "/chat/completions": ("openai", chat),
    "/responses": ("responses", responses),
    "/messages": ("anthropic", anthropic),
    ":generateContent": ("gemini", gemini),
    ":streamGenerateContent": ("gemini", gemini_chunks),
}


@contextmanager
def provider() -> Iterator[Provider]:
    """A running server."""
    state = Provider()

    def post(handler: PostHandler, path: str, body: dict[str, Any]) -> None:
        dialect, answer = next(route for end, route in ROUTES.items() if path.endswith(end))
        state.requests.append((dialect, body))
        if found := dialect_named(dialect).violations(body):
            state.refused += [f"{dialect}: {each.rule} {each.why}" for each in found]
            error = json.dumps({"error": {"message": state.refused[-1]}})
            handler.reply(400, "application/json", error.encode())
            return
        replies = answer(body)
        if is_streamed(path, body):
            handler.reply(200, "text/event-stream", b"".join(as_events(path, replies)) + end_of_events(path))
        else:
            handler.reply(200, "application/json", json.dumps(replies[0]).encode())

    with serving(post) as state.url:
        yield state
