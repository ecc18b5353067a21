"""Cache breakpoints: marks on blocks behind which the provider keeps what it has read. No more than four a request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.anthropic.render import is_blank

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
    """The content with a mark on its last block that takes one; None if there is none, or it is marked there."""
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
    """The messages with no more marks than a request may have, those `before` them included: the oldest messages lose
    theirs. What had none is shared."""
    surplus, out = _marks([*before, *messages]) - MOST, list(messages)
    for at, message in enumerate(messages):
        if surplus <= 0:
            break
        if marks := _marks([message]):
            out[at] = {**message, "content": _without(message["content"])}
            surplus -= marks
    return out


def _marks(items: list[Raw]) -> int:
    """How many of these, and of what they hold, bear a mark."""
    marks = 0
    for item in items:
        marks += _MARK in item
        if isinstance(content := item.get("content"), list):
            marks += _marks(cast("list[Raw]", content))
    return marks


def _without(content: Any) -> Any:
    if not isinstance(content, list):
        return content
    blocks = cast("list[Raw]", content)
    return [{k: _without(v) if k == "content" else v for k, v in block.items() if k != _MARK} for block in blocks]
