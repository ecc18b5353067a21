"""Writes a scripted reply in the form of each provider API: as a whole response, and as the chunks of a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from msgspec import Struct

from transom.errors import InvalidSetting, quote

Json = dict[str, Any]


class ScriptedCall(NamedTuple):
    """A tool call of a scripted reply. `name`: of the tool. `arguments`: a JSON text, or whatever else the model is to
    write. `id`: of the call; if empty, the provider makes one."""

    name: str
    arguments: str = "{}"
    id: str = ""


class Reply(Struct, frozen=True, kw_only=True):
    """What a scripted model answers: `text`, `reasoning`, `calls`.

    `stop`: the stop reason in the API's own word; the usual one if empty. In the Responses API it is the reason why the
    response is incomplete. `tokens`: of the answer; None: an estimate (`output_tokens`). `delay`: seconds before the
    reply or its first chunk.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    stop: str = ""
    tokens: int | None = None
    delay: float = 0.0

    def output_tokens(self) -> int:
        """Return the tokens that the reply is billed for: `tokens`; if that is None, 1 plus a quarter of the characters
        of its text, its reasoning and the arguments of its calls, rounded down."""
        if self.tokens is not None:
            return self.tokens
        return 1 + (len(self.text) + len(self.reasoning) + sum(len(call.arguments) for call in self.calls)) // 4


def pieces(text: str, size: int) -> Iterator[str]:
    """Split a text into pieces of `size` characters, the last of which may be shorter. An empty text gives no piece."""
    yield from (text[at : at + size] for at in range(0, len(text), size))


class ReplyWriter(NamedTuple):
    """How an API writes a scripted reply.

    `response` takes the reply and the tokens of the prompt, and returns the whole response. `chunks` takes also the
    characters of a chunk, and yields the chunks of a stream. The calls of the reply must have ids.
    """

    response: Callable[[Reply, int], Json]
    chunks: Callable[[Reply, int, int], Iterator[Json]]


def writer_for(dialect: str) -> ReplyWriter:
    """Return the writer for a dialect. A form of an API ("deepseek_responses") has the writer of the API. Raises
    InvalidSetting if there are no scripted replies in the dialect."""
    for api, writer in _WRITERS.items():
        if dialect == api or api in dialect.split("_"):
            return writer
    raise InvalidSetting(f"scripted: there are no scripted replies in the dialect {quote(dialect)}")


# ---- OpenAI Chat Completions


def _chat_response(reply: Reply, prompt: int) -> Json:
    message: Json = {"role": "assistant", "content": reply.text or (None if reply.calls else "")}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in reply.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _chat_stop(reply)}
    return {"object": "chat.completion", "choices": [choice], "usage": _chat_usage(reply, prompt)}


def _chat_stop(reply: Reply) -> str:
    return reply.stop or ("tool_calls" if reply.calls else "stop")


def _chat_usage(reply: Reply, prompt: int) -> Json:
    output = reply.output_tokens()
    return {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}


def _chat_chunks(reply: Reply, prompt: int, size: int) -> Iterator[Json]:
    def chunk(delta: Json, stop: str | None = None) -> Json:
        return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}

    yield chunk({"role": "assistant", "content": None if reply.calls else ""})
    for key, text in (("reasoning_content", reply.reasoning), ("content", reply.text)):
        yield from (chunk({key: piece}) for piece in pieces(text, size))
    for index, call in enumerate(reply.calls):
        start = {"name": call.name, "arguments": ""}
        yield chunk({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": start}]})
        for piece in pieces(call.arguments, size):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _chat_stop(reply))
    yield {"object": "chat.completion.chunk", "choices": [], "usage": _chat_usage(reply, prompt)}


# ---- OpenAI Responses


def _responses_output(reply: Reply) -> list[Json]:
    output: list[Json] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        output.append({"type": "reasoning", "id": "rs_scripted", "summary": summary})
    if reply.text or not reply.calls:
        content: list[Json] = [{"type": "output_text", "text": reply.text, "annotations": []}]
        message = {"type": "message", "id": "msg_scripted", "role": "assistant", "status": "completed"}
        output.append({**message, "content": content})
    output += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
        for call in reply.calls
    ]
    return output


def _responses_response(reply: Reply, prompt: int) -> Json:
    tokens = reply.output_tokens()
    usage = {"input_tokens": prompt, "output_tokens": tokens, "total_tokens": prompt + tokens}
    response: Json = {"object": "response", "status": "completed", "output": _responses_output(reply), "usage": usage}
    if reply.stop:
        response |= {"status": "incomplete", "incomplete_details": {"reason": reply.stop}}
    return response


