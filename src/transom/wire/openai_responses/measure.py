"""How requests to this API are counted."""

from __future__ import annotations

from transom.core.message import Addressed, Assistant, Fact, Reasoning, ToolResult
from transom.core.tokens import TokenCounter
from transom.wire.foreign import Adopting
from transom.wire.naming import PLACE_LABEL, safe_name
from transom.wire.openai_responses.items import NAME
from transom.wire.openai_responses.mend import LONGEST_LABEL

_SEALED = 5
"""Characters of sealed reasoning to a token: four of base64 are three bytes, and a token is about four bytes."""

_LEFT_OUT = 8
"""No placeholder costs more."""


class ResponsesMeasure(Adopting):
    """Reasoning weighs what it says in the clear and what it holds sealed; a name or label of a call that will be
    mended, whichever of both forms is longer."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__(counter, NAME, objects=False)

    def part(self, part: Addressed) -> int:
        """As it will be said."""
        tokens = super().part(part)
        if isinstance(part, Reasoning) and part.extra:
            sealed = part.extra.get("encrypted_content")
            tokens += -(-len(sealed) // _SEALED) if isinstance(sealed, str) else 0
        return tokens

    def envelope(self, fact: Fact) -> int:
        """With what mending may add."""
        tokens, count = super().envelope(fact), self.count
        if isinstance(fact, Assistant):
            if not fact.parts and not fact.calls:  # spoken, in another dialect: only a placeholder can say so
                tokens += _LEFT_OUT
            if fact.dialect == NAME:
                for call in fact.calls:
                    tokens += max(0, count(safe_name(call.name)) - count(call.name)) + self._relabelled(call.id)
        elif isinstance(fact, ToolResult) and fact.dialect == NAME:
            tokens += self._relabelled(fact.call)
        return tokens

    def _relabelled(self, label: str) -> int:
        return max(0, self.count(PLACE_LABEL) - self.count(label)) if len(label) > LONGEST_LABEL else 0
