"""Messages, tools and tool results as the GenAI conventions write them: JSON texts, since a span has no objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from transom.conversation.render_window import render
from transom.core.message import Raw
from transom.wire.rendering import Request

FINISH_REASONS = {"tool_calls": "tool_call", "filter": "content_filter", "malformed": "error"}
"""Reasons why a model stopped that have another name in the conventions."""

_DATA_URL = "data:"


def request_attributes(request: Request) -> dict[str, Any]:
    """Return the span attributes for what a request says: the messages, and if it has any the system prompt and the
    tools, each as a JSON text."""
    body = render(request.window)  # OpenAI's format is the nearest to that of the conventions
    system: list[Raw] = []
    messages: list[Raw] = []
    for message in cast("list[Raw]", body["messages"]):
        if message["role"] in ("system", "developer") and not messages:
            system += _content(message.get("content"))
        else:
            messages.append(_message(message))
    attributes = {"gen_ai.input.messages": to_json(messages)}
    if system:
        attributes["gen_ai.system_instructions"] = to_json(system)
    if tools := body.get("tools"):
        attributes["gen_ai.tool.definitions"] = to_json([*map(_tool, tools)])
    return attributes


def reply_message(text: str, reasoning: str, calls: Iterable[Raw], stop: str) -> str:
    """Return the value of `gen_ai.output.messages` for a reply, a JSON text. `reasoning`: empty for none. Each of the
    `calls` has the keys id, name and arguments (a JSON text). `stop`: why the model stopped, in our words."""
    parts: list[Raw] = []
    if reasoning:
        parts.append({"type": "reasoning", "content": reasoning})
    if text:
        parts.append({"type": "text", "content": text})
    parts += map(_call, calls)
    return to_json([{"role": "assistant", "parts": parts, "finish_reason": FINISH_REASONS.get(stop, stop)}])


def newest_user_message(request: Request) -> str:
    """Return the value of `gen_ai.input.messages` for a run, a JSON text: a list with the newest message of the user
    that `request`, the first of the run, shows; an empty list if it shows none."""
    messages = cast("list[Raw]", render(request.window)["messages"])
    newest = next((message for message in reversed(messages) if message["role"] == "user"), None)
    return to_json([] if newest is None else [_message(newest)])


def result_text(content: object) -> str:
    """The value of `gen_ai.tool.call.result`: a text as it is, anything else as JSON (see `to_json`)."""
    return content if isinstance(content, str) else to_json(content)


def to_json(value: object) -> str:
    """Return a value as JSON text. A lone surrogate, which UTF-8 does not have, becomes a question mark. Raises
    TypeError for an object that has no form in JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(value)).decode()


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in cast("Raw", value).items()}
    if isinstance(value, (list, tuple)):
        return [*map(_encodable, cast("Sequence[object]", value))]
    return value


def _message(message: Raw) -> Raw:
    """A message of OpenAI's format in that of the conventions."""
    if message["role"] == "tool":
        content = message.get("content")
        response = content if isinstance(content, str) else _content(content)
        part: Raw = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": response}
        return {"role": "tool", "parts": [part]}
    functions = [{"id": call.get("id"), **call.get("function", {})} for call in message.get("tool_calls") or ()]
    return {"role": message["role"], "parts": [*_content(message.get("content")), *map(_call, functions)]}


def _call(call: Raw) -> Raw:
    written = call.get("arguments", "")
    try:
        arguments = msgspec.json.decode(written)
    except (msgspec.DecodeError, UnicodeEncodeError):
        arguments = written
    return {"type": "tool_call", "id": call.get("id"), "name": call.get("name", ""), "arguments": arguments}


def _content(content: object) -> list[Raw]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [_part(part) for part in cast("Sequence[Raw]", content or ())]


def _part(part: Raw) -> Raw:
    kind = part.get("type")
    if kind in ("text", "refusal"):
        return {"type": "text", "content": part.get(kind, "")}
    if kind == "image_url":
        return _media(part["image_url"].get("url", ""), "image")
    if kind == "input_audio":
        audio = part["input_audio"]
        mime = f"audio/{audio.get('format', '')}"
        return {"type": "blob", "modality": "audio", "mime_type": mime, "content": audio.get("data", "")}
    if kind == "file" and (data := part["file"].get("file_data")):
        return _media(data, "document")
    return {**part}


def _media(url: str, modality: str) -> Raw:
    if not url.startswith(_DATA_URL):
        return {"type": "uri", "modality": modality, "uri": url}
    kind, _, data = url.removeprefix(_DATA_URL).partition(",")
    return {"type": "blob", "modality": modality, "mime_type": kind.partition(";")[0], "content": data}


def _tool(tool: Raw) -> Raw:
    function = cast("Raw", tool.get("function") or tool)
    described = {key: function[key] for key in ("name", "description", "parameters") if key in function}
    return {"type": "function" if "function" in tool else tool.get("type", "function"), **described}
