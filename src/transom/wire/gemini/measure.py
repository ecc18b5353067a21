"""How Gemini's requests are counted: the formula of `Measure`, and what this dialect adds to what came in."""

from __future__ import annotations

from transom.core import texts
from transom.core.entry import Body
from transom.core.message import Addressed, Assistant, Fact, Head, Instruction, Other, Text, ToolResult
from transom.core.tokens import MESSAGE_TOKENS, REQUEST_TOKENS, TokenCounter
from transom.wire.foreign import Adopting
from transom.wire.gemini.words import CONTENTS, LABEL, NAME, SIGNATURE
from transom.wire.naming import safe_name


class GeminiMeasure(Adopting):
    """Never less than what is sent. A request may need a word of the user's before its first call; a response says the
    name of its call again, and is counted with it."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__(counter, NAME, objects=True)
        self.request = REQUEST_TOKENS + MESSAGE_TOKENS + self.count(texts.NUDGE)
        self._nothing = self.count(texts.left_out("part"))
        self._role = max(self.count(texts.instruction(role, "")) for role in ("system", "developer"))

    def body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """A head's instructions stand where such belong: nothing needs to say what they are."""
        counts = super().body(body, shown)
        return (counts[0] - len(body.messages) * self._role,) if isinstance(body, Head) else counts

    def part(self, part: Addressed) -> int:
        """Signatures are no text; a text that is empty may need a word in its place."""
        if isinstance(part, Other):
            part = Other({key: value for key, value in part.raw.items() if key not in SIGNATURE})
        tokens = super().part(part)
        return max(tokens, self._nothing) if isinstance(part, Text) and not part.text else tokens

    def envelope(self, fact: Fact) -> int:
        """With what is said of calls in their responses, and of roles that this API does not know."""
        tokens, extra = super().envelope(fact), fact.extra or {}
        if not fact.parts and (isinstance(fact, Instruction) or (isinstance(fact, Assistant) and not fact.calls)):
            tokens += self._nothing
        if isinstance(fact, Instruction):
            tokens += self._role
        elif isinstance(fact, Assistant):
            for call in fact.calls:
                tokens += self.count(call.name or texts.UNNAMED if fact.dialect == NAME else safe_name(call.name))
            if fact.dialect == NAME:
                tokens += MESSAGE_TOKENS * (len(extra.get(CONTENTS) or [0]) - 1)
        elif isinstance(fact, ToolResult) and fact.dialect == NAME:
            tokens += self.count(extra.get(LABEL) or "") - self.count(extra.get("name") or "")
        return tokens
