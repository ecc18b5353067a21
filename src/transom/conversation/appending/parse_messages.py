"""What callers say, as facts: messages, what the user says, what a tool returned."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from msgspec.structs import replace

from transom.conversation import argument_checks as check
from transom.conversation.appending.mcp_results import read_mcp
from transom.conversation.argument_checks import kind_of
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
    messages: Sequence[object], where: str = "", dialect: Dialect = OPENAI_CHAT
) -> tuple[list[Instruction], list[Placed]]:
    """Read messages: the leading instructions, and every later fact with the position of its message.

    A message is a dict, or a client library's object that can dump itself as one. In a dialect whose system prompt is
    not among the messages there are no leading instructions: all messages are facts. `where`: names the list in errors.
    Raises InvalidMessage.
    """
    facts = parse_any(messages, dialect, where)
    head: list[Instruction] = []
    for _, fact in facts:
        if not isinstance(fact, Instruction):
            break
        head.append(fact)
    if not dialect.render_head(Head(messages=tuple(head))):  # this dialect has no system messages among the others
        return [], facts
    return head, facts[len(head) :]


def facts_of(messages: Sequence[object], dialect: Dialect) -> list[Fact]:
    """The messages that `Conversation.extend` takes, as facts. Raises InvalidMessage."""
    if isinstance(cast("object", messages), (list, tuple)) and any(isinstance(each, Fact) for each in messages):
        return [check.fact(each, None) for each in messages]
    return [fact for _, fact in parse_any(messages, dialect)]


def tool_answer(dialect: Dialect, call_id: str, content: object, *, failed: bool) -> ToolResult:
    """What `Conversation.tool_result` takes, as a fact: a text, content parts, any JSON value, or the result of an MCP
    tool, which may say itself that the tool failed. Raises InvalidMessage."""
    mcp = read_mcp(content)
    fact = parse_result(dialect, call_id, tool_content(content if mcp is None else mcp.parts))
    assert isinstance(fact, ToolResult)
    return replace(fact, failed=True) if failed or (mcp is not None and mcp.failed) else fact


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


def user_message(dialect: Dialect, value: object) -> Fact:
    """Return what a user says, parsed. Raises InvalidMessage for what is no message, and for one with nothing in it."""
    fact = dialect.parse_user(_content("user", value))
    if is_empty(fact):
        raise InvalidMessage("user", "the message is empty, and no provider takes that")
    return fact


def _content(where: str, value: object) -> str | list[Any] | Raw:
    """Check content that a dialect will parse, and return it: a text, an object, or a copy of a list of parts. Raises
    InvalidMessage for another type, and for a whole message in place of a part."""
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


_PART_TYPES = frozenset(
    (
        *("text", "input_text", "output_text", "refusal", "search_result", "tool_reference"),
        *("image", "image_url", "input_image", "input_audio", "audio", "document", "file", "input_file"),
    )
)
_PART_KEYS = frozenset(("text", "inlineData", "inline_data", "fileData", "file_data", "functionResponse"))
"""The keys that make an object a part of Gemini's."""


def tool_content(value: object) -> str | list[Any] | Raw:
    """Return a tool's answer: a text, an object, a list of content parts; any other JSON value becomes its JSON text.

    Raises InvalidMessage for what is not JSON.
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
