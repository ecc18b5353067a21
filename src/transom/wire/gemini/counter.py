"""Counts the tokens of facts as they are sent to the Gemini API."""

from __future__ import annotations

from math import ceil

from transom import texts
from transom.core.message import Addressed, Assistant, Fact, Instruction, Other, Text, ToolResult
from transom.core.tokens import MESSAGE_TOKENS, REQUEST_TOKENS, TokenCounter
from transom.wire.dialect_counter import DialectCounter, ToolRenderer
from transom.wire.gemini.keys import DIALECT_NAME, SIGNATURE
from transom.wire.media_tokens import GEMINI as GEMINI_RATES
from transom.wire.translate import safe_name


class GeminiCounter(DialectCounter):
    """Counts for Gemini: a function's response repeats the name of its call, and is counted with it.

    `request` has room for the user message that a request may need before its first call.
    """

    rates = GEMINI_RATES
    user_first = True

    def __init__(self, counter: TokenCounter, tools: ToolRenderer) -> None:
        super().__init__(counter, DIALECT_NAME, objects=True, tools=tools)
        self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.CONTINUE)

    def image(self, width: int, height: int) -> int:
        """The tokens of an image: 258 for each tile of 768 × 768 pixels, for at most 16 tiles: the header of an image
        may state any size."""
        return 258 * min(16, ceil(width / 768) * ceil(height / 768))

    def count_part(self, part: Addressed) -> int:
        """The tokens of a part. Signatures do not count; an empty text counts as the placeholder that may stand in its
        place."""
        if isinstance(part, Other):
            part = Other({key: value for key, value in part.raw.items() if key not in SIGNATURE})
        tokens = super().count_part(part)
        return max(tokens, self.left_out) if isinstance(part, Text) and not part.text else tokens

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts, with the call's name in a response, and the mark on instructions, which the API
        does not know."""
        tokens, own = super().count_envelope(fact), fact.dialect == DIALECT_NAME
        if isinstance(fact, Instruction):
            tokens += self.count(texts.instruction_text(fact.role, "")) + (0 if fact.parts else self.left_out)
        elif isinstance(fact, Assistant):
            names = [call.name or texts.UNNAMED if own else safe_name(call.name) for call in fact.calls]
            tokens += sum(map(self.count, names)) + MESSAGE_TOKENS * (fact.order.count("|") if own else 0)
            tokens += 0 if fact.parts or names else self.left_out
        elif isinstance(fact, ToolResult) and own:
            tokens -= self.count((fact.extra or {}).get("name") or "")
        return tokens
