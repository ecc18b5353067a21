"""What callers say, as facts: messages, what the user says, and what a tool returned.

Of a tool's value one rule makes a text (`result_content`), for the tools of a run and `Conversation.tool_result` alike:
so a tool may be moved from a run into a loop of one's own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from typing import Any, cast

import msgspec
from msgspec.structs import force_setattr, replace

from transom import texts
from transom.conversation import argument_checks as check
from transom.conversation.appending.mcp_results import read_mcp
from transom.conversation.argument_checks import kind_of
from transom.conversation.function_tool import error_text
from transom.core.message import Fact, Head, Instruction, Raw, ToolResult, is_empty
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect, Placed
from transom.wire.dialects import dialect_named
from transom.wire.fields import compact_json, json_copy
from transom.wire.frameworks import parse_any
from transom.wire.media import dialect_of_parts
from transom.wire.openai import OPENAI_CHAT
from transom.wire.translate import translate_fact


def split_head(
    messages: Sequence[object], where: str = "", dialect: Dialect = OPENAI_CHAT, *, suggests_dialect: bool = False
) -> tuple[list[Instruction], list[Placed]]:
    """Read messages: the leading system messages as instructions, and every later fact with the position of its message
    in the whole list, from 0.

    A message is a dict of the dialect, a client library's object that can dump itself as one, or an object of an agent
    framework; if one is of a framework, all must be. In a dialect whose system prompt is not among the messages there
    are no leading instructions: all messages are facts. `where`: names the list in errors. `suggests_dialect`: an error
    says which `dialect=` would take these messages, if one would. Raises InvalidMessage.
    """
    facts = _read(messages, dialect, where) if suggests_dialect else parse_any(messages, dialect, where)
    head: list[Instruction] = []
    for _, fact in facts:
        if not isinstance(fact, Instruction):
            break
        head.append(fact)
    if not dialect.render_head(Head(messages=tuple(head))):  # this dialect has no system messages among the others
        return [], facts
    return head, facts[len(head) :]


def facts_of(messages: Sequence[object], dialect: Dialect) -> list[Fact]:
    """Read what `Conversation.extend` takes as facts, in order: messages, or facts, which stay as they are. Raises
    InvalidMessage if one cannot be read, and for a list of messages and facts together."""
    if isinstance(cast("object", messages), (list, tuple)) and any(isinstance(each, Fact) for each in messages):
        return [check.fact(each, None) for each in messages]
    return [fact for _, fact in _read(messages, dialect)]


def _read(messages: Sequence[object], dialect: Dialect, where: str = "") -> list[Placed]:
    """Read messages as `parse_any` does. An error says which `dialect=` would take them, if one would."""
    try:
        return parse_any(messages, dialect, where)
    except InvalidMessage as problem:
        others = (name for name in _SUGGESTED if name != dialect.name)
        found = next((name for name in others if _takes(dialect_named(name), messages)), None)
        if found is None:
            raise
        raise InvalidMessage(problem.where, f'{problem.why}; for these messages give dialect="{found}"') from None


_SUGGESTED = ("openai", "anthropic", "responses", "gemini")


def _takes(dialect: Dialect, messages: Sequence[object]) -> bool:
    try:
        dialect.parse(messages)
    except InvalidMessage:
        return False
    return True


def user_message(dialect: Dialect, value: object) -> Fact:
    """Return what a user says as a fact. `value`: a text, or a list of content parts in the form of the dialect; a
    single part is refused. Raises InvalidMessage for anything else, and for a message with nothing in it; a text of
    blanks passes."""
    fact = dialect.parse_user(_content("user", value))
    if is_empty(fact):
        raise InvalidMessage("user", "the message is empty, and no provider takes that")
    return fact


def _content(where: str, value: object) -> str | list[Any] | Raw:
    """Check content that a dialect will parse, and return it: a text, an object, or a copy of a list of parts."""
    if isinstance(value, str):
        return str.__str__(value)  # of an enum, or another kind of str, the text alone
    if isinstance(value, dict):
        return cast("Raw", value)
    if isinstance(value, (list, tuple)):
        parts = list(cast("Sequence[Any]", value))
        for at, part in enumerate(parts):
            if isinstance(part, dict) and "role" in part and ("content" in part or "parts" in part):
                raise InvalidMessage(
                    where, f"content[{at}] is a whole message, not a content part: pass it to extend([...])"
                )
        return parts
    raise InvalidMessage(where, f"content must be a string or a list of parts, not {kind_of(value)}")


# ---- what a tool returned

_BINARY = (bytes, bytearray, memoryview)


def tool_answer(dialect: Dialect, call_id: str, content: object, *, failed: bool) -> ToolResult:
    """Make the tool result that `Conversation.tool_result` logs, of any value. The result of an MCP tool is read as one
    (`read_mcp`), an exception as its `error_text`, anything else by `result_content`. The result is failed if `failed`
    is true, if `content` is an exception, or if the result of the MCP tool says so. Raises InvalidMessage for a value
    that cannot be read."""
    if isinstance(content, BaseException):  # of `asyncio.gather`: a CancelledError too
        content, failed = error_text(content), True
    try:
        mcp = None if isinstance(content, str) else read_mcp(content)
        given = result_content(content) if mcp is None else mcp.parts or texts.NO_OUTPUT
    except Exception as error:  # noqa: BLE001 - the code of the object has run
        raise InvalidMessage("tool_result", f"the content cannot be read: {why_unreadable(error)}") from None
    fact = result_fact(dialect, call_id, given)
    return replace(fact, failed=True) if failed or (mcp is not None and mcp.failed) else fact


def why_unreadable(error: Exception) -> str:
    """The words for an error that reading a value raised: for a RecursionError that the value is nested too deep, for
    any other its `error_text`."""
    return "it is nested too deep" if isinstance(error, RecursionError) else error_text(error)


def result_fact(dialect: Dialect, call_id: str, content: Any) -> ToolResult:
    """Make a tool result of its content, which is as `result_content` returns it. Parts that no API has become their
    JSON text: nothing is refused."""
    try:
        fact = parse_result(dialect, call_id, content)
    except InvalidMessage:
        fact = dialect.parse_tool_result(call_id, content if isinstance(content, str) else compact_json(content))
    assert isinstance(fact, ToolResult)
    return fact


def parse_result(dialect: Dialect, call_id: str, content: str | list[Any] | Raw) -> Fact:
    """Make a tool result of its content. A dict stays an object in a dialect that takes objects (Gemini's); in the
    others it becomes its JSON text. Parts in the form of another API are translated. Raises InvalidMessage."""
    if isinstance(content, dict):
        with suppress(InvalidMessage):
            return dialect.parse_tool_result(call_id, content)
        content = compact_json(content)
    form = dialect_of_parts(content) if isinstance(content, list) else None
    own = dialect.parse_tool_result(call_id, "").dialect
    if form is None or form == own:
        return dialect.parse_tool_result(call_id, content)
    return translate_fact(dialect_named(form).parse_tool_result(call_id, content), own)


def result_content(value: object) -> str | list[Any] | Raw:
    """What a tool returned, as a text, an object or a list of content parts. `tool_content` chooses: a number, or a
    list of anything but content parts, becomes its JSON text.

    Before that, at any depth: structs, dataclasses and pydantic models become objects, sets become sorted lists, keys
    become texts, and bytes become their UTF-8 text, or a line with their number if they are no text. A value that
    cannot be turned into JSON in this way becomes its `str`, as a whole. None and an empty text become "[no output]".

    Raises what the `str` of an object raises, and TypeError for what has nothing to read: an iterator (a generator, a
    `map`, an open file), and a coroutine or future that nobody has awaited.
    """
    if value is None:
        return texts.NO_OUTPUT
    if isinstance(value, (Generator, AsyncGenerator)):
        raise TypeError("it is a generator; the tool must return a list or a text")
    if isinstance(value, (Iterator, AsyncIterator)):
        raise TypeError("it is an iterator; the tool must return a list or a text")
    if inspect.isawaitable(value) or isinstance(value, Future):
        raise TypeError("it is a coroutine or a future that nobody has awaited")
    try:
        plain = msgspec.to_builtins(_ordered(value), builtin_types=_BINARY, enc_hook=_fields)
        content = tool_content(_json_value(plain))
    except (InvalidMessage, TypeError, ValueError, RecursionError):
        content = str(value)
    return texts.NO_OUTPUT if content == "" else content


def _ordered(value: object) -> object:
    """The value with its sets as sorted lists, at any depth: a set has another order in every process."""
    if isinstance(value, (set, frozenset)):
        items = [_ordered(item) for item in cast("set[object]", value)]
        try:
            return sorted(cast("list[Any]", items))
        except Exception:  # noqa: BLE001 - of several types, or objects of the caller's that cannot be compared
            return sorted(items, key=lambda item: (type(item).__name__, repr(item)))
    if isinstance(value, dict):
        return {key: _ordered(item) for key, item in cast("dict[object, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_ordered(item) for item in cast("list[object]", value)]
    names = () if isinstance(value, type) else _field_names(type(value))
    fields = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return _with_fields(value, {name: _ordered(each) for name, each in fields.items()}) if _has_set(fields) else value


def _has_set(value: object) -> bool:
    """Whether there is a set in a value, at any depth."""
    if isinstance(value, dict):
        return any(map(_has_set, cast("dict[object, object]", value).values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_set, cast("list[object]", value)))
    names = () if isinstance(value, type) else _field_names(type(value))
    return isinstance(value, (set, frozenset)) or any(_has_set(getattr(value, name, None)) for name in names)


def _field_names(kind: type) -> Iterable[str]:
    """The names of the fields of objects of a class of dataclasses, msgspec, attrs or pydantic; of others none."""
    if attributes := getattr(kind, "__attrs_attrs__", None):
        return [attribute.name for attribute in attributes]
    keys = ("__struct_fields__", "__dataclass_fields__", "__pydantic_fields__")
    return next((tuple(getattr(kind, key)) for key in keys if hasattr(kind, key)), ())


def _with_fields(value: Any, fields: Mapping[str, object]) -> object:
    """A copy of an object with other values in its fields; nothing checks them."""
    clone = copy(value)
    for name, each in fields.items():
        if isinstance(value, msgspec.Struct):
            force_setattr(cast("msgspec.Struct", clone), name, each)
        else:
            object.__setattr__(clone, name, each)
    return clone


def _fields(value: Any) -> Any:
    """An object that msgspec does not know: the fields of a pydantic model, or a text."""
    dump = getattr(value, "model_dump", None)
    if not callable(dump) or isinstance(value, type):
        return str(value)
    of_pydantic = hasattr(value, "__pydantic_fields__")  # it would warn of a list in the place of a set
    return dump(mode="json", warnings=False) if of_pydantic else dump(mode="json")


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
    return _decoded(bytes(cast("bytes", value))) if isinstance(value, _BINARY) else value


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bytes):
        return _decoded(key)
    return json.dumps(key) if key is None or isinstance(key, (bool, int, float)) else str(key)


def _decoded(data: bytes) -> str:
    """Bytes as their UTF-8 text; if they are none, a text that says how many they are."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return texts.binary_output(len(data))
    return texts.binary_output(len(data)) if "\0" in text else text


_PART_TYPES = frozenset(
    (
        *("text", "input_text", "output_text", "refusal", "search_result", "tool_reference"),
        *("image", "image_url", "input_image", "input_audio", "audio", "document", "file", "input_file"),
    )
)
_PART_KEYS = frozenset(("text", "inlineData", "inline_data", "fileData", "file_data", "functionResponse"))
"""The keys that make an object a part of Gemini's."""


def tool_content(value: object) -> str | list[Any] | Raw:
    """Return a tool's answer, given as JSON: a text, an object (as a copy), or a list of content parts; any other JSON
    value becomes its JSON text. A list counts as content parts if it is not empty and every item looks like a part of
    some API.

    Raises InvalidMessage for what is not JSON; `result_content` takes any value.
    """
    if isinstance(value, str):
        return str.__str__(value)
    given = list(cast("Sequence[Any]", value)) if isinstance(value, tuple) else value
    plain = json_copy({"content": given}, "tool_result")["content"]
    if isinstance(plain, dict):
        return cast("Raw", plain)
    if isinstance(plain, list) and plain and all(map(_is_part, cast("list[object]", plain))):
        return cast("list[Any]", plain)
    return compact_json(cast("object", plain))


def _is_part(item: object) -> bool:
    if not isinstance(item, dict):
        return False
    fields = cast("Raw", item)
    kind = fields.get("type")
    return kind in _PART_TYPES if isinstance(kind, str) else any(key in fields for key in _PART_KEYS)
