"""The fields of one item to the parts of a fact. Nothing is lost: what has no field of its own stays in an `extra`.

As in the chat dialect, a field that is null, empty or missing where a text belongs stays in `extra` as it stood.
"""

from __future__ import annotations

from typing import Any, cast

from transom.core.message import Call, Instruction, Media, Other, Part, Raw, Reasoning, Shape, Text, ToolResult, User
from transom.errors import InvalidMessage
from transom.wire.openai_responses.items import BARE, CALLS, HEARD, NAME, TEXTS
from transom.wire.reading import a_text, an_object, compact, kind_of, owned

_FILES = frozenset({"input_file", "input_audio"})
_IMAGES = frozenset({"input_image", "computer_screenshot"})
_PICTURES = frozenset({"image_generation_call", "computer_call_output"})
"""Items that carry an image: its base64 is no text."""


def fields_of(item: object, where: str) -> tuple[str, Raw]:
    """What kind of item it is, and a copy of its fields. Raises InvalidMessage."""
    if not isinstance(item, dict):
        raise InvalidMessage(where, f"an item must be an object, not {kind_of(item)}")
    fields = owned(cast("dict[object, object]", item), where)
    kind: Any = fields.get("type")
    if kind is None and "role" in fields:
        return "message", fields
    if not isinstance(kind, str):
        raise InvalidMessage(where, f"the item has no role, and its type must be a string, not {kind_of(kind)}")
    return kind, fields


def role(fields: Raw, where: str) -> str:
    """The role of a message, taken out of it. Raises InvalidMessage if there is no such role."""
    value: object = fields.pop("role", None)
    if value in {"user", "assistant", "system", "developer"} and isinstance(value, str):
        return value
    shown = f"{value[:40]!r}" if isinstance(value, str) else kind_of(value)
    raise InvalidMessage(where, f"role must be one of user, assistant, system, developer, not {shown}")


def message(speaker: str, fields: Raw, where: str) -> User | Instruction:
    """A message that is not the model's. Its role has been taken out."""
    parts, shape = content(fields, "content", where, HEARD)
    if speaker == "user":
        return User(parts=parts, shape=shape, extra=fields or None, dialect=NAME)
    named = "system" if speaker == "system" else "developer"
    return Instruction(parts=parts, shape=shape, extra=fields or None, role=named, dialect=NAME)


def more_tools(fields: Raw) -> Instruction:
    """An item that is no message, and not the model's either: tools that the developer adds."""
    return Instruction(parts=(Other(fields),), shape="parts", extra={BARE: True}, role="developer", dialect=NAME)


def output(kind: str, fields: Raw, where: str) -> ToolResult:
    """The answer to a call."""
    parts, shape = content(fields, "output", where, HEARD)
    label = a_text(fields, "call_id", where, "")
    if kind == "function_call_output":
        del fields["type"]
    return ToolResult(parts=parts, shape=shape, call=label, extra=fields or None, dialect=NAME)


def call(kind: str, fields: Raw, where: str) -> Call:
    """A call; one of a custom tool keeps its type in `extra`. Arguments that are no text stay there too."""
    label = a_text(fields, "call_id", where, "")
    name = a_text(fields, "name", where, "")
    value: Any = fields.get(CALLS[kind])
    if isinstance(value, str) and value:
        del fields[CALLS[kind]]
    if kind == "function_call":
        del fields["type"]
    given = "" if value is None else value if isinstance(value, str) else compact(value)
    return Call(label, name, given, fields or None)


def thought(fields: Raw, where: str) -> Reasoning:
    """A reasoning item, whole in `extra`; its text is what it holds in the clear."""
    words: list[str] = []
    for key in ("summary", "content"):
        listed: object = fields.get(key)
        if listed is None:
            continue
        if not isinstance(listed, list):
            raise InvalidMessage(where, f"{key} must be a list, not {kind_of(listed)}")
        for at, part in enumerate(cast("list[object]", listed)):
            text: Any = an_object(part, where, f"{key}[{at}]").get("text")
            if isinstance(text, str):
                words.append(text)
    return Reasoning("\n".join(words), "reasoning", extra=fields)


def built_in(kind: str, fields: Raw) -> Part:
    """What the model did with the provider's own tools, or anything we have no noun for."""
    return Media("image", fields) if kind in _PICTURES else Other(fields)


def content(fields: Raw, key: str, where: str, plain: str) -> tuple[tuple[Part, ...], Shape]:
    """Content taken out of an item. `plain`: what a text part is called here when that need not be remembered."""
    if key not in fields:
        return (), "absent"
    value: object = fields.pop(key)
    if value is None:
        return (), "null"
    if isinstance(value, str):
        return (Text(value),), "text"
    if not isinstance(value, list):
        raise InvalidMessage(where, f"{key} must be a string or a list of parts, not {kind_of(value)}")
    items = cast("list[object]", value)
    return tuple(_part(item, where, f"{key}[{i}]", plain) for i, item in enumerate(items)), "parts"


def _part(item: object, where: str, path: str, plain: str) -> Part:
    raw = an_object(item, where, path)
    kind: object = raw.get("type")
    if not isinstance(kind, str):
        return Other(raw)
    if kind not in TEXTS:
        return Media("image", raw) if kind in _IMAGES else Media("file", raw) if kind in _FILES else Other(raw)
    words: object = raw.get(TEXTS[kind])
    if not isinstance(words, str):
        raise InvalidMessage(where, f"{path}.{TEXTS[kind]} must be a string, not {kind_of(words)}")
    left = {TEXTS[kind], "type"} if kind == plain else {TEXTS[kind]}
    return Text(words, {name: field for name, field in raw.items() if name not in left} or None)
