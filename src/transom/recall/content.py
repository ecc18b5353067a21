"""What there is to read in an entry, as one text of lines.

An entry of one text is that text, byte for byte. Where there are several parts each stands under a line that names it,
in the words of a reference: `[text 0]`, `[args 1 of sh]`. Media have no text; their line says what they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.codec import plain
from transom.core.edit import Fold
from transom.core.entry import Body, Entry
from transom.core.log import Log
from transom.core.message import (
    Address,
    Addressed,
    Assistant,
    Call,
    Fact,
    Head,
    Media,
    Reasoning,
    Text,
    ToolResult,
    addressed,
    role_of,
    said,
    texts_in,
)
from transom.core.tokens import SENT_EXTRAS, clean, part_bytes
from transom.errors import InvalidSetting
from transom.recall.references import Reference

LOOK_BACK = 256
"""Entries that are looked at for the call of a result; it stands just before it, or the result is a stray one."""


class Piece(Struct, frozen=True):
    """One part to read: where it is, if it has an address, the line that names it, and its text (None: media)."""

    part: Address | None
    title: str
    text: str | None


def content(body: Body, part: Address | None = None) -> str | None:
    """All there is to read in an entry, or one part of it; None if there is none. Lone surrogates are replaced."""
    found = [piece for piece in pieces(body) if part is None or piece.part == part]
    if not found:
        return None
    if len(found) == 1 and found[0].text is not None and (part is not None or _is_plain(found[0])):
        return clean(found[0].text)
    lines = (f"[{piece.title}]" if piece.text is None else f"[{piece.title}]\n{piece.text}" for piece in found)
    return clean("\n".join(lines))


def _is_plain(piece: Piece) -> bool:
    """Text that needs no title when it stands alone."""
    return piece.part is None or piece.part[0] == "text"


def pieces(body: Body) -> Iterator[Piece]:
    """The parts of an entry. Of edits only a fold's text is there to read, of traces nothing."""
    if isinstance(body, Fold):
        yield Piece(None, "fold", body.text)
    elif isinstance(body, Head):
        for message in body.messages:
            yield from (Piece(None, message.role, piece.text) for piece in pieces(message) if piece.text)
    elif isinstance(body, Fact):
        for address, part in addressed(body):
            yield _piece(address, part)
        if own := said(body) or getattr(body, "text", ""):
            yield Piece(None, role_of(body), own)
        for key in SENT_EXTRAS:
            for text in texts_in((body.extra or {}).get(key)):
                yield Piece(None, key, text)


def _piece(address: Address, part: Addressed) -> Piece:
    title = f"{address[0]} {address[1]}"
    if isinstance(part, (Text, Reasoning)):
        return Piece(address, title, part.text)
    if isinstance(part, Call):
        return Piece(address, f"{title} of {escaped(part.name)[:80]}", part.args)
    if isinstance(part, Media):
        return Piece(address, f"{title}: {part_bytes(part):,} bytes, not text", None)
    return Piece(address, title, plain(part.raw).decode("utf-8"))


def part_text(body: Body, reference: Reference) -> str | None:
    """What a reference to one entry names. Raises InvalidSetting if there is no such part."""
    text = content(body, reference.part)
    if text is None and reference.part is not None:
        there = ", ".join(f"{piece.part[0]} {piece.part[1]}" for piece in pieces(body) if piece.part is not None)
        raise InvalidSetting(f"there is no {reference}: it has {there[:400] or 'no parts'}")
    return text


def is_hidden(entry: Entry) -> bool:
    """Kept for people, never for the model."""
    return entry.meta is not None and not entry.meta.include_in_context


def kind_of(body: Body) -> str:
    """A fact's role, or what an entry is by its type."""
    return role_of(body) if isinstance(body, Fact) else type(body).__name__.lower()


def walk(log: Log, reference: Reference) -> Iterator[tuple[Entry, str]]:
    """The entries of a range, each with the tool whose answer it is, or nothing."""
    calls: dict[str, str] = {}
    for seq in range(reference.first, reference.last + 1):
        entry = log[seq]
        if isinstance(entry.body, Assistant) and entry.body.calls:
            calls = _names(entry.body)
        if isinstance(entry.body, ToolResult):
            yield entry, calls.get(entry.body.call) or tool_of(log, entry)
        else:
            yield entry, ""


def tool_of(log: Log, entry: Entry) -> str:
    """The tool that a result comes from, or nothing if its call is not to be found just before it."""
    result = entry.body
    if not isinstance(result, ToolResult):
        return ""
    if entry.meta is not None and entry.meta.tool_name:
        return entry.meta.tool_name
    for seq in range(entry.seq - 1, max(-1, entry.seq - 1 - LOOK_BACK), -1):
        turn = log[seq].body
        if isinstance(turn, Assistant) and result.call in (names := _names(turn)):
            return names[result.call]
    return ""


def _names(turn: Assistant) -> dict[str, str]:
    return {call.id: call.name for call in turn.calls}


def escaped(text: str) -> str:
    """A foreign text on one line: what cannot be seen, or would move or recolour what follows, is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
