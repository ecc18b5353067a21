"""Translates LangChain messages to OpenAI Chat messages and back.

It reads what `messages_to_dict` writes (`{"type": "ai", "data": {…}}`), what `dumpd` and `dumps` write (`{"lc": 1,
"kwargs": {…}}`), and what `model_dump` or LangGraph's API write (`{"type": "ai", "content": …}`). Content may be in
LangChain's own blocks or in those of the provider that made it.
"""

from __future__ import annotations

import json
from typing import Any, cast

from transom.core.message import Raw
from transom.texts import FAILED
from transom.wire.chat_json import chat_call, chat_media, name_and_arguments
from transom.wire.fields import as_dict, data_url, objects_in, plain_text, text
from transom.wire.translate import failed_content

_ROLES = {
    "human": "user",
    "HumanMessageChunk": "user",
    "ai": "assistant",
    "AIMessageChunk": "assistant",
    "system": "system",
    "SystemMessageChunk": "system",
    "tool": "tool",
    "ToolMessageChunk": "tool",
    "function": "function",
    "FunctionMessageChunk": "function",
    "chat": "",
    "ChatMessageChunk": "",
    "remove": "",
}
"""The role of each type of message; the role of a chat message is in its `role` (empty here)."""

_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call", "tool_call_chunk", "invalid_tool_call"})
_REASONING_BLOCKS = {"reasoning": "reasoning", "thinking": "thinking", "reasoning_content": "reasoning_content"}


def is_message(value: object) -> bool:
    """True if a value is a LangChain message as a dict: as `messages_to_dict`, `dumpd`, `model_dump` or LangGraph's API
    writes it."""
    kind, data = _opened(value)
    return kind in _ROLES and "content" in data


def messages_in(value: object) -> list[object] | None:
    """Return the messages of a serialised prompt (`dumpd(ChatPromptValue(…))`) or of a thread's state in LangGraph
    (`{"values": {"messages": […]}}`), as they stand there; None if the value is neither.
    """
    fields = as_dict(value)
    holder = fields["kwargs"] if _is_dump(fields) else as_dict(fields.get("values"))
    found = holder.get("messages")
    return cast("list[object]", found) if isinstance(found, list) else None


def message(value: object) -> Raw | None:
    """Translate a LangChain message, a dict in one of the forms that `is_message` knows, to an OpenAI Chat message. A
    failed tool result gets the mark `[failed]`. None for a `RemoveMessage`, which has no content of its own, and for a
    message without a role that we know."""
    kind, data = _opened(value)
    role = _ROLES.get(kind, "") or data.get("role")
    if kind == "remove" or not isinstance(role, str):
        return None
    out: Raw = {"role": role, "content": _content(data.get("content"))}
    if role == "system" and as_dict(data.get("additional_kwargs")).get("__openai_role__") == "developer":
        out["role"] = "developer"
    if isinstance(data.get("name"), str):
        out["name"] = data["name"]
    if role == "tool":
        out["tool_call_id"] = data.get("tool_call_id") or ""
        if data.get("status") == "error":
            out["content"] = failed_content(out["content"])
    if role == "assistant":
        _add_turn(out, data)
    return out


def from_chat(message: Raw) -> Raw:
    """Translate an OpenAI Chat message to the form that `messages_to_dict` writes."""
    role, content = text(message, "role"), message.get("content")
    data: Raw = {"content": "" if content is None else content, "additional_kwargs": {}, "response_metadata": {}}
    kind = {"user": "human", "assistant": "ai", "developer": "system"}.get(role, role)
    if isinstance(message.get("name"), str):
        data["name"] = message["name"]
    if kind == "ai":
        listed = [langchain_call(call) for call in objects_in(message.get("tool_calls"))]
        data["tool_calls"] = [call for call in listed if call["type"] == "tool_call"]
        data["invalid_tool_calls"] = [call for call in listed if call["type"] == "invalid_tool_call"]
        beside = {key: message[key] for key in ("reasoning_content", "function_call", "refusal") if message.get(key)}
        data["additional_kwargs"] = beside
    elif kind == "tool":
        data["tool_call_id"] = message.get("tool_call_id") or ""
        if plain_text(content).startswith(FAILED):
            data["status"] = "error"
    elif kind == "system" and role == "developer":
        data["additional_kwargs"] = {"__openai_role__": "developer"}
    return {"type": kind, "data": {**data, "type": kind}}


