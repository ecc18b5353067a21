"""Reads JSON that anybody may have written.

The first functions take any value; a value of the wrong type counts as empty. Those from `require_dialect` on read and
copy a message of a provider and its content parts. They raise InvalidMessage with `where`, which names the message, and
the path of the field that is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from math import isfinite
from typing import Any, TypeVar, cast

from msgspec import to_builtins

from transom.clock import utc
from transom.core.message import Media, MediaKind, Other, Raw, Shape, Text
from transom.core.tokens import replace_surrogates
from transom.errors import InvalidMessage

T = TypeVar("T")

NUMBER_BITS = 1_000
"""The maximum number of bits of a whole number. Python refuses to write numbers of more than 4,300 digits."""

DEPTH = 100
"""The maximum number of levels that a message may nest. JSON libraries recurse: some thousand levels would end the
process."""


def as_dict(value: object) -> Raw:
    """The value if it is a dict, else an empty dict."""
    return cast("Raw", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """The items of a list or tuple, else an empty list."""
    return list(cast("list[Any]", value)) if isinstance(value, (list, tuple)) else []


def dicts(value: object) -> list[Raw]:
    """The items of a list or tuple; an empty dict for each that is not a dict, so that positions stay. `objects_in`
    leaves these out."""
    return [as_dict(item) for item in as_list(value)]


def text(fields: Raw, key: str) -> str:
    """The text under a key; empty if there is no text under it."""
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def objects_in(value: object) -> list[Raw]:
    """The dicts in a list, without its other items; empty for a value that is no list. A tuple is none."""
    listed = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Raw", item) for item in listed if isinstance(item, dict)]


def first_of(value: object) -> Raw:
    """The first dict in a list; an empty dict for a list without one, and for a value that is no list. A tuple is
    none."""
    return next(iter(objects_in(value)), cast("Raw", {}))


def as_items(value: object) -> list[object]:
    """A list as it is (the same object); any other value, also None and a tuple, as the only item of a new list."""
    return cast("list[object]", value) if isinstance(value, list) else [value]


def as_parts(content: object) -> list[Any]:
    """Content as a list of parts, as the APIs of OpenAI (chat) and Anthropic have them. A text is one part; an empty
    text, and any value that is no list, gives none."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return cast("list[Any]", content) if isinstance(content, list) else []


def iso_time(at: float) -> str:
    """Write a time in seconds since the epoch as ISO 8601 in UTC, to the millisecond; to the microsecond if it has
    parts of a millisecond, so that an import gives the same order."""
    when = utc(at)
    unit = "microseconds" if when.microsecond % 1_000 else "milliseconds"
    return when.isoformat(timespec=unit).replace("+00:00", "Z")


def loaded(text: str) -> object:
    """The value of a JSON text; None if it is not JSON, or nests too deep to be parsed. The text "null" gives None
    too."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def plain_text(content: object) -> str:
    """The text of chat content: a string as it is, or the texts of its parts joined with line ends. Parts without a
    text are left out; any other value gives an empty text."""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in objects_in(content) if isinstance(part.get("text"), str))


def data_url(mime: str, data: str) -> str:
    """The URL that holds base64 data of this media type."""
    return f"data:{mime};base64,{data}"


def data_of(url: str) -> tuple[str, str] | None:
    """Split a data URL with base64 data into its media type, which may be empty, and the data, which is still in
    base64; None for any other URL."""
    begin, found, data = url.partition(";base64,")
    return (begin.removeprefix("data:"), data) if found and begin.startswith("data:") else None


def compact_json(value: object) -> str:
    """A value as JSON text without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_text(arguments: object) -> str:
    """Arguments of a call as text: a string as it is, None as an empty text, any other value as JSON."""
    return arguments if isinstance(arguments, str) else "" if arguments is None else compact_json(arguments)


deep_copy = to_builtins
"""A deep copy of a JSON value."""


def without_lone_surrogates(value: Any) -> Any:
    """A deep copy of a JSON value with a question mark for each lone surrogate, in keys too: UTF-8 has none. It
    recurses: the caller must have limited the depth."""
    if isinstance(value, dict):
        return {replace_surrogates(key): without_lone_surrogates(item) for key, item in cast("Raw", value).items()}
    if isinstance(value, list):
        return [without_lone_surrogates(item) for item in cast("list[Any]", value)]
    return replace_surrogates(value) if isinstance(value, str) else value


# ---- a message, which must be one

_CHAT = ("tool_calls", "function_call", "reasoning_content", "refusal", "annotations")
"""Fields that only chat messages have. Some come as null, which other APIs would refuse too."""
DIALECT_OF_PART = {
    **dict.fromkeys(("image_url", "input_audio", "file"), "openai"),
    **dict.fromkeys(("input_image", "input_file", "input_text", "output_text"), "responses"),
    **dict.fromkeys(("image", "document"), "anthropic"),
}
"""For each type of a content part that one dialect has alone, this dialect."""
_ALIEN_BLOCKS = {"tool_use": "anthropic", "tool_result": "anthropic"}
_ALIEN_TO_RESPONSES = {**_ALIEN_BLOCKS, "image_url": "openai", "image": "anthropic", "document": "anthropic"}
"""Types of content parts that the Responses API refuses, and whose they are."""


