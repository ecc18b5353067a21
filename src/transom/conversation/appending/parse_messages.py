"""What callers say, as facts: messages, what the user says, what a tool returned, also one of an MCP server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

from msgspec.structs import replace

from transom import texts
from transom.conversation import argument_checks as check
from transom.conversation.argument_checks import kind_of
from transom.core.message import Fact, Head, Instruction, Media, Raw, ToolResult, is_empty
from transom.errors import InvalidMessage
from transom.wire.dialect import Dialect, Placed
from transom.wire.dialects import dialect_named
from transom.wire.fields import as_dict, compact_json, json_copy, text
from transom.wire.frameworks import parse_any
from transom.wire.media import dialect_of_parts, translate_media
from transom.wire.openai import OPENAI_CHAT
from transom.wire.translate import translate_fact


def split_head(
    messages: Sequence[object], where: str = "", dialect: Dialect = OPENAI_CHAT
) -> tuple[list[Instruction], list[Placed]]:
    """The leading instructions, and every later fact with the position of its message. A dialect that has no system
    messages among the others gives no instructions: all messages are facts. Raises InvalidMessage.

    A message is a dict, or a client library's object that can dump itself as one.
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
    """A tool result. An object goes to a dialect that takes objects; for the others it is its JSON text. Parts in the
    form of another API are translated."""
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
    """Return content for a dialect to parse: a text, an object, or a list of parts, copied. Raises InvalidMessage."""
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


class McpResult(NamedTuple):
    """The content of a result as parts of the chat API, and whether the tool failed."""

    parts: list[Raw]
    failed: bool


def read_mcp(value: object) -> McpResult | None:
    """The result of an MCP tool; None if the value is something else. Nothing of `mcp` is imported.

    The blocks become content parts of the chat API, which a conversation in another dialect translates. Texts, and
    resources with text, become texts. Images, sound and PDF files become what they are, or a placeholder where an API
    has no such part.

    A result is an object (of `mcp`, `fastmcp` and others) or a dict with a list `content`; or a list of blocks, or a
    block alone. A dict without `isError`, a list and a block must have a block of a kind that only MCP has.
    `structuredContent` is added as JSON, unless a text of the result says the same already. A pair of a list of blocks
    and structured content is what a server's own `call_tool` returns.
    """
    if isinstance(value, tuple) and (pair := _pair(cast("tuple[object, ...]", value))) is not None:
        value = pair
    if isinstance(value, (list, tuple)):
        given = cast("list[object]", value)
        return _result(given) if any(map(_is_mcp, given)) else None
    if _is_mcp(value):
        return _result([value])
    fields = _result_fields(value)
    failed = fields.get("isError", fields.get("is_error"))
    if not isinstance(fields.get("content"), (list, tuple)) or not isinstance(failed, (bool, type(None))):
        return None
    blocks: list[object] = fields["content"]
    if not {"isError", "is_error"} & fields.keys() and not any(map(_is_mcp, blocks)):
        return None  # the protocol lets a server leave it out
    return _result(blocks, fields.get("structuredContent", fields.get("structured_content")), failed=bool(failed))


def _result(blocks: Sequence[object], structured: object = None, *, failed: bool = False) -> McpResult:
    parts = [_part_of_block(_plain_block(block)) for block in blocks]
    if structured is not None and not any(_says_same(part, structured) for part in parts):
        parts.append({"type": "text", "text": compact_json(structured)})
    return McpResult(parts, failed=failed)


def _pair(value: tuple[object, ...]) -> Raw | None:
    """A pair of blocks and structured content as a result; None if the value is no such pair."""
    if len(value) != 2 or not isinstance(value[0], (list, tuple)) or not isinstance(value[1], (dict, type(None))):
        return None
    blocks = cast("list[object]", value[0])
    is_known = blocks and all(_kind(block) in _BLOCK_KINDS for block in blocks)
    return {"content": blocks, "structuredContent": value[1], "isError": False} if is_known else None


def _result_fields(value: object) -> Raw:
    """The fields of a result: of a dict, or the attributes of an object."""
    if isinstance(value, (dict, type)):
        return as_dict(cast("object", value))
    names = ("content", "isError", "is_error", "structuredContent", "structured_content")
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _plain_block(block: Any) -> Raw:
    """A block as a dict without nulls, with the field names of the protocol. (The objects of `mcp` 2 have other names
    than the protocol, and so has what they dump.)"""
    dump = None if isinstance(block, dict) else getattr(block, "model_dump", None)
    fields = as_dict(cast("object", dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else block))
    held = (
        {**fields, "resource": _plain_block(fields["resource"])} if isinstance(fields.get("resource"), dict) else fields
    )
    return {**held, "mimeType": held["mime_type"]} if "mime_type" in held and "mimeType" not in held else held


_BLOCK_KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})


def _kind(block: object) -> object:
    """The type of a block: a dict or an object; None if it has none."""
    return as_dict(cast("object", block)).get("type") if isinstance(block, dict) else getattr(block, "type", None)


def _is_mcp(given: object) -> bool:
    """Whether a value is a block, a dict or an object, that only MCP has."""
    kind = _kind(given)
    if kind not in _BLOCK_KINDS or isinstance(given, type):
        return False
    if kind == "text":
        return not isinstance(given, dict) and hasattr(given, "text") and hasattr(given, "annotations")
    block = _plain_block(given)
    if kind in ("image", "audio"):
        return "mimeType" in block and isinstance(block.get("data"), str)
    return "uri" in block or isinstance(block.get("resource"), dict)


def _part_of_block(block: Raw) -> Raw:
    """A block as a part of the chat API."""
    kind, held = text(block, "type"), as_dict(block.get("resource"))
    if kind == "text":
        return {"type": "text", "text": text(block, "text")}
    if kind in ("image", "audio"):
        return _file_part(text(block, "data"), text(block, "mimeType"), kind)
    if kind == "resource" and isinstance(held.get("text"), str):
        return {"type": "text", "text": held["text"]}
    if kind == "resource" and isinstance(held.get("blob"), str):
        return _file_part(held["blob"], text(held, "mimeType"), text(held, "uri"))
    return {"type": "text", "text": compact_json(block)}


def _file_part(data: str, mime: str, what: str) -> Raw:
    """Base64 data as a part; a placeholder if the chat API has no part for it. `what`: its kind, or a name for the
    placeholder. Without a `mime`, an image is taken for PNG; of anything else nobody knows what it is."""
    known = mime or ("image/png" if what == "image" else "application/octet-stream")
    raw: Raw = {"inlineData": {"mimeType": known, "data": data}}
    media = Media("image" if raw["inlineData"]["mimeType"].startswith("image/") else "file", raw)
    part = translate_media(media, "gemini", "openai")
    return part or {"type": "text", "text": f"{texts.left_out_marker('file')} {compact_json([mime, what])}"}


def _says_same(part: Raw, structured: object) -> bool:
    """Whether the text of a part is this value as JSON. A value that is no object, servers put under the key `result`;
    then its own JSON counts too."""
    said = text(part, "text")
    values = [structured, *(as_dict(structured).values() if set(as_dict(structured)) == {"result"} else ())]
    if said and said in values:
        return True
    try:
        return json.loads(said) in values
    except (ValueError, RecursionError):
        return False
