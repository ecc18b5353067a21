"""One Messages message to facts. Nothing is lost: what has no field of its own stays raw in an `extra`.

A user message is a result for each of its `tool_result` blocks, and a user fact for the rest. Input is copied: what the
caller does to its message afterwards never reaches the log.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import replace

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
from transom.wire.anthropic.words import MESSAGE, NAME, SIGNED
from transom.wire.reading import a_text, an_object, compact, kind_of, owned


def parse(message: object, where: str = "message", *, bound: bool = False) -> list[Fact]:
    """The facts in a message, at least one. `bound`: its reasoning is signed for its exact prefix.

    Raises InvalidMessage, naming `where` and the field, if it can be read in no way.
    """
    if not isinstance(message, dict):
        raise InvalidMessage(where, f"a message must be an object, not {kind_of(message)}")
    fields = owned(cast("dict[object, object]", message), where)
    if "role" not in fields:
        raise InvalidMessage(where, "the message has no role")
    role = fields.pop("role")
    if role == "assistant":
        return [_assistant(fields, where, bound=bound)]
    read = _READ.get(role) if isinstance(role, str) else None
    if read is None:
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise InvalidMessage(where, f"role must be one of assistant, {', '.join(_READ)}, not {shown}")
    return read(fields, where)


# ---- by role


def _system(fields: Raw, where: str) -> list[Fact]:
    parts, shape = content_of(fields, where)
    return [Instruction(parts=parts, shape=shape, extra=fields or None, dialect=NAME)]


def _user(fields: Raw, where: str) -> list[Fact]:
    content = fields.get("content")
    if not isinstance(content, list):
        parts, shape = content_of(fields, where)
        return [User(parts=parts, shape=shape, extra=fields or None, dialect=NAME)]
    del fields["content"]
    facts: list[Fact] = []
    rest: list[Part] = []
    for i, item in enumerate(cast("list[object]", content)):
        path = f"content[{i}]"
        block = an_object(item, where, path)
        if block.get("type") == "tool_result":
            facts.append(_result(block, where, path))
        else:
            rest.append(_part(block, where, path))
    if rest or not facts:
        facts.append(User(parts=tuple(rest), shape="parts", dialect=NAME))
    if fields:  # what the API does not know stays with the first
        extra = {**(facts[0].extra or {}), MESSAGE: fields} if isinstance(facts[0], ToolResult) else fields
        facts[0] = replace(facts[0], extra=extra)
    return facts


_READ: dict[str, Callable[[Raw, str], list[Fact]]] = {"user": _user, "system": _system}


def _assistant(fields: Raw, where: str, *, bound: bool) -> Assistant:
    content = fields.get("content")
    if not isinstance(content, list):
        parts, shape = content_of(fields, where)
        return Assistant(parts=parts, shape=shape, extra=fields or None, dialect=NAME)
    del fields["content"]
    groups: dict[str, list[Any]] = {"r": [], "p": [], "c": []}
    order = ""
    for i, item in enumerate(cast("list[object]", content)):
        path = f"content[{i}]"
        letter, part = _of_turn(an_object(item, where, path), where, path, bound=bound)
        groups[letter].append(part)
        order += letter
    thoughts, parts, calls = (tuple(groups[letter]) for letter in "rpc")
    return Assistant(
        parts=parts,
        shape="parts",
        calls=calls,
        reasoning=thoughts,
        order=named_order(order),
        extra=fields or None,
        dialect=NAME,
    )


def named_order(letters: str) -> str:
    """As a turn keeps it: empty if it is reasoning, then content, then calls."""
    return "" if letters == "".join(sorted(letters, key="rpc".index)) else letters


# ---- blocks


def content_of(fields: Raw, where: str, path: str = "") -> tuple[tuple[Part, ...], Shape]:
    """The content taken out of a message or a result."""
    if "content" not in fields:
        return (), "absent"
    content = fields.pop("content")
    if content is None:
        return (), "null"
    if isinstance(content, str):
        return (Text(content),), "text"
    if not isinstance(content, list):
        raise InvalidMessage(where, f"{path}content must be a string or a list of blocks, not {kind_of(content)}")
    blocks = enumerate(cast("list[object]", content))
    paths = ((f"{path}content[{i}]", item) for i, item in blocks)
    return tuple(_part(an_object(item, where, at), where, at) for at, item in paths), "parts"


def _part(block: Raw, where: str, path: str) -> Part:
    kind = block.get("type")
    if not isinstance(kind, str):
        raise InvalidMessage(where, f"{path}.type must be a string, not {kind_of(kind)}")
    if kind == "text":
        _must_be_text(block, "text", where, path)
        rest = {key: value for key, value in block.items() if key not in {"type", "text"}}
        return Text(block["text"], rest or None)
    if kind == "image":
        return Media("image", block)
    return Media("file", block) if kind == "document" else Other(block)


def _must_be_text(block: Raw, key: str, where: str, path: str) -> None:
    if not isinstance(block.get(key), str):
        raise InvalidMessage(where, f"{path}.{key} must be a string, not {kind_of(block.get(key))}")


def _of_turn(block: Raw, where: str, path: str, *, bound: bool) -> tuple[str, Any]:
    """A block of a turn, with its letter in the turn's order."""
    kind: object = block.get("type")
    if kind == "tool_use":
        return "c", _call(block, where, f"{path}.")
    if kind == "tool_result":
        raise InvalidMessage(where, f"{path} is a tool_result: it belongs into a user message")
    if isinstance(kind, str) and kind in SIGNED:
        _must_be_text(block, SIGNED[kind], where, path)
        del block["type"]
        return "r", Reasoning(block.pop(SIGNED[kind]), kind, bound=bound, extra=block or None)
    return "p", _part(block, where, path)


def _call(block: Raw, where: str, path: str) -> Call:
    del block["type"]
    label = a_text(block, "id", where, path)
    name = a_text(block, "name", where, path)
    value = block.pop("input", None)
    # a client that gathered a stream may have left the input as the text it came in
    args = value if isinstance(value, str) else "" if value is None else compact(value)
    return Call(label, name, args, block or None)


def _result(block: Raw, where: str, path: str) -> ToolResult:
    del block["type"]
    call = a_text(block, "tool_use_id", where, f"{path}.")
    failed = block.get("is_error") is True
    if failed:
        del block["is_error"]
    parts, shape = content_of(block, where, f"{path}.")
    return ToolResult(parts=parts, shape=shape, call=call, failed=failed, extra=block or None, dialect=NAME)