def require_dialect(fields: Raw, where: str, dialect: str) -> Raw:
    """Return `fields`, which must be those of a message in this dialect. `dialect`: "openai", "responses", "anthropic"
    or "gemini". `where`: how errors name the message ("message 3").

    Raises InvalidMessage if a field or a content part is one that only another dialect has: its content would be lost.
    The content parts of "responses" and "gemini" are not looked at: `require_own_parts` does that.
    """
    found = ["openai"] if dialect != "openai" and any(key in fields for key in _CHAT) else []
    if dialect != "gemini" and fields.get("parts"):
        found.append("gemini")
    content = fields.get("content")
    kinds = _types_of_parts(content)
    if dialect == "openai":
        found += [_ALIEN_BLOCKS[kind] for kind in kinds if kind in _ALIEN_BLOCKS]
    if dialect == "anthropic":
        found += ["openai" for kind in kinds if DIALECT_OF_PART.get(kind) in {"openai", "responses"}]
    if dialect == "gemini" and "parts" not in fields and content:
        found.append("openai")
    if found:
        raise _wrong_dialect(where, found[0], dialect)
    return fields


def require_own_parts(parts: object, where: str, dialect: str) -> None:
    """Raise InvalidMessage if one of these content parts is another dialect's, so that its content would be lost.
    `dialect`: "gemini" or "responses". A part of Gemini's has no `type`: any part with one is refused. A value that is
    no list passes."""
    for kind in _types_of_parts(parts):
        if dialect == "gemini":  # a part of Gemini's has no type
            raise _wrong_dialect(where, "openai", dialect)
        if kind in _ALIEN_TO_RESPONSES:
            raise _wrong_dialect(where, _ALIEN_TO_RESPONSES[kind], dialect)


def _wrong_dialect(where: str, found: str, dialect: str) -> InvalidMessage:
    return InvalidMessage(where, f"the message is in another dialect's words ({found}), not {dialect}'s")


def _types_of_parts(parts: object) -> list[str]:
    """The types of the content parts in a list, of those that have one."""
    if not isinstance(parts, list):
        return []
    types = (cast("Raw", part).get("type") for part in cast("list[Any]", parts) if isinstance(part, dict))
    return [type_ for type_ in types if isinstance(type_, str)]


def message_list(messages: object, where: str) -> list[object]:
    """The messages of a request as a new list. Raises InvalidMessage if they are neither a list nor a tuple."""
    if not isinstance(messages, (list, tuple)):
        raise InvalidMessage(where, f"must be a list of messages, not {type(messages).__name__}")
    return list(cast("list[object]", messages))


def take_role(fields: Raw, where: str, dialect: str, roles: Collection[str]) -> str:
    """Remove the role from a message's fields, in place, and return it. `where`: how errors name the message
    ("message 3"). `dialect`: as for `require_dialect`.

    Raises InvalidMessage if there is none, if it is not one of `roles`, or if the message is another dialect's
    (`require_dialect`).
    """
    if "role" not in fields:
        raise InvalidMessage(where, "the message has no role")
    return require_role(roles, require_dialect(fields, where, dialect).pop("role"), where)


def require_role(roles: Collection[str], role: object, where: str) -> str:
    """Return the role. Raises InvalidMessage if it is not one of `roles`. `where`: how the error names the message
    ("message 3")."""
    if isinstance(role, str) and role in roles:
        return role
    shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
    raise InvalidMessage(where, f"role must be one of {', '.join(roles)}, not {shown}")


def take_content(
    fields: Raw, key: str, where: str, be: str, read: Callable[[Raw, str, str], T], path: str = ""
) -> tuple[tuple[T | Text, ...], Shape]:
    """Remove the content from the fields of a message or a result, in place; return its parts, and its `Shape`: whether
    it was a text, a list of parts, null, or absent. A text, also an empty one, is one part; null and absent give none.

    `be`: what the content must be, for errors. `read`: makes a part of each object in a list; it gets the object,
    `where` and the object's path. `path`: what stands before `key` in paths. Raises InvalidMessage if the content is
    neither a string, a list of objects nor null, and what `read` raises.
    """
    if key not in fields:
        return (), "absent"
    content = fields.pop(key)
    if content is None:
        return (), "null"
    if isinstance(content, str):
        return (Text(content),), "text"
    if not isinstance(content, list):
        raise InvalidMessage(where, f"{path}{key} must be {be}, not {kind_of(content)}")
    paths = ((f"{path}{key}[{i}]", item) for i, item in enumerate(cast("list[object]", content)))
    return tuple(read(require_object(item, where, at), where, at) for at, item in paths), "parts"


