"""What there is to read in an entry, as one text of lines.

An entry of one text is that text, byte for byte. Where there are several parts each stands under a line that names it,
in the words of a reference: `[text 0]`, `[args 1 of sh]`. Media have no text; their line says what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from transom.core import message as m
from transom.core.codec import plain
from transom.core.edit import Fold
from transom.core.entry import Body, Entry
from transom.core.log import Log
from transom.core.message import Address
from transom.core.tokens import SENT_EXTRAS, part_bytes, replace_surrogates
from transom.errors import InvalidSetting
from transom.readback.references import Reference

LOOK_BACK = 256
"""Entries that are looked at for the call of a result; it stands just before it, or the result is a stray one."""


class Piece(NamedTuple):
    """One part to read: where it is, if it has an address, the line that names it, and its text (None: media)."""

    part: Address | None
    title: str
    text: str | None


class Source(NamedTuple):
    """An entry that can be read: what it is, the tool whose answer it is, and the part that was asked for."""

    entry: Entry
    role: str
    tool: str
    reference: Reference

    def text(self) -> str:
        """All there is to read, lone surrogates replaced. Raises InvalidSetting if there is no such part."""
        part = self.reference.part
        found = [piece for piece in pieces(self.entry.body) if part in {None, piece.part}]
        if not found:
            there = ", ".join(f"{each.part[0]} {each.part[1]}" for each in pieces(self.entry.body) if each.part)
            raise InvalidSetting(f"there is no {self.reference}: it has {there[:400] or 'no parts'}")
        first = found[0]
        if len(found) == 1 and first.text is not None and (part or not first.part or first.part[0] == "text"):
            return replace_surrogates(first.text)
        lines = (f"[{piece.title}]" if piece.text is None else f"[{piece.title}]\n{piece.text}" for piece in found)
        return replace_surrogates("\n".join(lines))


def sources(log: Log, wanted: Reference, *, hidden: bool) -> Iterator[Source]:
    """What can be read of a reference: facts, heads and folds; with `hidden` also what is kept for people alone."""
    for seq in range(wanted.first, wanted.last + 1):
        entry = log[seq]
        body = entry.body
        if (hidden or not is_hidden(entry)) and any(pieces(body)):
            role = m.role_of(body) if isinstance(body, m.Fact) else type(body).__name__.lower()
            yield Source(entry, role, tool_of(log, entry), Reference(seq, seq, wanted.part))


def is_hidden(entry: Entry) -> bool:
    """Kept for people, never for the model."""
    return entry.meta is not None and not entry.meta.include_in_context


def pieces(body: Body) -> Iterator[Piece]:
    """The parts of an entry. Of edits only a fold's text is there to read, of traces nothing."""
    if isinstance(body, Fold):
        yield Piece(None, "fold", body.text)
    elif isinstance(body, m.Head):
        for message in body.messages:
            yield from (Piece(None, message.role, piece.text) for piece in pieces(message) if piece.text)
    elif isinstance(body, m.Fact):
        for address, part in m.addressed_parts(body):
            yield _piece(address, part)
        if own := m.own_text(body) or getattr(body, "text", ""):
            yield Piece(None, m.role_of(body), own)
        for key in SENT_EXTRAS:
            for text in m.strings_in((body.extra or {}).get(key)):
                yield Piece(None, key, text)


def _piece(address: Address, part: m.Addressed) -> Piece:
    title = f"{address[0]} {address[1]}"
    if isinstance(part, (m.Text, m.Reasoning)):
        return Piece(address, title, part.text)
    if isinstance(part, m.Call):
        return Piece(address, f"{title} of {escaped(part.name)[:80]}", part.args)
    if isinstance(part, m.Media):
        return Piece(address, f"{title}: {part_bytes(part):,} bytes, not text", None)
    return Piece(address, title, plain(part.raw).decode("utf-8"))


def tool_of(log: Log, entry: Entry) -> str:
    """The tool that a result comes from, or nothing if its call is not to be found just before it."""
    result = entry.body
    if not isinstance(result, m.ToolResult):
        return ""
    if entry.meta is not None and entry.meta.tool_name:
        return entry.meta.tool_name
    for seq in range(entry.seq - 1, max(-1, entry.seq - 1 - LOOK_BACK), -1):
        turn = log[seq].body
        for call in turn.calls if isinstance(turn, m.Assistant) else ():
            if call.id == result.call:
                return call.name
    return ""


def escaped(text: str) -> str:
    """A foreign text on one line: what cannot be seen, or would move or recolour what follows, is written out."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
