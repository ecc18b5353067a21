"""The pieces of a message for people: texts, reasoning, calls and media, long ones shortened. Never markup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.codec import plain
from transom.core.message import Assistant, Call, Fact, Media, Part, Reasoning, Text, ToolResult, own_text

MOST_SHOWN = 1_400
MOST_LINES = 24
"""The most characters and lines of a piece in a window; the rest is behind a link."""
MOST_READ = 20_000
"""The most characters of a piece in one answer about an entry."""
UNREADABLE = "(reasoning that only the provider can read)"


Kind = Literal["text", "reasoning", "call", "media", "other"]


class MessagePiece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of a message.

    `kind`: what it is. `text`: its text from character `start` on, at most as many characters as were asked for.
    `length`: the characters of the whole piece. `name`: of a call, the tool.
    """

    kind: Kind
    text: str
    length: int
    start: int = 0
    name: str = ""


def pieces(fact: Fact, start: int, most: int = MOST_READ) -> Iterator[MessagePiece]:
    """Yield the pieces of a fact, each with at most `most` characters from the character `start` on."""
    for kind, text, name in _whole_pieces(fact):
        yield MessagePiece(kind=kind, text=text[start : start + most], length=len(text), start=start, name=name)


class PieceLimit(Struct, frozen=True):
    """How much of each piece a window shows: the most characters and lines, from the first on."""

    characters: int = MOST_SHOWN
    lines: int = MOST_LINES

    def text(self, text: str) -> str:
        """The beginning of a text."""
        return "\n".join(text[: self.characters].split("\n")[: self.lines])

    def pieces(self, fact: Fact) -> Iterator[MessagePiece]:
        """Yield the pieces of a fact."""
        for kind, text, name in _whole_pieces(fact):
            yield MessagePiece(kind=kind, text=self.text(text), length=len(text), name=name)


def _whole_pieces(fact: Fact) -> Iterator[tuple[Kind, str, str]]:
    """Yield kind, text and name of each piece of a fact."""
    if isinstance(fact, Assistant):
        yield from (_thought(one) for one in fact.reasoning)
    yield from map(_part, fact.parts)
    if own := own_text(fact):
        yield "text", own, ""
    if isinstance(fact, Assistant):
        yield from map(_call, fact.calls)
    if isinstance(fact, ToolResult) and fact.synthetic and not fact.parts:
        yield "text", texts.ABORTED, ""


def _thought(thought: Reasoning) -> tuple[Kind, str, str]:
    return "reasoning", thought.text or UNREADABLE, ""


def _part(part: Part) -> tuple[Kind, str, str]:
    if isinstance(part, Text):
        return "text", part.text, ""
    if isinstance(part, Media):
        return "media", f"({part.media}, {len(plain(part.raw)):,} bytes)", ""
    return "other", plain(part.raw).decode("utf-8", "replace"), ""


def _call(call: Call) -> tuple[Kind, str, str]:
    return "call", call.args, call.name
