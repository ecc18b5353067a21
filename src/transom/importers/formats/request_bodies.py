"""Recognises the format of request bodies, of lists of messages, and of Transom's own form of a conversation.

    {"model": …, "messages": […], "tools": […]}        a body of OpenAI Chat or Anthropic
    {"model": …, "input": […], "instructions": …}      a body of OpenAI Responses
    {"contents": […], "systemInstruction": …}          a body of Gemini
    {"id": …, "messages": […], "system": …}            Transom's own: `messages` in the form of any of these APIs
    […]                                                just the messages

What only one API has in a list of messages decides which API it is for. If nothing decides, it is OpenAI Chat: plain
texts look the same there and at Anthropic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from transom.core.message import Raw
from transom.importers.formats import message_format
from transom.wire.fields import as_dict, objects_in, text

MESSAGE_KEYS = {"messages": "", "contents": "gemini", "input": "responses"}
"""The keys under which a body may have its messages, each with the format that it decides; empty if it decides none."""

SYSTEM_KEYS = {
    "gemini": ("systemInstruction", "system_instruction", "system"),
    "responses": ("instructions", "system"),
    "semantic_kernel": ("system_message",),
}
"""For each format, the keys under which a body may have the system instruction.

A format that is not here has it under `system` (OpenAI Chat only in Transom's own form).
"""

_CHAT_KEYS = ("tool_calls", "function_call", "tool_call_id", "reasoning_content", "refusal")
_CHAT_ROLES = frozenset({"tool", "function", "developer"})
_CHAT_PARTS = frozenset({"image_url", "input_audio", "file", "refusal", "audio_url", "video_url", "document_url"})
_ANTHROPIC_BLOCKS = frozenset(
    {
        "tool_use",
        "tool_result",
        "image",
        "document",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
        "search_result",
        "container_upload",
        "tool_reference",
        "tool_addition",
        "tool_removal",
        "mcp_tool_use",
        "mcp_tool_result",
    }
)
_MEDIA_KEYS = {"image": "source", "file": "file"}
"""Types of parts that libraries have too, and the key that such a part has at the API alone."""
_RESPONSES_PARTS = frozenset({"input_text", "output_text", "input_image", "input_file"})
_ANTHROPIC_KEYS = ("anthropic_version", "anthropic_beta", "stop_sequences", "thinking", "top_k", "betas")


_CONTENT_KEYS = ("content", "parts", *_CHAT_KEYS, "reasoning", "reasoning_details", "thinking", "audio", "output")
_LABEL_KEYS = frozenset(
    {"id", "role", "name", "type", "metadata", "timestamp", "created_at", "model", "status", "phase"}
)
_KNOWN_PARTS = frozenset({"text", "thinking", "reasoning", *_CHAT_PARTS, *_ANTHROPIC_BLOCKS, *_RESPONSES_PARTS})
_LIKE_KNOWN = re.compile(r"(?:_text|_use|_call|_result|_output|_image|_url|_audio|_file|_block|_reference|compaction)$")
"""The types of parts that the APIs have, and how those of tomorrow will end."""


def key_of(body: Raw) -> str:
    """Return the key out of MESSAGE_KEYS under which a body has its messages: a list, or under `input` also a text.
    Empty if it has no messages, as a single message, a row of a data set, or a request for embeddings."""
    has_turns = any("role" in each for each in objects_in(body.get("messages")))
    is_one = "role" in body and ("content" in body or "contents" in body) and not has_turns
    is_row = isinstance(body.get("output"), str)
    listed = (key for key in MESSAGE_KEYS if isinstance(body.get(key), list) and not is_one)
    found = next(listed, "input" if isinstance(body.get("input"), str) and not is_row else "")
    embedding = found == "input" and isinstance(body[found], list) and not all(map(as_dict, body[found][:1]))
    return "" if embedding else found


def is_message(value: object) -> bool:
    """True if a value looks like a message of one of the APIs: an object with a `role` or `parts`, or an item of
    Responses. False for a body, which holds messages."""
    fields = as_dict(value)
    if key_of(fields):
        return False
    return "role" in fields or "parts" in fields or is_item(fields)


def format_of(body: Raw, messages: list[object]) -> str:
    """Return the name of the format of a body with these messages: that of an API, or of a library that writes such
    messages. Pass `{}` as body for a list of messages alone. "openai" if nothing decides.

    Empty if the messages have parts of no API that is known here.
    """
    if named := MESSAGE_KEYS[key_of(body) or "messages"]:
        return named
    if found := next(_signs(messages), ""):
        return "" if found == "unknown" else found
    roles = [text(message, "role") for message in objects_in(messages)]
    if roles[:1] == ["system"] or not _CHAT_ROLES.isdisjoint(roles):
        return "openai"  # at Anthropic a message of the system may be among the others, but not the first
    return _format_of_beside(body, messages)


def system_of(body: Raw, format_name: str) -> Any:
    """Return the system instruction that a body of this format has outside its messages, in the form that it has there;
    None if it has none, or an empty one."""
    keys = SYSTEM_KEYS.get(format_name, ("system",))
    return next((body[key] for key in keys if body.get(key) not in (None, "", [])), None)


def tools_of(body: Raw) -> tuple[Raw, ...]:
    """Return the tool schemas of a body; the `functions` of the old Chat API are returned in the form of tools."""
    functions = [{"type": "function", "function": one} for one in objects_in(body.get("functions"))]
    return tuple(objects_in(body.get("tools")) or functions)


def _signs(messages: list[object]) -> Iterator[str]:
    """Yield the name of a format for each message that only this format has, and "unknown" for a part of no API: one
    without a type, or at Gemini one with a type or a kind."""
    for message in messages:
        fields = as_dict(message)
        if named := message_format(message):
            yield named
        elif "parts" in fields and "content" not in fields:
            typed = any("type" in part or "kind" in part for part in objects_in(fields["parts"]))
            yield "unknown" if typed else "gemini"
        elif "role" not in fields and is_item(fields):
            yield "responses"
        elif any(fields.get(key) for key in _CHAT_KEYS):
            yield "openai"
        else:
            yield from _signs_of_parts(objects_in(fields.get("content")))


def _signs_of_parts(parts: Iterable[Raw]) -> Iterator[str]:
    """Yield the name of an API for each part of a type that only this API has; "unknown" for a part without a type."""
    for part in parts:
        kind = text(part, "type")
        if not kind:
            yield "unknown"
        elif kind in _MEDIA_KEYS and _MEDIA_KEYS[kind] not in part:
            continue  # of a library: its messages have other signs
        elif kind in _CHAT_PARTS:
            yield "openai"
        elif kind in _RESPONSES_PARTS:
            yield "responses"
        elif kind in _ANTHROPIC_BLOCKS or (kind == "thinking" and isinstance(part.get("thinking"), str)):
            yield "anthropic"


def _format_of_beside(body: Raw, messages: list[object]) -> str:
    """Decide between "openai" and "anthropic" by the other keys of the body, where the messages are nothing but
    texts.
    """
    tools = objects_in(body.get("tools"))
    claude = text(body, "model").startswith(("claude", "anthropic."))
    if any("function" in tool for tool in tools) or ("model" in body and "max_tokens" not in body and not claude):
        return "openai"  # Anthropic must be told how long the reply may be
    anthropic = (
        claude
        or any("input_schema" in tool for tool in tools)
        or any(key in body for key in _ANTHROPIC_KEYS)
        or isinstance(body.get("system"), list)
        or ("model" in body and "system" in body)  # Transom's own form names no model
        or any(
            "cache_control" in part for message in objects_in(messages) for part in objects_in(message.get("content"))
        )
    )
    return "anthropic" if anthropic else "openai"


def unknown_parts(messages: list[object]) -> str:
    """Say in a few words which message, counted from 0, is the first with a content part of no API, as `format_of`
    finds it; empty if none has."""
    found = (at for at, message in enumerate(messages) if "unknown" in _signs([message]))
    return next((f"message {at} with content parts of no API" for at in found), "")


def unknown_texts(messages: list[object]) -> str:
    """Say in a few words which message, counted from 0, is the first with texts that no API would read; empty if none
    has.

    Such a message has texts under some key, and nothing that an API knows; or it has a part whose type no API has.
    """
    for at, fields in enumerate(map(as_dict, messages)):
        if "role" in fields and not any(fields.get(key) for key in _CONTENT_KEYS):
            keys = [key for key, value in fields.items() if key not in _LABEL_KEYS and _has_text(value)]
            if keys:
                return f"message {at} with texts under the key {keys[0]!r:.40}, and no content"
        for part in objects_in(fields.get("content")):
            kind = text(part, "type")
            if kind == "text" and isinstance(part.get("text"), dict):
                return f"message {at} with a part whose text is an object"
            if kind and kind not in _KNOWN_PARTS and not _LIKE_KNOWN.search(kind) and _has_text(part):
                return f"message {at} with a part of the type {kind!r:.40}, which no format here has"
    return ""


_ROLES = {
    "openai": frozenset({"system", "developer", "user", "assistant", "tool", "function"}),
    "anthropic": frozenset({"user", "assistant", "system"}),
    "responses": frozenset({"user", "assistant", "system", "developer"}),
    "gemini": frozenset({"user", "model", "function", "system"}),
}
"""The roles that the messages of each API have."""


def unknown_roles(messages: list[object], format_name: str) -> str:
    """Say in a few words why these cannot be messages of the API `format_name`: one has a role that this API does not
    have, or none has a role. Empty if they may be its messages, and for a format that is not of an API.

    In Responses an item that is no message needs no role, and in Gemini no content needs one.
    """
    known, objects = _ROLES.get(format_name), list(objects_in(messages))
    roles = [text(fields, "role") for fields in objects]
    if known is None or not objects:
        return ""
    for at, role in enumerate(roles):
        if role and role not in known:
            return f"message {at} with the role {role!r:.40}: the roles of {format_name} are {', '.join(sorted(known))}"
    if any(roles):
        return ""
    items = format_name == "responses" and any(text(each, "type") not in {"", "message"} for each in objects)
    return "" if items or format_name == "gemini" else "messages without a role"


def _has_text(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, dict):
        return any(_has_text(each) for key, each in cast("Raw", value).items() if key not in _LABEL_KEYS)
    return isinstance(value, list) and any(map(_has_text, cast("list[object]", value)))


def is_item(value: object) -> bool:
    """True if a value's `type` is that of an item of the Responses API. Call it only for values without a `role`: a
    message of Anthropic may have `type` "message" too."""
    kind = text(as_dict(value), "type")
    items = ("message", "reasoning", "function_call", "custom_tool_call", "additional_tools")
    return kind in items or kind.endswith(("_call", "_call_output"))
