"""Cache breakpoints: marks on blocks that tell the provider to cache the prompt up to there. A request may have
four."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.anthropic.render import is_blank

MOST = 4
"""The maximum number of marks in a request (A19)."""

_MARK = "cache_control"
_MARKABLE = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})


def breakpoints(request: Raw, ends: Sequence[int]) -> Raw:
    """A copy of a request with cache marks at the end of its system prompt and of the messages at the indexes `ends`.

    Marks that the request has stay, and count towards the four. The system prompt is marked first, then the last
    messages. An index may be negative; an index without a message is ignored. Reasoning and blank texts take no mark:
    it is put on the block before them. The copy shares what is not marked with the request.
    """
    messages: list[Raw] = list(request["messages"])
    size = len(messages)
    left = MOST - _marks([*request.get("tools", ()), {"content": request.get("system")}, *messages])
    out = {**request, "messages": messages}
    places = sorted({end % size for end in ends if -size <= end < size}, reverse=True)
    if left > 0 and (system := _ended(request.get("system"))) is not None:
        out["system"], left = system, left - 1
    for at in places:
        if left > 0 and (content := _ended(messages[at]["content"])) is not None:
            messages[at], left = {**messages[at], "content": content}, left - 1
    return out


def _ended(content: object) -> list[Raw] | None:
    """The content with a mark on its last block that can take one; None if there is no such block, or it has a mark."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks: list[Raw] = list(cast("list[Raw]", content or []))
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if block["type"] in _MARKABLE and not (block["type"] == "text" and is_blank(block["text"])):
            blocks[at] = {**block, _MARK: {"type": "ephemeral"}}
            return None if _MARK in block else blocks
    return None


def unmarked(before: Sequence[Raw], messages: list[Raw]) -> list[Raw]:
    """The messages with no more marks than a request may have. The oldest messages lose theirs.

    `before`: what precedes the messages; its marks count. Messages that had no mark are shared, not copied.
    """
    surplus, out = _marks([*before, *messages]) - MOST, list(messages)
    for at, message in enumerate(messages):
        if surplus <= 0:
            break
        if marks := _marks([message]):
            out[at] = {**message, "content": _without(message["content"])}
            surplus -= marks
    return out


def _marks(items: list[Raw]) -> int:
    """The number of marks on these items and on the blocks in them."""
    marks = 0
    for item in items:
        marks += _MARK in item
        if isinstance(content := item.get("content"), list):
            marks += _marks(cast("list[Raw]", content))
    return marks


def _without(content: Any) -> Any:
    """The content without its marks."""
    if not isinstance(content, list):
        return content
    blocks = cast("list[Raw]", content)
    return [{k: _without(v) if k == "content" else v for k, v in block.items() if k != _MARK} for block in blocks]
