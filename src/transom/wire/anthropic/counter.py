"""Counts the tokens of facts as they are sent to the Messages API."""

from __future__ import annotations

from math import ceil
from typing import Any, cast

from transom import texts
from transom.core import message as m
from transom.core.edit import Fold
from transom.core.entry import Body
from transom.core.message import Addressed, Assistant, Fact, Instruction, Raw
from transom.core.tokens import MEDIA_TOKENS, MESSAGE_TOKENS, REQUEST_TOKENS, TokenCounter
from transom.wire.anthropic.parse import DIALECT_NAME
from transom.wire.anthropic.render import EMPTY, is_blank, is_label, sent_name
from transom.wire.dialect_counter import DialectCounter, ToolRenderer
from transom.wire.media_tokens import ANTHROPIC as ANTHROPIC_RATES


class AnthropicCounter(DialectCounter):
    """Counts for the Messages API, with the placeholders, labels and marks that rendering may add to a fact.

    `request` has room for the first user message, if the API needs one.
    """

    rates = ANTHROPIC_RATES

    def __init__(self, counter: TokenCounter, tools: ToolRenderer, *, user_first: bool) -> None:
        super().__init__(counter, DIALECT_NAME, objects=True, tools=tools, takes=is_label)
        self._empty = self.count(EMPTY)
        self.user_first = user_first
        if user_first:
            self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.CONTINUE)

    def image(self, width: int, height: int) -> int:
        """The tokens of an image: its pixels ÷ 750, at most 1,600: the provider scales larger images down."""
        return min(1_600, ceil(width * height / 750))

    def count_body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """The counts of an entry. A fold with a blank text is counted as its placeholder."""
        if isinstance(body, Fold) and is_blank(body.text):
            return (MESSAGE_TOKENS + max(self._empty, self.count(body.text)),)
        return super().count_body(body, shown)

    def count_part(self, part: Addressed) -> int:
        """The tokens of a part. A blank text counts as its placeholder; a document that holds plain text counts that
        text."""
        source: Any = part.raw.get("source") if isinstance(part, m.Media) else None
        if isinstance(source, dict) and cast("Raw", source).get("type") in {"text", "content"}:
            return max(MEDIA_TOKENS, sum(map(self.count, m.strings_in(cast("Raw", source)))))
        tokens = super().count_part(part)
        return max(self._empty, tokens) if isinstance(part, m.Text) and is_blank(part.text) else tokens

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts, with the mark on an instruction, a changed tool name, and a placeholder for
        missing content."""
        tokens = super().count_envelope(fact)
        if isinstance(fact, Instruction):
            # a word of it may begin with the mark's last blank and then need one token more
            tokens += self.count(texts.instruction_text(fact.role, "")) + 1
        elif isinstance(fact, Assistant) and fact.dialect == DIALECT_NAME:
            tokens += sum(max(0, self.count(sent_name(call.name)) - self.count(call.name)) for call in fact.calls)
            tokens += MESSAGE_TOKENS * fact.order.count("|")
        needed = fact.failed if isinstance(fact, m.ToolResult) else not (isinstance(fact, Assistant) and fact.calls)
        return tokens + (self._empty if needed and not fact.parts and is_blank(m.own_text(fact)) else 0)