def langchain_call(call: Raw) -> Raw:
    """Translate a call of a chat message to LangChain's form. A call whose arguments are no JSON object becomes an
    invalid tool call, with the arguments as their text."""
    name, args = name_and_arguments(call)
    out: Raw = {"name": name, "args": args, "id": call.get("id")}
    if isinstance(args, dict):
        return {**out, "type": "tool_call"}
    return {**out, "error": None, "type": "invalid_tool_call"}


def _is_dump(fields: Raw) -> bool:
    return "lc" in fields and isinstance(fields.get("kwargs"), dict) and isinstance(fields.get("id"), list)


def _opened(value: object) -> tuple[str, Raw]:
    """Return the type and the fields of a message in any of the three forms; the type is empty for any other value."""
    fields = as_dict(value)
    if _is_dump(fields):
        data = cast("Raw", fields["kwargs"])
        name = str((fields["id"] or [""])[-1])
        kind = data.get("type") or name.removesuffix("Message").lower()
    else:
        data, kind = fields.get("data"), fields.get("type")
        if not isinstance(data, dict):
            data = fields if "role" not in fields or kind == "chat" else {}
    return (kind if isinstance(kind, str) else ""), cast("Raw", data)


def _add_turn(out: Raw, data: Raw) -> None:
    """Add calls and reasoning of a message of the model to `out`, the Chat message made from it."""
    beside = as_dict(data.get("additional_kwargs"))
    calls = [_call(call) for call in objects_in(data.get("tool_calls")) + objects_in(data.get("invalid_tool_calls"))]
    calls = calls or objects_in(beside.get("tool_calls"))  # OpenAI's own form, all that old versions have
    blocks = objects_in(data.get("content"))
    calls = calls or [_call(block) for block in blocks if text(block, "type") in {"tool_use", "tool_call"}]
    if calls:
        out["tool_calls"] = calls
        out["content"] = out["content"] or None
    elif isinstance(beside.get("function_call"), dict):
        out["function_call"] = beside["function_call"]
    thoughts = [_thought(block) for block in blocks] + [beside.get("reasoning_content")]
    if said := [thought for thought in thoughts if isinstance(thought, str) and thought]:
        out["reasoning_content"] = "\n".join(said)


def _call(call: Raw) -> Raw:
    args: Any = call["args"] if "args" in call else call.get("input")
    text = args if isinstance(args, str) else json.dumps(args if args is not None else {}, ensure_ascii=False)
    return chat_call(call.get("id") or "", call.get("name") or "", text)


def _thought(block: Raw) -> object:
    key = _REASONING_BLOCKS.get(text(block, "type"))
    found = None if key is None else block.get(key)
    return cast("Raw", found).get("text") if isinstance(found, dict) else found


def _content(value: object) -> object:
    """Return the content without calls and reasoning, which a Chat message has under keys of their own."""
    if not isinstance(value, list):
        return value
    items = [{"type": "text", "text": item} if isinstance(item, str) else item for item in cast("list[object]", value)]
    beside = _CALL_BLOCKS | _REASONING_BLOCKS.keys()
    blocks = [cast("Raw", item) for item in items if isinstance(item, dict)]
    return [_part(block) for block in blocks if text(block, "type") not in beside]


def _part(block: Raw) -> Raw:
    """A block of content as a part of a Chat message. Any but a text, an image or a file is returned unchanged."""
    kind = text(block, "type")
    if kind == "text":
        return {"type": "text", "text": block.get("text") or ""}
    if kind in {"image", "file", "audio"} and (url := _url(block)):
        return chat_media("image" if kind == "image" else "file", url)
    return block


def _url(block: Raw) -> str:
    """Return the URL of an image or a file, a data URL where the block holds the data; empty if it has neither."""
    fields = as_dict(block.get("source")) or block
    data = fields.get("base64") or fields.get("data")
    mime = fields.get("mime_type") or fields.get("media_type")
    if isinstance(data, str) and isinstance(mime, str):
        return data_url(mime, data)
    return text(fields, "url")
