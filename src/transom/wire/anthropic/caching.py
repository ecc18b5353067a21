"""Cache breakpoints: marks on blocks behind which the provider keeps what it has read. No more than four a request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.anthropic.words import is_blank

MOST = 4
"""A19."""

_MARK = "cache_control"
_MARKABLE = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})


def breakpoints(request: Raw, ends: Sequence[int]) -> Raw:
    """A copy of a request with a mark at the end of its system prompt and of the messages at `ends`, while there are
    any left: the system prompt first, then the last messages. Marks that it has stay, and count.

    An index may be negative; one that is in no message is passed over. Reasoning and blank texts take no mark: it
    stands on the block before them. What is not marked is shared with the request, which stays as it was.
    """
    out = dict(request)
    left = MOST - sum(1 for _ in _marked(request))
    if left > 0 and (system := _ended(request.get("system"))) is not None:
        out["system"], left = system, left - 1
    messages = list(_list(request.get("messages")))
    size = len(messages)
    places = sorted({end % size for end in ends if -size <= end < size}, reverse=True) if size else []
    for at in places:
        message = cast("Raw", messages[at])
        if left > 0 and (content := _ended(message.get("content"))) is not None:
            messages[at], left = {**message, "content": content}, left - 1
    return {**out, "messages": messages} if "messages" in request else out


def _ended(content: object) -> list[Any] | None:
    """The content with a mark on its last block that takes one; None if there is none, or it is marked there."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = list(_list(content))
    for at in range(len(blocks) - 1, -1, -1):
        block: Raw = blocks[at]
        if _is_markable(block):
            if _MARK in block:
                return None
            blocks[at] = {**block, _MARK: {"type": "ephemeral"}}
            return blocks
    return None


def _is_markable(block: Raw) -> bool:
    return block["type"] in _MARKABLE and not (block["type"] == "text" and is_blank(block["text"]))


def _marked(request: Raw) -> Iterator[Raw]:
    """Everything in a request that bears a mark."""
    yield from _marked_in(request.get("tools"))
    yield from _marked_in(request.get("system"))
    for message in _list(request.get("messages")):
        yield from _marked_in(message.get("content"))


def _marked_in(content: object) -> Iterator[Raw]:
    for block in _list(content):
        if isinstance(block, dict):
            fields = cast("Raw", block)
            if _MARK in fields:
                yield fields
            yield from _marked_in(fields.get("content"))


def unmarked(system: object, messages: list[Raw]) -> list[Raw]:
    """The messages with no more marks than a request may have: the newest stay. What had none is shared."""
    left = MOST - sum(1 for _ in _marked_in(system))
    many = sum(1 for message in messages for _ in _marked_in(message["content"]))
    if many <= left:
        return messages
    surplus, out = many - max(0, left), list(messages)
    for at, message in enumerate(messages):
        if surplus <= 0:
            break
        before = surplus
        content, surplus = _without(message["content"], surplus)
        if surplus != before:
            out[at] = {**message, "content": content}
    return out


def _without(content: object, surplus: int) -> tuple[Any, int]:
    """The content without its first `surplus` marks, and how many are still to go."""
    if not isinstance(content, list):
        return content, surplus
    blocks: list[Any] = []
    for block in cast("list[Raw]", content):
        fields = block
        if surplus and _MARK in block:
            fields = {key: value for key, value in block.items() if key != _MARK}
            surplus -= 1
        if surplus and isinstance(block.get("content"), list):
            inner, surplus = _without(block["content"], surplus)
            fields = {**fields, "content": inner}
        blocks.append(fields)
    return blocks, surplus


def _list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
