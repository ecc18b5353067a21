"""How Messages requests are counted: never less than what is sent.

Placeholders, labels and marks that rendering may put in are counted where a fact could need them.
"""

from __future__ import annotations

from math import ceil
from typing import Any, cast

from transom.core import texts
from transom.core.edit import Fold
from transom.core.entry import Body
from transom.core.message import Addressed, Assistant, Fact, Instruction, Media, Raw, Text, ToolResult, said, texts_in
from transom.core.tokens import MESSAGE_TOKENS, TokenCounter
from transom.wire.anthropic.parse import NAME
from transom.wire.anthropic.render import EMPTY, is_blank, is_label, sent_name
from transom.wire.foreign import Adopting


class Counting(Adopting):
    def __init__(self, counter: TokenCounter) -> None:
        super().__init__(counter, NAME, objects=True)
        self._empty = self.count(EMPTY)

    def takes(self, label: str) -> bool:
        return is_label(label) is not None

    def image(self, width: int, height: int) -> int:
        """Pixels by 750; what is larger than 1,600 tokens is scaled down (D)."""
        return min(1_600, ceil(width * height / 750))

    def body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """A fold without words gets a placeholder."""
        if isinstance(body, Fold) and is_blank(body.text):
            return (MESSAGE_TOKENS + max(self._empty, self.count(body.text)),)
        return super().body(body, shown)

    def part(self, part: Addressed) -> int:
        """A blank text may become a placeholder; a document may hold its text openly."""
        tokens = super().part(part)
        if isinstance(part, Text) and is_blank(part.text):
            return max(self._empty, tokens)
        source: Any = part.raw.get("source") if isinstance(part, Media) else None
        if isinstance(source, dict) and cast("Raw", source).get("type") in {"text", "content"}:
            return max(tokens, sum(map(self.count, texts_in(cast("Raw", source)))))
        return tokens

    def envelope(self, fact: Fact) -> int:
        tokens = super().envelope(fact)
        if isinstance(fact, Instruction):
            # a word of it may begin with the mark's last blank and then need one token more
            tokens += self.count(texts.instruction(fact.role, "")) + 1
        elif isinstance(fact, Assistant) and fact.dialect == NAME:
            tokens += sum(max(0, self.count(sent_name(call.name)) - self.count(call.name)) for call in fact.calls)
            tokens += MESSAGE_TOKENS * fact.order.count("|")
        needed = fact.failed if isinstance(fact, ToolResult) else not (isinstance(fact, Assistant) and fact.calls)
        return tokens + (self._empty if needed and not fact.parts and is_blank(said(fact)) else 0)
