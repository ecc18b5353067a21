"""What a log holds, a line for each entry that can be read."""

from __future__ import annotations

from msgspec import Struct

from transom.core.log import Log
from transom.core.message import Assistant
from transom.readback.content import Source, escaped, pieces, sources
from transom.readback.pages import ROOM, fitting
from transom.readback.references import Reference, within

ENTRIES = 50
WORDS = 80
"""Characters of an entry's text that its line shows."""


class Line(Struct, frozen=True):
    """An entry: its number, what it is, the tool if it is a result, its tokens if counted, its first words."""

    entry: int
    role: str
    tool: str
    tokens: int | None
    text: str

    def __str__(self) -> str:
        tool = f" {self.tool}" if self.tool else ""
        tokens = f", {self.tokens:,} tokens" if self.tokens is not None else ""
        return f"entry {self.entry}, {self.role}{tool}{tokens}: {self.text}"


class Listing(Struct, frozen=True):
    """The lines in order; `next` is the number of the entry where to go on, if there was no room for all."""

    entries: int
    lines: tuple[Line, ...]
    next: int | None = None

    def __str__(self) -> str:
        more = f"; more: first {self.next}" if self.next is not None else ""
        return "\n".join([f"[{len(self.lines):,} of {self.entries:,} entries{more}]", *map(str, self.lines)])


def list_entries(
    log: Log, first: int = 0, last: int | None = None, limit: int = ENTRIES, room: int = ROOM, *, hidden: bool = False
) -> Listing:
    """The entries from `first` to `last` that can be read, at most `limit`.

    Raises InvalidSetting if there is no entry `first`.
    """
    if not len(log) and first == 0:
        return Listing(0, ())
    asked = within(log, Reference(first, len(log) if last is None else max(first, last)))
    lines, more = fitting(map(_line, sources(log, asked, hidden=hidden)), limit, room)
    return Listing(len(log), lines, None if more is None else more.entry)


def _line(source: Source) -> Line:
    """What an entry says, or else what it calls, on one line."""
    turn, tokens = source.entry.body, source.entry.tokens
    texts = [
        f"[{title}]" if text is None else text[: 4 * WORDS]
        for part, title, text in pieces(turn)
        if part is None or part[0] not in {"args", "reasoning"}
    ]
    if isinstance(turn, Assistant) and turn.calls:
        texts.append("→ " + ", ".join(f"{call.name[:WORDS]}({call.args[: WORDS // 2]})" for call in turn.calls[:5]))
    line = escaped(" ".join(" ".join(texts).split()))
    shown = line if len(line) <= WORDS else line[: WORDS - 1] + "…"
    return Line(source.entry.seq, source.role, escaped(source.tool)[:WORDS], sum(tokens) if tokens else None, shown)
