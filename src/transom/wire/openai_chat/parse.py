"""One OpenAI chat message to a fact. Nothing is lost: what has no field of its own stays raw in an `extra`.

A field that is null, empty or missing where a text belongs reads as empty and stays in `extra` as it stood, so that it
comes out the same. Input is copied: what the caller does to its message afterwards never reaches the log.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isfinite
from typing import Any, cast

from transom.core.message import (
    Assistant,
    Call,
    Fact,
    Instruction,
    Media,
    Other,
    Part,
    Raw,
    Reasoning,
    Shape,
    Text,
    ToolResult,
    User,
)
from transom.errors import InvalidMessage

DEPTH = 100
"""How deep a message may nest. JSON libraries recurse: some thousand levels would end the process that reads them."""

FILES = frozenset({"file", "input_file", "input_audio", "audio_url", "video_url", "document_url"})
"""Content parts that hold a file of some kind: OpenAI's own, Mistral's, vLLM's."""

REASONING = ("reasoning_content", "reasoning")
"""Where compatibles put the model's reasoning: DeepSeek's key, then that of Groq, OpenRouter and vLLM."""

REGULAR_CALL: Raw = {"type": "function", "function": {}}
"""What is left of a regular call without its id, name and arguments."""


def parse(message: object, where: str = "message") -> Fact:
    """The fact a message is. Raises InvalidMessage, naming `where` and the field, if it can be read in no way."""
    if not isinstance(message, dict):
        raise InvalidMessage(where, f"a message must be an object, not {kind_of(message)}")
    fields = _owned(cast("dict[object, object]", message), where)
    if "role" not in fields:
        raise InvalidMessage(where, "the message has no role")
    role = fields.pop("role")
    read = _READ.get(role) if isinstance(role, str) else None
    if read is None:
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise InvalidMessage(where, f"role must be one of {', '.join(_READ)}, not {shown}")
    if not isinstance(fields.get("name"), (str, type(None))):
        raise InvalidMessage(where, f"name must be a string, not {kind_of(fields['name'])}")
    return read(fields, where)


