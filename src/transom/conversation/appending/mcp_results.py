"""Reads what an MCP tool returns: a `CallToolResult`, or a list of its content blocks. Nothing of `mcp` is imported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from transom import texts
from transom.core.message import Media, Raw
from transom.wire.fields import as_dict, compact_json, text
from transom.wire.media import translate_media


class McpResult(NamedTuple):
    """What an MCP tool returned: its content as parts of the OpenAI Chat API, and whether the tool failed."""

    parts: list[Raw]
    failed: bool


def read_mcp(value: object) -> McpResult | None:
    """Read the result of an MCP tool; None if the value is something else.

    The blocks become content parts of the chat API, which a conversation in another dialect translates. Texts, and
    resources with text, become texts. Images, sound and PDF files become what they are, or a placeholder where an API
    has no such part.

    These are results:

    - an object (of `mcp`, `fastmcp` and others) or a dict with a list `content` and the field `isError`;
    - a dict with a list `content` and without `isError`, if it has only fields of a result, and a block of a kind that
      only MCP has;
    - a list with a block of a kind that only MCP has, or a block of that kind alone;
    - a pair of blocks (a list, not empty) and structured content, which a server's own `call_tool` returns.

    `structuredContent` is added as JSON, unless a text of the result says the same already.
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
    says_failed = not fields.keys().isdisjoint(_FAILED)  # the protocol lets a server leave it out
    if not says_failed and (fields.keys() - _RESULT_FIELDS or not any(map(_is_mcp, blocks))):
        return None
    return _result(blocks, fields.get("structuredContent", fields.get("structured_content")), failed=bool(failed))


def _result(blocks: Sequence[object], structured: object = None, *, failed: bool = False) -> McpResult:
    parts = [_part_of_block(_plain_block(block)) for block in blocks]
    if structured is not None and not any(_says_same(part, structured) for part in parts):
        parts.append({"type": "text", "text": compact_json(structured)})
    return McpResult(parts, failed=failed)


_FAILED = ("isError", "is_error")
_RESULT_FIELDS = frozenset({"content", "structuredContent", "structured_content", "_meta", "meta"})
"""The fields of a result beside `_FAILED`."""


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
    """A block as a dict without nulls, with the field names of the protocol."""
    dump = None if isinstance(block, dict) else getattr(block, "model_dump", None)
    fields = as_dict(cast("object", dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else block))
    held = (
        {**fields, "resource": _plain_block(fields["resource"])} if isinstance(fields.get("resource"), dict) else fields
    )
    return {**held, "mimeType": held["mime_type"]} if "mime_type" in held and "mimeType" not in held else held


_BLOCK_KINDS = frozenset({"text", "image", "audio", "resource", "resource_link"})


def _kind(block: object) -> str:
    """The type of a block: a dict or an object; empty if it has none, or one that is no text."""
    kind: object = as_dict(cast("object", block)).get("type") if isinstance(block, dict) else getattr(block, "type", "")
    return kind if isinstance(kind, str) else ""


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
    """Base64 data as a part; a placeholder if the chat API has no part for it."""
    known = mime or ("image/png" if what == "image" else "application/octet-stream")
    raw: Raw = {"inlineData": {"mimeType": known, "data": data}}
    media = Media("image" if raw["inlineData"]["mimeType"].startswith("image/") else "file", raw)
    part = translate_media(media, "gemini", "openai")
    return part or {"type": "text", "text": f"{texts.left_out_marker('file')} {compact_json([mime, what])}"}


def _says_same(part: Raw, structured: object) -> bool:
    """Whether the text of a part is this value as JSON."""
    said = text(part, "text")
    values = [structured, *(as_dict(structured).values() if set(as_dict(structured)) == {"result"} else ())]
    if said and said in values:
        return True
    try:
        return json.loads(said) in values
    except (ValueError, RecursionError):
        return False
