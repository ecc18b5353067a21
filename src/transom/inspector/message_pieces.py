"""The pieces of a message for people: texts, reasoning, calls and media as plain text, of which the beginning is
shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from transom import texts
from transom.core.codec import plain
from transom.core.message import Assistant, Call, Fact, Media, Part, Reasoning, Text, ToolResult, own_text

CHARACTERS_IN_WINDOW = 1_400
LINES_IN_WINDOW = 24
"""The most characters and lines of a piece in a window; the rest is behind a link."""
CHARACTERS_OF_ENTRY = 20_000
"""The most characters of a piece in one answer about an entry."""
UNREADABLE = "(reasoning that only the provider can read)"


Kind = Literal["text", "reasoning", "call", "media", "other"]


class MessagePiece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of a message: a text, reasoning, a call, or the description of an image or a file.

    `text`: what is shown of the piece, from its character `start` on; of a call its arguments. `length`: how many
    characters the whole piece has. `name`: for a call, the name of the tool; "tools" for the list of tools in a head;
    else empty.
    """

    kind: Kind
    text: str
    length: int
    start: int = 0
    name: str = ""


def pieces_from(fact: Fact, start: int) -> Iterator[MessagePiece]:
    """Yield the pieces of a fact: of each at most `CHARACTERS_OF_ENTRY` (20,000) characters, from the character `start`
    on. A shorter piece has an empty text."""
    stop = start + CHARACTERS_OF_ENTRY
    for kind, text, name in whole_pieces(fact):
        yield MessagePiece(kind=kind, text=text[start:stop], length=len(text), start=start, name=name)


class PieceLimit(Struct, frozen=True):
    """How many of the first characters and lines of each piece a window shows: whichever limit is reached first."""

    characters: int = CHARACTERS_IN_WINDOW
    lines: int = LINES_IN_WINDOW

    def text(self, text: str) -> str:
        """Return the beginning of a text, within the limit. Nothing marks that the rest is missing."""
        return "\n".join(text[: self.characters].split("\n")[: self.lines])

    def pieces(self, fact: Fact) -> Iterator[MessagePiece]:
        """Yield the pieces of a fact, each within the limit."""
        for kind, text, name in whole_pieces(fact):
            yield MessagePiece(kind=kind, text=self.text(text), length=len(text), name=name)


def whole_pieces(fact: Fact) -> Iterator[tuple[Kind, str, str]]:
    """Yield the kind, the whole text and the name (of a call's tool, else empty) of each piece of a fact, in this
    order: reasoning, parts, the text that Transom wrote itself, calls."""
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