def compact(value: object) -> str:
    """Arguments that came as JSON and not as its text, as the text they should have been."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def body_keys(call: Raw) -> tuple[str, str]:
    """Where a tool call keeps its name and arguments: a custom tool takes free text instead of JSON."""
    return ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")


# ---- by role


def _system(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    return Instruction(parts=parts, shape=shape, extra=fields or None, role="system")


def _developer(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    return Instruction(parts=parts, shape=shape, extra=fields or None, role="developer")


def _user(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    return User(parts=parts, shape=shape, extra=fields or None)


def _assistant(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    thoughts = tuple(Reasoning(fields.pop(key), key) for key in REASONING if _is_text(fields.get(key)))
    calls = _calls(fields, where)
    return Assistant(parts=parts, shape=shape, calls=calls, reasoning=thoughts, extra=fields or None)


def _tool(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    call = _text(fields, "tool_call_id", where, "")
    return ToolResult(parts=parts, shape=shape, call=call, extra=fields or None)


def _function(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    return ToolResult(parts=parts, shape=shape, extra=fields or None, legacy=True)


_READ: dict[str, Callable[[Raw, str], Fact]] = {
    "system": _system,
    "developer": _developer,
    "user": _user,
    "assistant": _assistant,
    "tool": _tool,
    "function": _function,
}


# ---- content


def _content(fields: Raw, where: str) -> tuple[tuple[Part, ...], Shape]:
    if "content" not in fields:
        return (), "absent"
    content = fields.pop("content")
    if content is None:
        return (), "null"
    if isinstance(content, str):
        return (Text(content),), "text"
    if isinstance(content, list):
        items = cast("list[object]", content)
        return tuple(_part(item, where, f"content[{i}]") for i, item in enumerate(items)), "parts"
    raise InvalidMessage(where, f"content must be a string, a list of parts or null, not {kind_of(content)}")


def _part(item: object, where: str, path: str) -> Part:
    raw = _object(item, where, path)
    kind = raw.get("type")
    if kind == "text":
        if not isinstance(raw.get("text"), str):
            raise InvalidMessage(where, f"{path}.text must be a string, not {kind_of(raw.get('text'))}")
        rest = {key: value for key, value in raw.items() if key not in {"type", "text"}}
        return Text(raw["text"], rest or None)
    if kind == "image_url":
        return Media("image", raw)
    return Media("file", raw) if isinstance(kind, str) and kind in FILES else Other(raw)


# ---- calls


def _calls(fields: Raw, where: str) -> tuple[Call, ...]:
    """The calls of a turn. Without any, `tool_calls` and `function_call` stay in `extra` as they stood."""
    listed, legacy = fields.get("tool_calls"), fields.get("function_call")
    if listed is not None and not isinstance(listed, list):
        raise InvalidMessage(where, f"tool_calls must be a list, not {kind_of(listed)}")
    if listed:
        items = cast("list[object]", fields.pop("tool_calls"))
        return tuple(_call(item, where, f"tool_calls[{i}]") for i, item in enumerate(items))
    if legacy is None:
        return ()
    rest = _object(legacy, where, "function_call")
    name = _text(rest, "name", where, "function_call.")
    if not name:  # responses of some compatibles carry an empty one: no call was made
        return ()
    del fields["function_call"]
    return (Call("", name, _arguments(rest, "arguments"), rest or None, legacy=True),)


def _call(item: object, where: str, path: str) -> Call:
    rest = _object(item, where, path)
    kind, field = body_keys(rest)
    if kind not in rest:
        raise InvalidMessage(where, f"{path} has no {kind}")
    body = _object(rest[kind], where, f"{path}.{kind}")
    label = _text(rest, "id", where, f"{path}.")
    name = _text(body, "name", where, f"{path}.{kind}.")
    args = _arguments(body, field)
    return Call(label, name, args, None if rest == REGULAR_CALL else rest)


def _arguments(body: Raw, field: str) -> str:
    value = body.get(field)
    if value is None or value == "":
        return ""
    return body.pop(field) if isinstance(value, str) else compact(value)


# ---- fields


def _text(fields: Raw, key: str, where: str, path: str) -> str:
    """A text taken out of `fields`; an empty, null or missing one is left as it is."""
    value = fields.get(key)
    if value is None or value == "":
        return ""
    if not isinstance(value, str):
        raise InvalidMessage(where, f"{path}{key} must be a string, not {kind_of(value)}")
    return fields.pop(key)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _object(value: object, where: str, path: str) -> Raw:
    if not isinstance(value, dict):
        raise InvalidMessage(where, f"{path} must be an object, not {kind_of(value)}")
    return cast("Raw", value)


def _owned(message: dict[object, object], where: str) -> Raw:
    """A deep copy, sure to be JSON."""
    fields: Raw = {}
    for key, value in message.items():
        if not isinstance(key, str):
            raise InvalidMessage(where, f"the keys of a message must be strings, not {kind_of(key)}")
        fields[key] = value if type(value) is str else _copy(value, DEPTH, where, key)
    return fields


def _copy(value: object, left: int, where: str, field: str) -> Any:
    if isinstance(value, str):
        return str.__str__(value)  # of an enum the text, not its name
    if isinstance(value, float) and not isfinite(value):
        raise InvalidMessage(where, f"{field} holds {value}, which is not JSON")
    if value is None or isinstance(value, (int, float)):
        return value
    if not isinstance(value, (dict, list)):
        raise InvalidMessage(where, f"{field} holds a value that is not JSON: {kind_of(value)}")
    if not left:
        raise InvalidMessage(where, f"{field} is nested more than {DEPTH} levels deep")
    if isinstance(value, list):
        return [_copy(item, left - 1, where, field) for item in cast("list[object]", value)]
    copied: Raw = {}
    for key, item in cast("dict[object, object]", value).items():
        if not isinstance(key, str):
            raise InvalidMessage(where, f"{field} holds an object with a key that is not a string")
        copied[key] = item if type(item) is str else _copy(item, left - 1, where, field)
    return copied


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
)


def kind_of(value: object) -> str:
    """What a value is, in the words of JSON."""
    known = (name for kind, name in _KINDS if isinstance(value, kind))
    return "null" if value is None else next(known, type(value).__name__)
