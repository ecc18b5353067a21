"""The blocks of a message, each as it came or as the API would take it."""

from __future__ import annotations

from collections.abc import Iterator

from transom.core import texts
from transom.core.message import Addressed, Call, Fact, Other, Part, Raw, Reasoning, Text
from transom.wire.anthropic.words import SIGNED, is_blank
from transom.wire.arguments import as_object
from transom.wire.saying import copied


def said_block(item: Addressed) -> Iterator[Raw]:
    """What one item of a turn says: a block, or nothing."""
    if isinstance(item, Call):
        yield filled({"type": "tool_use", "id": item.id, "name": item.name, "input": _input(item)}, item.extra)
    elif isinstance(item, Reasoning):
        if _is_signed(item):  # the API takes no other
            yield filled({"type": item.field, SIGNED[item.field]: item.text}, item.extra)
    else:
        yield from _block(item)


def _is_signed(thought: Reasoning) -> bool:
    """Whether the API takes it back: encrypted, or with its signature."""
    signature = (thought.extra or {}).get("signature")
    return thought.field == "redacted_thinking" or (
        thought.field == "thinking" and isinstance(signature, str) and signature != ""
    )


def _input(call: Call) -> Raw:
    value: Raw = copied(as_object(call.args))
    return value


def content(fact: Fact) -> str | list[Raw]:
    """A string stays a string as long as one can hold it. Nothing blank is in it (A10)."""
    if fact.shape == "text" and len(fact.parts) <= 1:
        first = fact.parts[0] if fact.parts else Text("")
        if isinstance(first, Text) and not first.extra:
            return "" if is_blank(first.text) else first.text
    return [block for part in fact.parts for block in _block(part)]


def _block(part: Part) -> Iterator[Raw]:
    if isinstance(part, Text):
        if not is_blank(part.text):
            yield filled(text_block(part.text), part.extra)
    elif not isinstance(kind := part.raw.get("type"), str) or (isinstance(part, Other) and kind in _MISPLACED):
        yield text_block(texts.left_out("part"))
    else:
        yield copied(part.raw)


_MISPLACED = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
"""What reads as a fact or a part of its own wherever the API takes it."""


def text_block(text: str) -> Raw:
    """A text as a block."""
    return {"type": "text", "text": text}


def filled(block: Raw, extra: Raw | None) -> Raw:
    """The block with what else came with it; what we know wins."""
    return {**block, **{key: value for key, value in copied(extra or {}).items() if key not in block}}
