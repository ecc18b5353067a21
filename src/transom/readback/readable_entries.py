"""What of an entry can be read back, as one text.

The text of an entry with a single text part is that part, byte for byte. If an entry has several parts, a line in front
of each names it as a reference does: `[text 0]`, `[args 1 of sh]`. Media have no text, only this line, which says what
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
from transom.errors import InvalidSetting, shorten
from transom.quoting import plain_name
from transom.readback.references import Reference

CALL_SEARCH = 256
"""The most entries before a result that are searched for its call. Usually the call is in the entry just before it."""


class ReadablePart(NamedTuple):
    """One part of an entry. `address`: None if no reference can name the part, such as the text of a fold. `title`: the
    name of the part in the line above it. `text`: None for media."""

    address: Address | None
    title: str
    text: str | None


class ReadableEntry(NamedTuple):
    """An entry that has something to read.

    `role`: the role of its message; for an entry without a message the kind of the entry, such as "fold". `tool`: for a
    result the name of its tool, empty if it is not known; for any other entry empty. `reference`: names the entry, or
    the one part of it that is to be read.
    """

    entry: Entry
    role: str
    tool: str
    reference: Reference

    def text(self) -> str:
        """Return the text of what `reference` names, with lone surrogates replaced by "?". A single text part is given
        as it is. If there are several parts, each stands under a line with its name, such as "[text 0]"; media have
        only this line.

        Raises InvalidSetting if the entry does not have the part that `reference` names.
        """
        address = self.reference.part
        parts = [part for part in readable_parts(self.entry.body) if address in {None, part.address}]
        if not parts:
            addresses = (part.address for part in readable_parts(self.entry.body))
            names = ", ".join(f"{kind} {index}" for kind, index in filter(None, addresses))
            raise InvalidSetting(f"there is no {self.reference}: it has {shorten(names, 400) or 'no parts'}")
        first = parts[0]
        is_bare = address is not None or first.address is None or first.address[0] == "text"
        if len(parts) == 1 and first.text is not None and is_bare:
            return replace_surrogates(first.text)
        return replace_surrogates("\n".join(map(_under_its_title, parts)))


def _under_its_title(part: ReadablePart) -> str:
    return f"[{part.title}]" if part.text is None else f"[{part.title}]\n{part.text}"


def readable_entries(log: Log, reference: Reference, *, include_hidden: bool) -> Iterator[ReadableEntry]:
    """Yield the entries of a range that have something to read: facts, heads and folds, in order.

    `reference`: must lie within the log. `include_hidden`: also yield entries that are kept out of context, which no
    model may read.
    """
    for seq in range(reference.first, reference.last + 1):
        entry = log[seq]
        body = entry.body
        if (include_hidden or not is_hidden(entry)) and any(readable_parts(body)):
            yield ReadableEntry(entry, m.role_of(body), tool_of(log, entry), Reference(seq, seq, reference.part))


def is_hidden(entry: Entry) -> bool:
    """True if an entry is kept out of context (`include_in_context` is false): no model ever reads it."""
    return entry.meta is not None and not entry.meta.include_in_context


def readable_parts(body: Body) -> Iterator[ReadablePart]:
    """Yield the parts of an entry that can be read back.

    - Of a fact: each of its parts, a text of its own that is no part, and the texts of the extra fields that are sent.
      Media have a title, but None as text.
    - Of a head: the texts of its messages, without the tools.
    - Of a fold: its text. Other edits, and traces, have nothing.
    """
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
        return ReadablePart(address, f"{title} of {plain_name(part.name)}", part.args)
    if isinstance(part, m.Media):
        return ReadablePart(address, f"{title}: {part_bytes(part):,} bytes, not text", None)
    return ReadablePart(address, title, plain(part.raw).decode("utf-8"))


def tool_of(log: Log, entry: Entry) -> str:
    """Return the name of the tool that a result is from.

    It stands in the meta data of the entry, or in the call that the result answers. Empty if the entry is no result, or
    if the meta data do not say it and the call is not among the 256 entries (`CALL_SEARCH`) before the result.
    """
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
