"""How Gemini's requests are counted: the formula of `Measure`, and what this dialect adds to what came in."""

from __future__ import annotations

from math import ceil

from transom.core import texts
from transom.core.message import Addressed, Assistant, Fact, Instruction, Other, Text, ToolResult
from transom.core.tokens import MESSAGE_TOKENS, REQUEST_TOKENS, TokenCounter
from transom.wire.foreign import Adopting
from transom.wire.gemini.words import NAME, SIGNATURE
from transom.wire.naming import safe_name


class GeminiMeasure(Adopting):
    """Never less than what is sent. A request may need a word of the user's before its first call; a response says the
    name of its call again, and is counted with it."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__(counter, NAME, objects=True)
        self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.NUDGE)

    def image(self, width: int, height: int) -> int:
        """258 for each tile of 768 by 768 (D); of no image more than 16: a header may say anything."""
        return 258 * min(16, ceil(width / 768) * ceil(height / 768))

    def part(self, part: Addressed) -> int:
        """Signatures are no text; a text that is empty may need a word in its place."""
        if isinstance(part, Other):
            part = Other({key: value for key, value in part.raw.items() if key not in SIGNATURE})
        tokens = super().part(part)
        return max(tokens, self.left_out) if isinstance(part, Text) and not part.text else tokens

    def envelope(self, fact: Fact) -> int:
        """With what is said of calls in their responses, and of roles that this API does not know."""
        tokens, own = super().envelope(fact), fact.dialect == NAME
        if isinstance(fact, Instruction):
            tokens += self.count(texts.instruction(fact.role, "")) + (0 if fact.parts else self.left_out)
        elif isinstance(fact, Assistant):
            names = [call.name or texts.UNNAMED if own else safe_name(call.name) for call in fact.calls]
            tokens += sum(map(self.count, names)) + MESSAGE_TOKENS * (fact.order.count("|") if own else 0)
            tokens += 0 if fact.parts or names else self.left_out
        elif isinstance(fact, ToolResult) and own:
            tokens -= self.count((fact.extra or {}).get("name") or "")
        return tokens
