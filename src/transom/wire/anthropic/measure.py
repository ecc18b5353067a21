"""How Messages requests are counted: never less than what is sent.

Placeholders, labels and marks that rendering may put in are counted where a fact could need them.
"""

from __future__ import annotations

from typing import Any

from transom.core import texts
from transom.core.edit import Fold
from transom.core.entry import Body
from transom.core.message import Addressed, Assistant, Fact, Instruction, Media, Other, Text, ToolResult, said, texts_in
from transom.core.tokens import MESSAGE_TOKENS, TokenCounter
from transom.wire.anthropic.words import EMPTY, MESSAGES, NAME, is_blank, is_label, is_name
from transom.wire.foreign import Adopting
from transom.wire.naming import PLACE_LABEL, safe_name


class Counting(Adopting):
    """The formula of `Measure`, and what the API's own rules add to it."""

    def __init__(self, counter: TokenCounter) -> None:
        super().__init__(counter, NAME, objects=True)
        self._empty, self._place = self.count(EMPTY), self.count(PLACE_LABEL)
        self._part = self.count(texts.left_out("part"))

    def body(self, body: Body, shown: Addressed | None = None) -> tuple[int, ...]:
        """A fold without words gets a placeholder."""
        if isinstance(body, Fold) and is_blank(body.text):
            return (MESSAGE_TOKENS + max(self._empty, self.count(body.text)),)
        return super().body(body, shown)

    def part(self, part: Addressed) -> int:
        """A blank text, or a part we do not know, may become a placeholder; a document may hold its text openly."""
        tokens = super().part(part)
        if isinstance(part, Other):
            return max(self._part, tokens)
        if isinstance(part, Text) and is_blank(part.text):
            return max(self._empty, tokens)
        if isinstance(part, Media) and _is_open(part):
            return max(tokens, sum(map(self.count, texts_in(part.raw))))
        return tokens

    def envelope(self, fact: Fact) -> int:
        """With what may have to be added to the fact."""
        tokens = super().envelope(fact)
        if isinstance(fact, Assistant):
            tokens += self._turn(fact)
        elif isinstance(fact, ToolResult):
            if fact.dialect == NAME:  # the call it answers may be another dialect's, or have an id that needs mending
                tokens += max(0, self._place - self.count(fact.call))
            tokens += self._empty if fact.failed and not fact.parts else 0
        elif isinstance(fact, Instruction):
            # a word of it may begin with the mark's last blank and then need one token more
            tokens += self.count(texts.instruction(fact.role, "")) + 1
        elif is_blank(said(fact)) and not fact.parts:
            tokens += self._empty
        return tokens

    def _turn(self, turn: Assistant) -> int:
        """Placeholders, ids and names, and the other messages it came in."""
        tokens = self._empty if not turn.parts and not turn.calls else 0
        if turn.dialect != NAME:
            return tokens
        for call in turn.calls:
            if not is_label(call.id):
                tokens += max(0, self._place - self.count(call.id))
            if not is_name(call.name):
                tokens += max(0, self.count(safe_name(call.name)) - self.count(call.name))
        sizes: list[Any] = (turn.extra or {}).get(MESSAGES) or [0]
        return tokens + MESSAGE_TOKENS * (len(sizes) - 1)


def _is_open(part: Media) -> bool:
    source: Any = part.raw.get("source")
    return isinstance(source, dict) and source.get("type") in {"text", "content"}  # pyright: ignore[reportUnknownMemberType]
