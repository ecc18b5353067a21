"""Counts the tokens of facts as they are sent to the Responses API."""

from __future__ import annotations

from transom.core.message import Addressed, Assistant, Call, Fact, Raw, Reasoning, ToolResult, strings_in
from transom.wire.dialect_counter import DialectCounter
from transom.wire.responses.built_in import BUILT_IN_OUTPUTS, SCREENSHOT_TOKENS, STAND_IN, call_item, is_built_in
from transom.wire.responses.parse import DIALECT_NAME
from transom.wire.translate import safe_name

_SEALED = 5
"""Characters of encrypted reasoning for a token: four characters of base64 are three bytes, and a token is about four
bytes."""


class ResponsesCounter(DialectCounter):
    """Counts for the Responses API: reasoning with its encrypted content, calls of built-in tools with their whole
    item."""

    def messages(self, fact: Fact) -> int:
        """The items of a fact: of a turn one for each text, reasoning and call, and one more for a call of a built-in
        tool, whose output may bring a message."""
        if not isinstance(fact, Assistant):
            return 1
        return max(1, len(fact.parts) + len(fact.reasoning) + len(fact.calls) + sum(map(is_built_in, fact.calls)))

    def count_part(self, part: Addressed) -> int:
        """The tokens of a part. A call of a built-in tool counts its item, and the maximum that an output of ours costs
        beside its text."""
        if isinstance(part, Call) and is_built_in(part):
            tokens = max(super().count_part(part), self._strings(call_item(part)))
            screenshot = SCREENSHOT_TOKENS if part.name == "computer" else 0
            return tokens + STAND_IN + screenshot
        sealed = (part.extra or {}).get("encrypted_content") if isinstance(part, Reasoning) else None
        return super().count_part(part) + (-(-len(sealed) // _SEALED) if isinstance(sealed, str) else 0)

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts: with the item of a built-in tool's output, a changed tool name, or a placeholder
        for an empty turn."""
        tokens, count = super().count_envelope(fact), self.count
        if isinstance(fact, ToolResult) and fact.extra and fact.extra.get("type") in BUILT_IN_OUTPUTS:
            return tokens + self._strings(fact.extra)
        if not isinstance(fact, Assistant):
            return tokens
        if not fact.parts and not fact.calls:  # only a placeholder can say that it spoke
            return tokens + self.left_out
        own = fact.calls if fact.dialect == DIALECT_NAME else ()
        return tokens + sum(max(0, count(safe_name(call.name)) - count(call.name)) for call in own)

    def _strings(self, item: Raw) -> int:
        """The tokens of all strings in an item."""
        return sum(map(self.count, strings_in(item)))
