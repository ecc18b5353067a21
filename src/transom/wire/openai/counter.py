"""Counts the tokens of facts as they are sent to the Chat Completions API."""

from __future__ import annotations

from transom import texts
from transom.core.message import Fact, Media, ToolResult
from transom.core.tokens import MESSAGE_TOKENS
from transom.wire.dialect_counter import DialectCounter


class ChatCounter(DialectCounter):
    """Counts for the chat API, with the user message that holds the images and files of a turn's results."""

    moves_media = True

    def count_envelope(self, fact: Fact) -> int:
        """The tokens beside the parts: for a result with images or files also their user message, and what stands for
        them in the result."""
        tokens = super().count_envelope(fact)
        moved = [part.media for part in fact.parts if isinstance(part, Media)] if isinstance(fact, ToolResult) else []
        if not moved:
            return tokens
        marks = sum(self.count(texts.moved_media(kind, 999)) for kind in moved)
        return tokens + MESSAGE_TOKENS + self.count(texts.MOVED_MEDIA) + marks
