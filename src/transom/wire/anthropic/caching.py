"""Cache breakpoints: marks on blocks that tell the provider to cache the prompt up to there. A request may have
four. `wire/rendering.py` decides which messages are marked."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count
from typing import Any, cast

from transom.core.message import Raw
from transom.wire.anthropic.render import is_blank
from transom.wire.fields import as_parts

MAX_BREAKPOINTS = 4
"""The maximum number of marks in a request (A19)."""

_MARK = "cache_control"
_MARKABLE = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})


def breakpoints(request: Raw, ends: Sequence[int]) -> Raw:
    """A copy of a request with cache marks at the end of its system prompt and of the messages at the indexes `ends`.

    A request may have four marks; those that it has already stay, and count. The system prompt is marked first, then
    the messages from the last one back, until there are four. Nothing is marked in front of a mark with the lifetime of
    an hour (A19). An index may be negative; an index without a message is ignored. Reasoning and blank texts take no
    mark: it is put on the block before them. A block that has a mark gets no second one. A content that is a text
    becomes a list with one block. The copy shares what is not marked with the request.
    """
    messages: list[Raw] = list(request["messages"])
    size = len(messages)
    left = MAX_BREAKPOINTS - sum(1 for items in _in_order(request) for _ in _marks(items))
    # our marks are of 5 minutes, and such a mark may not stand before one of an hour (A19)
    first = 1 + max((at for at, each in enumerate(messages) if _HOUR in map(_lifetime, _marks([each]))), default=-1)
    out = {**request, "messages": messages}
    places = sorted({end % size for end in ends if -size <= end < size and end % size >= first}, reverse=True)
    if left > 0 and not first and (system := _marked(request.get("system"))) is not None:
        out["system"], left = system, left - 1
    for at in places:
        if left > 0 and (content := _marked(messages[at]["content"])) is not None:
            messages[at], left = {**messages[at], "content": content}, left - 1
    return out


def _marked(content: object) -> list[Raw] | None:
    """The content with a mark on its last block that can take one; None if there is no such block, or it has a mark."""
    blocks: list[Raw] = [*as_parts(content)]
    for at in range(len(blocks) - 1, -1, -1):
        block = blocks[at]
        if block["type"] in _MARKABLE and not (block["type"] == "text" and is_blank(block["text"])):
            blocks[at] = {**block, _MARK: {"type": "ephemeral"}}
            return None if _MARK in block else blocks
    return None


def with_valid_marks(body: Raw) -> Raw:
    """A request without the marks that the API would refuse (A19): those of 5 minutes before one of an hour, and, if
    more than four are left, the oldest of those in the messages. Only what changes is copied; a request without such
    marks is returned as it is."""
    groups = _in_order(body)
    lifetimes = [[_lifetime(mark) for mark in _marks(items)] for items in groups]
    flat = [lifetime for group in lifetimes for lifetime in group]
    last_hour = max((at for at, lifetime in enumerate(flat) if lifetime == _HOUR), default=-1)
    kept = [at for at, lifetime in enumerate(flat) if lifetime == _HOUR or at > last_hour]
    of_messages = [at for at in kept if at >= len(lifetimes[0]) + len(lifetimes[1])]
    dropped = {*range(len(flat))} - {*kept} | {*of_messages[: max(0, len(kept) - MAX_BREAKPOINTS)]}
    if not dropped:
        return body
    numbers = count()
    changed: list[Any] = [_without_marks(items, dropped, numbers) for items in groups]
    return {
        **body,
        **{key: items for key, items in zip(_KEYS, changed, strict=True) if isinstance(body.get(key), list)},
    }


_KEYS = ("tools", "system", "messages")
"""The keys under which marks stand, in the order of the prompt."""
_HOUR = "1h"


def _in_order(body: Raw) -> list[list[Raw]]:
    """The tools, the blocks of the system prompt and the messages; an empty list for what is missing or a text."""
    return [cast("list[Raw]", body[key]) if isinstance(body.get(key), list) else [] for key in _KEYS]


def _lifetime(mark: Any) -> object:
    """How long a mark keeps the cache: "1h", or None for 5 minutes."""
    return cast("Raw", mark).get("ttl") if isinstance(mark, dict) else None


def _marks(items: Sequence[Raw]) -> Iterator[Any]:
    """The marks on these items and on the blocks in them, in order."""
    for item in items:
        if isinstance(content := item.get("content"), list):
            yield from _marks(cast("list[Raw]", content))
        if _MARK in item:
            yield item[_MARK]


def _without_marks(items: list[Raw], dropped: Collection[int], numbers: Iterator[int]) -> list[Raw]:
    """The items without the marks of these numbers. `numbers` counts the marks in the order of `_marks`."""
    out: list[Raw] = []
    for item in items:
        content = item.get("content")
        if isinstance(content, list):
            inner = _without_marks(cast("list[Raw]", content), dropped, numbers)
            item = item if inner == content else {**item, "content": inner}  # noqa: PLW2901 - a copy of it
        if _MARK in item and next(numbers) in dropped:
            item = {key: value for key, value in item.items() if key != _MARK}  # noqa: PLW2901
        out.append(item)
    return out