def take_text(fields: Raw, key: str, where: str, path: str) -> str:
    """Remove the text under `key` from the fields, in place, and return it. If it is empty, null or missing, the fields
    stay as they are and the result is empty.

    `where`: how errors name the message ("message 3"). `path`: what they put in front of `key`, with its dot
    ("tool_calls[0]."). Raises InvalidMessage if the value is neither a string nor null.
    """
    value = fields.get(key)
    if value is None or value == "":
        return ""
    if not isinstance(value, str):
        raise InvalidMessage(where, f"{path}{key} must be a string, not {kind_of(value)}")
    return fields.pop(key)


def is_text(value: object) -> bool:
    """Whether a value is a string that is not empty."""
    return isinstance(value, str) and value != ""


def require_object(value: object, where: str, path: str) -> Raw:
    """Return the object. Raises InvalidMessage if the value is not a dict. `where`: how the error names the message
    ("message 3"). `path`: how it names the value in the message ("content[2]")."""
    if not isinstance(value, dict):
        raise InvalidMessage(where, f"{path} must be an object, not {kind_of(value)}")
    return cast("Raw", value)


def json_copy(message: dict[Any, Any], where: str) -> Raw:
    """A deep copy of a message, in which a value of a string enum is its text. `where`: how errors name the message.

    Raises InvalidMessage if the message holds a value that JSON has not (also NaN or a tuple), keys that are not
    strings, more than `DEPTH` levels or a number of more than `NUMBER_BITS` bits.
    """
    return _copy_object(message, DEPTH, where, "")


def _copy(value: object, left: int, where: str, field: str) -> Any:
    """A copy of one value, of at most `left` levels. Raises as `json_copy` does."""
    kind = type(value)
    if kind is str:
        return value
    if isinstance(value, (dict, list)):
        if not left:
            raise InvalidMessage(where, f"{field} is nested more than {DEPTH} levels deep")
        if isinstance(value, list):
            return [_copy(item, left - 1, where, field) for item in cast("list[object]", value)]
        return _copy_object(cast("dict[object, object]", value), left - 1, where, field)
    if isinstance(value, str):
        return str.__str__(value)  # of an enum the text, not its name
    if isinstance(value, float) and not isfinite(value):
        raise InvalidMessage(where, f"{field} holds {value}, which is not JSON")
    if isinstance(value, int) and value.bit_length() > NUMBER_BITS:
        raise InvalidMessage(where, f"{field} holds a number of {value.bit_length():,} bits")
    if value is None or isinstance(value, (int, float)):
        return value
    raise InvalidMessage(where, f"{field} holds a value that is not JSON: {kind_of(value)}")


def _copy_object(value: dict[object, object], left: int, where: str, field: str) -> Raw:
    """A copy of one object, whose values have at most `left` levels. `field`: the message's field that it is in."""
    copied: Raw = {}
    for key, item in value.items():
        if not isinstance(key, str):
            of_message = f"the keys of a message must be strings, not {kind_of(key)}"
            raise InvalidMessage(
                where, f"{field} holds an object with a key that is not a string" if field else of_message
            )
        copied[key] = item if type(item) is str else _copy(item, left, where, field or key)
    return copied


_KINDS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
)


def kind_of(value: object) -> str:
    """What a value is in JSON's words, for errors: "a string", "null". For a value that JSON has not, the name of its
    Python type."""
    known = (name for kind, name in _KINDS if isinstance(value, kind))
    return "null" if value is None else next(known, type(value).__name__)


# ---- content parts

MediaTypes = Mapping[str, MediaKind]
"""A dialect's types of parts that hold an image or a file, and which of the two."""


def text_part(raw: Raw, key: str, where: str, path: str, *, drop: Collection[str]) -> Text:
    """Read a text part: the text under `key` of `raw`. Its `extra` has the other fields, without those named in `drop`,
    which must name `key`; it is None if there are none. `where`: how errors name the message. `path`: how they name the
    part, without a dot at its end ("content[2]").

    Raises InvalidMessage if there is no string under `key`.
    """
    text: object = raw.get(key)
    if not isinstance(text, str):
        raise InvalidMessage(where, f"{path}.{key} must be a string, not {kind_of(text)}")
    rest = {name: value for name, value in raw.items() if name not in drop}
    return Text(text, rest or None)


def other_part(raw: Raw, media: MediaTypes) -> Media | Other:
    """Read a part that is not text: an image or file of a type in `media`, or a part that we do not know. The fact's
    part holds `raw` itself, unchanged and not copied."""
    kind: object = raw.get("type")
    return Media(media[kind], raw) if isinstance(kind, str) and kind in media else Other(raw)
