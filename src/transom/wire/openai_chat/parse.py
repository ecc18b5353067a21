"""One OpenAI chat message to a fact. Nothing is lost: what has no field of its own stays raw in an `extra`.

A field that is null, empty or missing where a text belongs reads as empty and stays in `extra` as it stood, so that it
comes out the same. Input is copied: what the caller does to its message afterwards never reaches the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

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
from transom.wire.reading import a_text, an_object, compact, is_text, kind_of, of_this, owned

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
    fields = owned(cast("dict[object, object]", message), where)
    if "role" not in fields:
        raise InvalidMessage(where, "the message has no role")
    role = of_this(fields, where, "openai").pop("role")
    read = _READ.get(role) if isinstance(role, str) else None
    if read is None:
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise InvalidMessage(where, f"role must be one of {', '.join(_READ)}, not {shown}")
    if not isinstance(fields.get("name"), (str, type(None))):
        raise InvalidMessage(where, f"name must be a string, not {kind_of(fields['name'])}")
    return read(fields, where)


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
    thoughts = tuple(Reasoning(fields.pop(key), key) for key in REASONING if is_text(fields.get(key)))
    calls = _calls(fields, where)
    return Assistant(parts=parts, shape=shape, calls=calls, reasoning=thoughts, extra=fields or None)


def _tool(fields: Raw, where: str) -> Fact:
    parts, shape = _content(fields, where)
    call = a_text(fields, "tool_call_id", where, "")
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
    raw = an_object(item, where, path)
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
    rest = an_object(legacy, where, "function_call")
    name = a_text(rest, "name", where, "function_call.")
    if not name:  # responses of some compatibles carry an empty one: no call was made
        return ()
    del fields["function_call"]
    return (Call("", name, _arguments(rest, "arguments"), rest or None, legacy=True),)


def _call(item: object, where: str, path: str) -> Call:
    rest = an_object(item, where, path)
    kind, field = body_keys(rest)
    if kind not in rest:
        raise InvalidMessage(where, f"{path} has no {kind}")
    body = an_object(rest[kind], where, f"{path}.{kind}")
    label = a_text(rest, "id", where, f"{path}.")
    name = a_text(body, "name", where, f"{path}.{kind}.")
    args = _arguments(body, field)
    regular = rest == REGULAR_CALL and label and name and args
    return Call(label, name, args, None if regular else rest)


def _arguments(body: Raw, field: str) -> str:
    value = body.get(field)
    if value is None or value == "":
        return ""
    return body.pop(field) if isinstance(value, str) else compact(value)
