"""Reads what an MCP tool returns: a `CallToolResult`, or a list of its content blocks. Nothing of `mcp` is imported.

The blocks become content parts of the chat API, which a conversation in another dialect translates. Texts, and
resources with text, become texts. Images, sound and PDF files become what they are, or a placeholder where an API has
no such part.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast

from transom import texts
from transom.core.message import Media, Raw
from transom.wire.fields import as_dict, as_list, compact_json, text
from transom.wire.media import translate_media


class McpResult(NamedTuple):
    """The content of a result as parts of the chat API, and whether the tool failed."""

    parts: list[Raw]
    failed: bool


def read_mcp(value: object) -> McpResult | None:
    """The result of an MCP tool; None if the value is something else.

    A result is an object (of `mcp`, `fastmcp` and others) or a dict with `isError` and a list `content`; or a list of
    blocks, at least one of a kind that only MCP has. `structuredContent` is added as JSON, unless a text of the result
    says the same already.
    """
    if isinstance(value, (list, tuple)):
        blocks = [_plain(block) for block in cast("list[object]", value)]
        return McpResult([_part(block) for block in blocks], failed=False) if any(map(_is_mcp, blocks)) else None
    fields = _fields(value)
    failed = fields.get("isError", fields.get("is_error"))
    if not isinstance(fields.get("content"), (list, tuple)) or not isinstance(failed, (bool, type(None))):
        return None
    if failed is None and "isError" not in fields and "is_error" not in fields:
        return None
    parts = [_part(_plain(block)) for block in as_list(fields["content"])]
    structured = fields.get("structuredContent", fields.get("structured_content"))
    if structured is not None and not any(_says(part, structured) for part in parts):
        parts.append({"type": "text", "text": compact_json(structured)})
    return McpResult(parts, failed=bool(failed))


def _fields(value: object) -> Raw:
    """The fields of a result: of a dict, or the attributes of an object."""
    if isinstance(value, (dict, type)):
        return as_dict(cast("object", value))
    names = ("content", "isError", "is_error", "structuredContent", "structured_content")
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _plain(block: Any) -> Raw:
    """A block as a dict without nulls, with the field names of the protocol."""
    dump = None if isinstance(block, dict) else getattr(block, "model_dump", None)
    return as_dict(cast("object", dump(mode="json", by_alias=True, exclude_none=True) if callable(dump) else block))


def _is_mcp(block: Raw) -> bool:
    """Whether a block is one that only MCP has."""
    kind = block.get("type")
    return (kind in ("image", "audio") and "mimeType" in block) or (
        kind in ("resource", "resource_link") and ("uri" in block or isinstance(block.get("resource"), dict))
    )


def _part(block: Raw) -> Raw:
    """A block as a part of the chat API."""
    kind, held = text(block, "type"), as_dict(block.get("resource"))
    if kind == "text":
        return {"type": "text", "text": text(block, "text")}
    if kind in ("image", "audio"):
        return _file(text(block, "data"), text(block, "mimeType"), kind)
    if kind == "resource" and isinstance(held.get("text"), str):
        return {"type": "text", "text": held["text"]}
    if kind == "resource" and isinstance(held.get("blob"), str):
        return _file(held["blob"], text(held, "mimeType"), text(held, "uri"))
    return {"type": "text", "text": compact_json(block)}


def _file(data: str, mime: str, what: str) -> Raw:
    """Base64 data as a part; a placeholder if the chat API has no part for it. `what`: its kind, or a name for the
    placeholder. Without a `mime`, an image is taken for PNG; of anything else nobody knows what it is."""
    known = mime or ("image/png" if what == "image" else "application/octet-stream")
    raw: Raw = {"inlineData": {"mimeType": known, "data": data}}
    media = Media("image" if raw["inlineData"]["mimeType"].startswith("image/") else "file", raw)
    part = translate_media(media, "gemini", "openai")
    return part or {"type": "text", "text": f"{texts.left_out_marker('file')} {compact_json([mime, what])}"}


def _says(part: Raw, structured: object) -> bool:
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
