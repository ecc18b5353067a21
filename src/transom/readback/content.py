"""The text of an entry that can be read back.

An entry with one text part is that text, byte for byte. An entry with several parts is a text in which each part
follows a line that names it as a reference does: `[text 0]`, `[args 1 of sh]`. Media have no text: their line says what
they are.
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
from transom.core.pairing import is_answered
from transom.core.tokens import SENT_EXTRAS, part_bytes, replace_surrogates
from transom.errors import InvalidSetting
from transom.readback.references import Reference

CALL_SEARCH = 256
"""How many entries before a result are searched for its call. Usually the call is the entry just before it."""


class ReadablePart(NamedTuple):
    """One part of an entry: its address if it has one, the title that names it, and its text (None for media)."""

    address: Address | None
    title: str
    text: str | None


class ReadableEntry(NamedTuple):
    """An entry with something to read. `role`: what it is; `tool`: for a result, the tool that it is from.

    `reference` names the entry, or the one part of it that is to be read.
    """

    entry: Entry
    role: str
    tool: str
    reference: Reference

    def text(self) -> str:
        """The whole text, with lone surrogates replaced. Raises InvalidSetting if the entry has no such part."""
        address = self.reference.part
        parts = [part for part in readable_parts(self.entry.body) if address in {None, part.address}]
        if not parts:
            addresses = (part.address for part in readable_parts(self.entry.body))
            names = ", ".join(f"{kind} {index}" for kind, index in filter(None, addresses))
            raise InvalidSetting(f"there is no {self.reference}: it has {names[:400] or 'no parts'}")
        first = parts[0]
        is_bare = address is not None or first.address is None or first.address[0] == "text"
        if len(parts) == 1 and first.text is not None and is_bare:
            return replace_surrogates(first.text)
        return replace_surrogates("\n".join(map(_under_its_title, parts)))


def _under_its_title(part: ReadablePart) -> str:
    return f"[{part.title}]" if part.text is None else f"[{part.title}]\n{part.text}"


def readable_entries(log: Log, reference: Reference, *, include_hidden: bool) -> Iterator[ReadableEntry]:
    """The entries of a reference that have something to read: facts, heads and folds.

    `include_hidden`: also the entries that are kept out of context, and so are for people only.
    """
    for seq in range(reference.first, reference.last + 1):
        entry = log[seq]
        body = entry.body
        if (include_hidden or not is_hidden(entry)) and any(readable_parts(body)):
            role = m.role_of(body) if isinstance(body, m.Fact) else type(body).__name__.lower()
            yield ReadableEntry(entry, role, tool_of(log, entry), Reference(seq, seq, reference.part))


def is_hidden(entry: Entry) -> bool:
    """Whether an entry is kept out of context: no model ever reads it."""
    return entry.meta is not None and not entry.meta.include_in_context


def readable_parts(body: Body) -> Iterator[ReadablePart]:
    """The parts of an entry. Of the edits only a fold has one, its text; traces have none."""
    if isinstance(body, Fold):
        yield ReadablePart(None, "fold", body.text)
    elif isinstance(body, m.Head):
        for message in body.messages:
            parts = readable_parts(message)
            yield from (ReadablePart(None, message.role, part.text) for part in parts if part.text)
    elif isinstance(body, m.Fact):
        for address, part in m.addressed_parts(body):
            yield _readable_part(address, part)
        if own := m.own_text(body) or getattr(body, "text", ""):
            yield ReadablePart(None, m.role_of(body), own)
        for key in SENT_EXTRAS:
            for text in m.strings_in((body.extra or {}).get(key)):
                yield ReadablePart(None, key, text)


def _readable_part(address: Address, part: m.Addressed) -> ReadablePart:
    title = f"{address[0]} {address[1]}"
    if isinstance(part, (m.Text, m.Reasoning)):
        return ReadablePart(address, title, part.text)
    if isinstance(part, m.Call):
        return ReadablePart(address, f"{title} of {escaped(part.name)[:80]}", part.args)
    if isinstance(part, m.Media):
        return ReadablePart(address, f"{title}: {part_bytes(part):,} bytes, not text", None)
    return ReadablePart(address, title, plain(part.raw).decode("utf-8"))


def tool_of(log: Log, entry: Entry) -> str:
    """The name of the tool that a result is from; empty if its call is not among the entries just before it."""
    result = entry.body
    if not isinstance(result, m.ToolResult):
        return ""
    if entry.meta is not None and entry.meta.tool_name:
        return entry.meta.tool_name
    name = (result.extra or {}).get("name")
    for seq in range(entry.seq - 1, max(-1, entry.seq - 1 - CALL_SEARCH), -1):
        turn = log[seq].body
        for call in turn.calls if isinstance(turn, m.Assistant) else ():
            if call.legacy == result.legacy and is_answered(call, by=result.call, name=name):
                return call.name
    return ""


def escaped(text: str) -> str:
    """A text from outside on one line. Characters that are invisible, or that would move the cursor or change colours,
    are written as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)
