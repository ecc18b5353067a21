"""Messages to facts. Nothing that the API takes is lost: what has no field of its own stays raw in an `extra`.

A user message is a result for each of its `tool_result` blocks, and a user fact for the rest. Input is copied: what the
caller does to its message afterwards never reaches the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from transom.core import message as m
from transom.core.message import Assistant, Call, Fact, Raw, Text
from transom.errors import InvalidMessage
from transom.wire.dialect import Placed
from transom.wire.reading import a_text, an_object, compact, kind_of, listed, of_this, owned
from transom.wire.replying import dumped
from transom.wire.saying import continued, turn_of

NAME = "anthropic"

SIGNED = {"thinking": "thinking", "redacted_thinking": "data"}
"""The kinds of reasoning, and the key that holds what is counted of each."""

Blocks = list[tuple[Raw, str]]
"""Each with its path in the message."""


def read(messages: Sequence[object], where: str, *, bound: bool) -> list[Placed]:
    """Facts from messages, in order. `bound`: reasoning is signed for its exact prefix.

    A turn that goes on in the next message (calls not answered yet, a provider's own tool still at work) is one fact:
    its parts cannot stand alone. Raises InvalidMessage.
    """
    out: list[Placed] = []
    before: Raw = {}
    for at, item in enumerate(listed(messages, where or "messages")):
        message = as_message(item)
        facts = parse(message, f"{where}, message {at}" if where else f"message {at}", bound=bound)
        fields = cast("Raw", message)
        if fields["role"] == before.get("role"):
            last = out[-1][1]
            if isinstance(last, Assistant) and isinstance(facts[0], Assistant) and _goes_on(last):
                out[-1] = (out[-1][0], continued(last, facts[0]))
                continue
            facts[0] = replace(facts[0], apart=True)
        out.extend((at, fact) for fact in facts)
        before = fields
    return out


def _goes_on(turn: Assistant) -> bool:
    last = turn.parts[-1] if turn.parts else None
    return bool(turn.calls) or (isinstance(last, m.Other) and last.raw["type"].endswith("_tool_use"))


def as_message(value: object) -> object:
    """A message as dicts, where a client library's objects stand in it or for it: what they filled in with null is
    left out of these, but not of a tool's input, which is the model's."""
    message = dumped(value, {"input"})
    if not isinstance(message, dict):
        return message
    fields = cast("Raw", message)
    if isinstance(fields.get("content"), list):
        return {**fields, "content": [dumped(block, {"input"}) for block in cast("list[object]", fields["content"])]}
    return fields


def parse(message: object, where: str = "message", *, bound: bool = False) -> list[Fact]:
    """The facts in a message, at least one. Raises InvalidMessage, naming `where` and the field, if it can be read in
    no way."""
    if not isinstance(message, dict):
        raise InvalidMessage(where, f"a message must be an object, not {kind_of(message)}")
    fields = owned(cast("dict[object, object]", message), where)
    if "role" not in fields:
        raise InvalidMessage(where, "the message has no role")
    role = of_this(fields, where, NAME).pop("role")
    if role not in ("assistant", "user", "system"):
        shown = f"{role[:40]!r}" if isinstance(role, str) else kind_of(role)
        raise InvalidMessage(where, f"role must be one of assistant, user, system, not {shown}")
    blocks, shape = _blocks(fields, where)
    extra = fields or None
    if role == "assistant":
        items = [_item(block, where, path, bound=bound) for block, path in blocks]
        return [turn_of(items, shape=shape, extra=extra, dialect=NAME)]
    if role == "system":
        return [m.Instruction(parts=_parts(blocks, where), shape=shape, extra=extra, dialect=NAME)]
    rest = [(block, path) for block, path in blocks if block.get("type") != "tool_result"]
    facts: list[Fact] = [_result(block, where, path) for block, path in blocks if block.get("type") == "tool_result"]
    if rest or not facts:
        extra = None if facts else extra
        facts.append(m.User(parts=_parts(rest, where), shape=shape, extra=extra, dialect=NAME))
    return facts


def _blocks(fields: Raw, where: str, path: str = "") -> tuple[Blocks, m.Shape]:
    """The content taken out of a message or a result; a string is one block."""
    if "content" not in fields:
        return [], "absent"
    content = fields.pop("content")
    if content is None:
        return [], "null"
    if isinstance(content, str):
        return [({"type": "text", "text": content}, path)], "text"
    if not isinstance(content, list):
        raise InvalidMessage(where, f"{path}content must be a string or a list of blocks, not {kind_of(content)}")
    paths = ((f"{path}content[{i}]", item) for i, item in enumerate(cast("list[object]", content)))
    return [(an_object(item, where, at), at) for at, item in paths], "parts"


def _parts(blocks: Blocks, where: str) -> tuple[m.Part, ...]:
    return tuple(_part(block, where, path) for block, path in blocks)


def _part(block: Raw, where: str, path: str) -> m.Part:
    kind: object = block.get("type")
    if not isinstance(kind, str):
        raise InvalidMessage(where, f"{path}.type must be a string, not {kind_of(kind)}")
    if kind == "text":
        return Text(*_taken(block, "text", where, path))
    if kind == "image":
        return m.Media("image", block)
    return m.Media("file", block) if kind == "document" else m.Other(block)


def _item(block: Raw, where: str, path: str, *, bound: bool) -> m.Addressed:
    """A block of a turn."""
    kind: object = block.get("type")
    if kind == "tool_use":
        return _call(block, where, f"{path}.")
    if kind == "tool_result":
        raise InvalidMessage(where, f"{path} is a tool_result: it belongs into a user message")
    if not isinstance(kind, str) or kind not in SIGNED:
        return _part(block, where, path)
    text, extra = _taken(block, SIGNED[kind], where, path)
    return m.Reasoning(text, kind, bound=bound, extra=extra)


def _taken(block: Raw, key: str, where: str, path: str) -> tuple[str, Raw | None]:
    """The text of a block, and what is left of it."""
    if not isinstance(block.get(key), str):
        raise InvalidMessage(where, f"{path}.{key} must be a string, not {kind_of(block.get(key))}")
    del block["type"]
    return block.pop(key), block or None


def _call(block: Raw, where: str, path: str) -> Call:
    del block["type"]
    label, name = a_text(block, "id", where, path), a_text(block, "name", where, path)
    value = block.pop("input", None)
    # a client that gathered a stream may have left the input as the text it came in
    args = value if isinstance(value, str) else "" if value is None else compact(value)
    return Call(label, name, args, block or None)


def _result(block: Raw, where: str, path: str) -> m.ToolResult:
    del block["type"]
    call = a_text(block, "tool_use_id", where, f"{path}.")
    failed = block.get("is_error") is True
    if failed:
        del block["is_error"]
    blocks, shape = _blocks(block, where, f"{path}.")
    parts = _parts(blocks, where)
    return m.ToolResult(parts=parts, shape=shape, call=call, failed=failed, extra=block or None, dialect=NAME)
