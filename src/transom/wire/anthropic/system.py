"""The system prompt as the request holds it."""

from __future__ import annotations

from collections.abc import Sequence

from transom.core import texts
from transom.core.message import Instruction, Media, Raw, Text
from transom.wire.anthropic.words import NAME, is_blank
from transom.wire.foreign import adopted
from transom.wire.saying import cleaned


def system_of(instructions: Sequence[Instruction]) -> str | list[Raw]:
    """As it came: a string, or a list of blocks. Several become one list; what is blank is left out (A10)."""
    if len(instructions) == 1:
        fact = adopted(instructions[0], NAME)
        part = fact.parts[0] if len(fact.parts) == 1 else None
        if fact.shape == "text" and isinstance(part, Text) and not part.extra:
            return "" if is_blank(part.text) else cleaned(part.text)
    return [block for fact in instructions for block in _blocks(fact)]


def _blocks(fact: Instruction) -> list[Raw]:
    """Its texts; nothing else stands in a system prompt."""
    out: list[Raw] = []
    for part in adopted(fact, NAME).parts:
        if not isinstance(part, Text):
            left = part.media if isinstance(part, Media) else "part"
            out.append({"type": "text", "text": texts.left_out(left)})
        elif not is_blank(part.text):
            out.append(cleaned({"type": "text", "text": part.text, **(part.extra or {})}))
    return out