def _responses_chunks(reply: Reply, prompt: int, size: int) -> Iterator[Json]:
    yield {"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}}
    for at, item in enumerate(_responses_output(reply)):
        yield {"type": "response.output_item.added", "output_index": at, "item": {**item, "status": "in_progress"}}
        place = {"output_index": at, "content_index": 0}
        if item["type"] == "message":
            for piece in pieces(reply.text, size):
                yield {"type": "response.output_text.delta", **place, "delta": piece}
        elif item["type"] == "reasoning":
            for piece in pieces(reply.reasoning, size):
                yield {"type": "response.reasoning_summary_text.delta", **place, "delta": piece}
        else:
            for piece in pieces(item["arguments"], size):
                yield {"type": "response.function_call_arguments.delta", "output_index": at, "delta": piece}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    kind = "response.incomplete" if reply.stop else "response.completed"
    yield {"type": kind, "response": _responses_response(reply, prompt)}


# ---- Anthropic Messages


def _blocks(reply: Reply) -> list[Json]:
    blocks: list[Json] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "c2NyaXB0ZWQ="})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    for call in reply.calls:
        blocks.append({"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)})
    return blocks


def _object(arguments: str) -> Json:
    """The arguments as the object that this API sends; those that are no object come under the key "value"."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = arguments
    return cast("Json", value) if isinstance(value, dict) else {"value": value}


def _anthropic_stop(reply: Reply) -> str:
    return reply.stop or ("tool_use" if reply.calls else "end_turn")


def _anthropic_response(reply: Reply, prompt: int) -> Json:
    usage = {"input_tokens": prompt, "output_tokens": reply.output_tokens()}
    message: Json = {"type": "message", "role": "assistant", "content": _blocks(reply), "usage": usage}
    return {**message, "stop_reason": _anthropic_stop(reply)}


_EMPTY: dict[str, Json] = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}}


def _anthropic_chunks(reply: Reply, prompt: int, size: int) -> Iterator[Json]:
    start: Json = {"type": "message", "role": "assistant", "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": {**start, "usage": {"input_tokens": prompt, "output_tokens": 1}}}
    for index, block in enumerate(_blocks(reply)):
        kind = block["type"]
        empty: Json = _EMPTY.get(kind, {"input": {}})
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
        deltas: list[Json]
        if kind == "tool_use":
            text = json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text, size)]
        else:
            deltas = [{"type": f"{kind}_delta", kind: piece} for piece in pieces(block[kind], size)]
        if kind == "thinking":
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        yield from ({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)
        yield {"type": "content_block_stop", "index": index}
    usage = {"output_tokens": reply.output_tokens()}
    yield {"type": "message_delta", "delta": {"stop_reason": _anthropic_stop(reply)}, "usage": usage}
    yield {"type": "message_stop"}


# ---- Gemini


def _gemini_response(reply: Reply, prompt: int) -> Json:
    parts: list[Json] = []
    if reply.reasoning:
        parts.append({"text": reply.reasoning, "thought": True})
    if reply.text:
        parts.append({"text": reply.text})
    for call in reply.calls:
        parts.append({"functionCall": {"name": call.name, "args": _object(call.arguments)}})
    return _gemini(parts, reply.stop or "STOP", _gemini_usage(reply, prompt))


def _gemini(parts: list[Json], stop: str = "", usage: Json | None = None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}} if parts else {}
    if stop:
        candidate["finishReason"] = stop
    return {"candidates": [candidate], **({"usageMetadata": usage} if usage else {})}


def _gemini_usage(reply: Reply, prompt: int) -> Json:
    return {"promptTokenCount": prompt, "candidatesTokenCount": reply.output_tokens()}


def _gemini_chunks(reply: Reply, prompt: int, size: int) -> Iterator[Json]:
    for piece in pieces(reply.reasoning, size):
        yield _gemini([{"text": piece, "thought": True}])
    for piece in pieces(reply.text, size):
        yield _gemini([{"text": piece}])
    for call in reply.calls:
        yield _gemini([{"functionCall": {"name": call.name, "args": _object(call.arguments)}}])
    yield _gemini([], reply.stop or "STOP", _gemini_usage(reply, prompt))


_WRITERS = {
    "responses": ReplyWriter(_responses_response, _responses_chunks),
    "anthropic": ReplyWriter(_anthropic_response, _anthropic_chunks),
    "gemini": ReplyWriter(_gemini_response, _gemini_chunks),
    "openai": ReplyWriter(_chat_response, _chat_chunks),
    "mistral": ReplyWriter(_chat_response, _chat_chunks),
}
