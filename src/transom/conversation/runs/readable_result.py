"""What a tool returned, as the JSON or text that the model reads."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Generator
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from transom import texts
from transom.conversation.appending.parse_messages import read_mcp, tool_content
from transom.conversation.function_tool import error_text
from transom.conversation.runs.work import ToolOutcome
from transom.errors import InvalidMessage

_BINARY = (bytes, bytearray, memoryview)


def readable(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome with a content that the model can read. Never raises: an object that cannot be read (its repr
    raises, it is nested too deep) makes the call a failed one that says so."""
    try:
        is_text = isinstance(outcome.content, str)
        if not is_text and (mcp := read_mcp(outcome.content)) is not None:
            return replace(outcome, content=mcp.parts or texts.NO_OUTPUT, failed=outcome.failed or mcp.failed)
        return replace(outcome, content=result_content(outcome.content))
    except Exception as error:  # noqa: BLE001 - the code of the object has run
        why = "it is nested too deep" if isinstance(error, RecursionError) else error_text(error)
        failed = f"the tool ran, but its result cannot be read: {why}"
        return replace(outcome, content=failed, failed=True)


def result_content(value: object) -> object:
    """What a tool returned, as `tool_result` takes it. What JSON has stays as it is; structs, dataclasses and pydantic
    models become objects, at any depth; bytes become their UTF-8 text; keys become texts; of anything else its `str`
    is taken. None and an empty text become "[no output]".

    Raises what the `str` of an object raises, and TypeError for a generator, which has nothing to read.
    """
    if value is None:
        return texts.NO_OUTPUT
    if isinstance(value, (Generator, AsyncGenerator)):
        raise TypeError("it is a generator; the tool must return a list or a text")
    try:
        content = tool_content(_json_value(msgspec.to_builtins(value, builtin_types=_BINARY, enc_hook=_fields)))
    except (InvalidMessage, TypeError, ValueError, RecursionError):
        content = str(value)
    return texts.NO_OUTPUT if content == "" else content


def _fields(value: Any) -> Any:
    """An object that msgspec does not know: the fields of a pydantic model, or a text."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) and not isinstance(value, type) else str(value)


def _json_value(value: object) -> object:
    """The value with texts for keys and bytes. Raises ValueError if two keys have the same text."""
    if isinstance(value, dict):
        fields = cast("dict[object, object]", value)
        named = {_key(key): _json_value(item) for key, item in fields.items()}
        if len(named) < len(fields):
            raise ValueError("two keys have the same text")
        return named
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in cast("list[object]", value)]
    return _text(bytes(cast("bytes", value))) if isinstance(value, _BINARY) else value


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bytes):
        return _text(key)
    return json.dumps(key) if key is None or isinstance(key, (bool, int, float)) else str(key)


def _text(data: bytes) -> str:
    """Bytes as their UTF-8 text; if they are none, a text that says how many they are."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return texts.binary_output(len(data))
    return texts.binary_output(len(data)) if "\0" in text else text


def as_text(content: Any) -> str:
    """The text of a result whose content the dialect does not take: a text as it is, anything else as JSON."""
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
