"""Reads an OpenAI chat message as a fact. Nothing is lost: fields without a place stay in `extra`.

A field that is null, empty or missing where a text belongs reads as an empty text. It stays in `extra` as it was, so
that it comes out the same. Input is copied, so that later changes by the caller do not reach the log.
"""

from __future__ import annotations

from typing import cast

from transom.core import message as m
from transom.core.message import Call, Fact, Raw
from transom.errors import InvalidMessage
from transom.wire.fields import (
    compact_json,
    is_text,
    json_copy,
    kind_of,
    require_object,
    take_content,
    take_role,
    take_text,
)
from transom.wire.parts import MediaTypes, other_part, text_part
from transom.wire.translate import without_failed_mark
from transom.wire.turns import turn_of

DIALECT_NAME = "openai"
"""The name of this dialect in facts."""

MEDIA_TYPES: MediaTypes = {
    "image_url": "image",
    "file": "file",
    "input_file": "file",
    "input_audio": "file",
    "audio_url": "file",
    "video_url": "file",
    "document_url": "file",
}
"""Content parts that hold an image or a file: OpenAI's own, Mistral's, vLLM's."""

REASONING = ("reasoning_content", "reasoning")
"""The keys of the model's reasoning: DeepSeek's, then that of Groq, OpenRouter and vLLM."""

THINKING = "thinking"
"""The type of the content parts in which Mistral's models think; also `Reasoning.field` of such a part."""

REGULAR_CALL: Raw = {"type": "function", "function": {}}
"""A regular call without its id, name and arguments. A call with other fields keeps them in `extra`."""

_KINDS: dict[str, type[Fact]] = {
    "system": m.Instruction,
    "developer": m.Instruction,
    "user": m.User,
    "assistant": m.Assistant,
    "tool": m.ToolResult,
    "function": m.ToolResult,
}


def parse(message: object, where: str = "message", *, reads_failed_mark: bool = True) -> Fact:
    """The fact of one message. `where`: what errors say first. `reads_failed_mark`: whether a tool result whose text
    begins with the mark of failed ones is one.

    Raises InvalidMessage if the message is not an object with a known role, is another dialect's, or a field has the
    wrong type.
    """
    fields = json_copy(require_object(message, where, "a message"), where)
    role = take_role(fields, where, DIALECT_NAME, _KINDS)
    if not isinstance(fields.get("name"), (str, type(None))):
        raise InvalidMessage(where, f"name must be a string, not {kind_of(fields['name'])}")
    read = _assistant_part if role == "assistant" else _part
    parts, shape = take_content(fields, "content", where, "a string, a list of parts or null", read)
    if role == "assistant":
        beside = [m.Reasoning(fields.pop(key), key) for key in REASONING if is_text(fields.get(key))]
        calls = _calls(fields, where)
        return turn_of([*beside, *parts, *calls], shape=shape, extra=fields or None)
    own = _beside(role, fields, where)
    fact = _KINDS[role](parts=cast("tuple[m.Part, ...]", parts), shape=shape, extra=fields or None, **own)
    return without_failed_mark(fact) if reads_failed_mark else fact


def body_keys(call: Raw) -> tuple[str, str]:
    """The keys of a call's body and of its arguments: those of a function, or of a custom tool, which takes free
    text."""
    return ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")


def _beside(role: str, fields: Raw, where: str) -> Raw:
    """The fields of the fact beside its content, taken out of the message's fields."""
    if role == "tool":
        return {"call": take_text(fields, "tool_call_id", where, "")}
    # a default that is written out would change what is stored: no role for "system"
    return {"legacy": True} if role == "function" else {"role": role} if role == "developer" else {}


def _part(raw: Raw, where: str, path: str) -> m.Part:
    """A content part."""
    if raw.get("type") == "text":
        return text_part(raw, "text", where, path, drop={"type", "text"})
    return other_part(raw, MEDIA_TYPES)


def _assistant_part(raw: Raw, where: str, path: str) -> m.Part | m.Reasoning:
    """A content part of the model's, or its reasoning: a part of the type `thinking` with one text. (One with
    references among its texts stays as it is.)"""
    held = raw.get(THINKING) if raw.get("type") == THINKING else None
    pieces = cast("list[object]", held) if isinstance(held, list) else []
    text = cast("Raw", pieces[0]) if len(pieces) == 1 and isinstance(pieces[0], dict) else {}
    if text.keys() != {"type", "text"} or text["type"] != "text" or not isinstance(text["text"], str):
        return _part(raw, where, path)
    rest = {key: value for key, value in raw.items() if key not in {"type", THINKING}}
    return m.Reasoning(text["text"], THINKING, extra=rest or None)


# ---- calls


def _calls(fields: Raw, where: str) -> tuple[Call, ...]:
    """The calls of a turn. If there are none, `tool_calls` and `function_call` stay in `extra` as they are."""
    listed, legacy = fields.get("tool_calls"), fields.get("function_call")
    if listed is not None and not isinstance(listed, list):
        raise InvalidMessage(where, f"tool_calls must be a list, not {kind_of(listed)}")
    if listed:
        items = cast("list[object]", fields.pop("tool_calls"))
        return tuple(_call(item, where, f"tool_calls[{i}]") for i, item in enumerate(items))
    if legacy is None:
        return ()
    rest = require_object(legacy, where, "function_call")
    name = take_text(rest, "name", where, "function_call.")
    if not name:  # responses of some compatibles carry an empty one: no call was made
        return ()
    del fields["function_call"]
    return (Call("", name, _arguments(rest, "arguments"), rest or None, legacy=True),)


def _call(item: object, where: str, path: str) -> Call:
    """One call."""
    rest = require_object(item, where, path)
    kind, field = body_keys(rest)
    if kind not in rest:
        raise InvalidMessage(where, f"{path} has no {kind}")
    body = require_object(rest[kind], where, f"{path}.{kind}")
    label = take_text(rest, "id", where, f"{path}.")
    name = take_text(body, "name", where, f"{path}.{kind}.")
    args = _arguments(body, field)
    regular = rest == REGULAR_CALL and label and name and args
    return Call(label, name, args, None if regular else rest)


def _arguments(body: Raw, field: str) -> str:
    """The arguments of a call as text, taken out of its body; a value that is not a text stays there and is returned as
    JSON."""
    value = body.get(field)
    if value is None or value == "":
        return ""
    return body.pop(field) if isinstance(value, str) else compact_json(value)
