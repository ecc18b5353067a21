"""Replies as the providers stream them: what a recorded turn would have come in, piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise


def pieces(text: str, most: int = 7) -> Iterator[str]:
    """A text in at most so many pieces, the first of them empty, as providers send it."""
    step = max(1, -(-len(text) // most))
    bounds = [0, 0, *range(step, len(text), step), len(text)]
    yield from (text[a:b] for a, b in pairwise(bounds))


def chat_chunks(message: dict, usage: dict | None = None) -> Iterator[dict]:
    """A chat message as the chunks of a stream."""
    base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta, finish=None):
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": None if message.get("tool_calls") else ""})
    for key in ("reasoning_content", "reasoning", "content", "refusal"):
        if isinstance(message.get(key), str):
            yield from (chunk({key: piece}) for piece in pieces(message[key]))
    for index, call in enumerate(message.get("tool_calls") or []):
        kind, field = ("custom", "input") if call["type"] == "custom" else ("function", "arguments")
        start = {"name": call[kind]["name"], field: ""}
        yield chunk({"tool_calls": [{"index": index, "id": call["id"], "type": call["type"], kind: start}]})
        for piece in pieces(call[kind][field]):
            yield chunk({"tool_calls": [{"index": index, kind: {field: piece}}]})
    yield chunk({}, "tool_calls" if message.get("tool_calls") else "stop")
    if usage:
        yield {**base, "choices": [], "usage": usage}


def message_events(content: list[dict], usage: dict) -> Iterator[dict]:
    """The blocks of an Anthropic message as the events of a stream."""
    start = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**start, "usage": {**usage, "output_tokens": 1}}}
    yield {"type": "ping"}
    for index, block in enumerate(content):
        yield from block_events(index, block)
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": usage["output_tokens"]}}
    yield {"type": "message_stop"}


def block_events(index: int, block: dict) -> Iterator[dict]:
    deltas = []
    kind = block["type"]
    if kind == "text":
        start = {"type": "text", "text": ""}
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        deltas += [{"type": "citations_delta", "citation": each} for each in block.get("citations") or []]
    elif kind == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block.get("signature", "")})
    elif kind in ("tool_use", "server_tool_use"):
        start = {**block, "input": {}}
        if block["input"]:
            deltas = [{"type": "input_json_delta", "partial_json": x} for x in pieces(json.dumps(block["input"]))]
    else:
        start = block
    yield {"type": "content_block_start", "index": index, "content_block": start}
    yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
    yield {"type": "content_block_stop", "index": index}


def response_events(output: list[dict], usage: dict) -> Iterator[dict]:
    """The items of a response as the events of a stream."""
    base = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "parallel_tool_calls": True}
    base |= {"tool_choice": "auto", "tools": []}
    number = iter(range(10_000))

    def event(kind, **fields):
        return {"type": kind, "sequence_number": next(number), **fields}

    yield event("response.created", response={**base, "status": "in_progress", "output": []})
    for at, item in enumerate(output):
        empty = {**item, "content": [], "status": "in_progress"} if item["type"] == "message" else item
        yield event("response.output_item.added", output_index=at, item=empty)
        for index, part in enumerate(item["content"] if item["type"] == "message" else []):
            place = {"output_index": at, "content_index": index, "item_id": item.get("id", "")}
            if part["type"] == "refusal":
                kinds, key, more = "response.refusal", "refusal", {}
            else:
                kinds, key, more = "response.output_text", "text", {"logprobs": []}
            yield event("response.content_part.added", **place, part={**part, key: ""})
            for piece in pieces(part[key]):
                yield event(f"{kinds}.delta", **place, delta=piece, **more)
            yield event(f"{kinds}.done", **place, **{key: part[key]}, **more)
        if item["type"] == "function_call":
            for piece in pieces(item["arguments"]):
                place = {"output_index": at, "item_id": item.get("id", "")}
                yield event("response.function_call_arguments.delta", **place, delta=piece)
        yield event("response.output_item.done", output_index=at, item=item)
    yield event("response.completed", response={**base, "status": "completed", "output": output, "usage": usage})


def gemini_chunks(parts: list[dict], usage: dict) -> Iterator[dict]:
    """The parts of a Gemini content as the responses of a stream. A signature comes with the end of its text."""

    def response(part, **more):
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, **more}]}

    for part in parts:
        if isinstance(part.get("text"), str):
            *first, last = pieces(part["text"])
            beside = {key: part[key] for key in ("thought",) if key in part}
            yield from (response({**beside, "text": piece}) for piece in first)
            yield response({**part, "text": last})
        else:
            yield response(part)
    yield {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage}
