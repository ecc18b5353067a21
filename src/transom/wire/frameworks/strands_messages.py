"""Messages of Strands Agents: dicts in the form of Amazon's Converse API.

Each block becomes one of the Messages API, whose rules about turns are the same: the roles alternate, and the results
of a turn are in one user message. A block that the Messages API does not have is kept whole.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, count
from typing import Any, cast

from transom.core.message import Assistant, Raw
from transom.core.view import View
from transom.texts import left_out_marker
from transom.wire.dialect import Dialect
from transom.wire.fields import as_dict, as_parts, objects_in, text
from transom.wire.frameworks.framework_format import FrameworkFormat, Piece, Sources
from transom.wire.rendering import render_messages
from transom.wire.replies import UsageFields, with_usage

_USAGE = UsageFields(
    prompt="inputTokens cacheReadInputTokens cacheWriteInputTokens",
    cached="cacheReadInputTokens",
    cache_write="cacheWriteInputTokens",
    output="outputTokens",
)
_OTHER = "converse"
"""The type of a block that holds one of the Converse API, under the key "block"."""
_BYTES = "__bytes_encoded__"
"""Marks bytes in such a block: JSON has none."""
_KINDS = {"image": "image", "document": "file"}
"""What a placeholder calls a block that is left out; any other block is a "part"."""


@cache
def _dialect() -> Dialect:
    """The dialect of the facts. It fits the models of all providers: Bedrock wants the user first, and other models
    think without a signature."""
    from transom.wire.anthropic import AnthropicDialect  # noqa: PLC0415 - the package's import brings no second dialect

    return AnthropicDialect(user_first=True, unsigned=True)


class StrandsFormat(FrameworkFormat):
    """The messages of `strands.types.content`. They are dicts, so only a caller who says so has them read as such. They
    are always written as new dicts."""

    name = "strands"

    @property
    def dialect(self) -> Dialect:
        return _dialect()

    def read(self, messages: Sequence[Any], where: str = "") -> list[Piece]:
        placed = self.dialect.parse([_message(each) for each in messages], where)
        return [Piece(at=at, fact=fact, source=messages[at], message=messages[at]) for at, fact in placed]

    def read_reply(self, reply: Any) -> Assistant:
        usage = as_dict(as_dict(reply).get("metadata")).get("usage")
        return with_usage(self.dialect.parse_reply(_message(reply)), usage, _USAGE)

    def write(self, view: View, sources: Sources) -> list[Raw]:  # noqa: ARG002 - a message is the dict that it is
        messages: list[Raw] = [
            {"role": each["role"], "content": [_converse_block(block) for block in as_parts(each["content"])]}
            for each in render_messages(view, self.dialect)
        ]
        _name_documents(messages)
        return messages


def _message(one: Any) -> object:
    if not isinstance(one, dict):
        return one  # parsing says what is wrong
    message = cast("Raw", one)
    content = message.get("content")
    blocks = [*map(_block, objects_in(cast("object", content)))]
    role = {"role": message["role"]} if "role" in message else {}
    return {**role, "content": blocks if isinstance(content, list) else content}


def _block(block: Raw) -> Raw:
    """A block of the Converse API as one of the Messages API."""
    kind = next(iter(block), "")
    held = as_dict(block.get(kind))
    if kind == "text":
        return {"type": "text", "text": block["text"]}
    if kind == "toolUse":
        rest = {key: value for key, value in held.items() if key not in {"toolUseId", "name", "input"}}
        called = {"id": held.get("toolUseId"), "name": held.get("name"), "input": held.get("input")}
        return {"type": "tool_use", **called, **rest}
    if kind == "toolResult":
        content = [_block(each) for each in objects_in(held.get("content"))]
        failed = {"is_error": True} if held.get("status") == "error" else {}
        return {"type": "tool_result", "tool_use_id": held.get("toolUseId"), "content": content, **failed}
    if kind == "reasoningContent" and (thought := as_dict(held.get("reasoningText"))):
        signature = {"signature": thought["signature"]} if thought.get("signature") else {}
        return {"type": "thinking", "thinking": thought.get("text") or "", **signature}
    if kind == "reasoningContent" and isinstance(data := held.get("redactedContent"), bytes):
        return {"type": "redacted_thinking", "data": b64encode(data).decode()}
    if kind == "image" and isinstance(data := as_dict(held.get("source")).get("bytes"), bytes):
        media_type = f"image/{held.get('format')}"
        source = {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}
        return {"type": "image", "source": source}
    if kind == "json":  # all models but Amazon's get it as a text, and only a text can be shortened
        return {"type": "text", "text": json.dumps(block["json"], ensure_ascii=False)}
    return {"type": _OTHER, "block": _encoded(block)}


def _converse_block(block: Raw) -> Raw:
    """A block of the Messages API as one of the Converse API; a placeholder text for one that this does not have."""
    kind = block["type"]
    if kind == "text":
        return {"text": block["text"]}
    if kind == "tool_use":
        rest = {key: value for key, value in block.items() if key not in {"type", "id", "name", "input"}}
        return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"], **rest}}
    if kind == "tool_result":
        content = [_converse_block(each) for each in as_parts(block.get("content")) or [{"type": "text", "text": ""}]]
        status = "error" if block.get("is_error") else "success"
        return {"toolResult": {"toolUseId": block["tool_use_id"], "status": status, "content": content}}
    if kind == "thinking":
        signature = {"signature": block["signature"]} if block.get("signature") else {}
        return {"reasoningContent": {"reasoningText": {"text": block["thinking"], **signature}}}
    if kind == "redacted_thinking":
        return {"reasoningContent": {"redactedContent": b64decode(block["data"])}}
    if kind == _OTHER:
        return _decoded(block["block"])
    source = as_dict(block.get("source"))
    form = text(source, "media_type").partition("/")[2]
    data = _bytes_in(source)
    if kind == "image" and data:
        return {"image": {"format": form, "source": {"bytes": data}}}
    if kind == "document" and data and form == "pdf":
        return {"document": {"format": form, "name": "", "source": {"bytes": data}}}  # see `_name_documents`
    return {"text": left_out_marker(_KINDS.get(kind, "part"))}


def _name_documents(messages: Sequence[Raw]) -> None:
    """Give each document without a name one that no other document of the request has, and put a text in front of it if
    its message has none. The Converse API refuses two documents of one name, and a document without a text."""
    blocks = [block for message in messages for block in _with_nested(message["content"])]
    taken = {text(as_dict(block.get("document")), "name").casefold() for block in blocks}
    free = (name for name in chain(["document"], map("document {}".format, count(2))) if name not in taken)
    for message in messages:
        content: list[Raw] = message["content"]
        first = next((at for at, block in enumerate(content) if _is_unnamed(block)), None)
        if first is not None and not any("text" in block for block in content):
            content.insert(first, {"text": left_out_marker("text")})
    for block in filter(_is_unnamed, blocks):
        block["document"]["name"] = next(free)


def _with_nested(content: Sequence[Raw]) -> Iterator[Raw]:
    """Blocks, and those in their results of tools."""
    for block in content:
        yield block
        yield from objects_in(as_dict(block.get("toolResult")).get("content"))


def _is_unnamed(block: Raw) -> bool:
    document = block.get("document")
    return isinstance(document, dict) and not text(cast("Raw", document), "name")


def _bytes_in(source: Raw) -> bytes:
    """The bytes of a file by its source in the Messages API. Empty if they are not there, or are no base64."""
    try:
        return b64decode(text(source, "data")) if source.get("type") == "base64" else b""
    except ValueError:
        return b""


def _encoded(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: _encoded(held) for key, held in cast("Raw", value).items()}
    return [_encoded(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast("Raw", value)
        return b64decode(fields[_BYTES]) if _BYTES in fields else {key: _decoded(each) for key, each in fields.items()}
    return [_decoded(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


STRANDS = StrandsFormat()
