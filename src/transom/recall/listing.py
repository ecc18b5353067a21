"""What a log holds, a line for each entry that can be read."""

from __future__ import annotations

from msgspec import Struct

from transom.core.entry import Entry
from transom.core.log import Log
from transom.core.message import Assistant
from transom.recall.content import escaped, is_hidden, kind_of, pieces, walk
from transom.recall.reading import LEAST, ROOM
from transom.recall.references import Reference, within

ENTRIES = 50
WORDS = 80
"""Characters of an entry's text that its line shows."""


class Line(Struct, frozen=True, kw_only=True):
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
        """The lines as a reader gets them, head line first."""
        more = f"; more: first {self.next}" if self.next is not None else ""
        return "\n".join([f"[{len(self.lines):,} of {self.entries:,} entries{more}]", *map(str, self.lines)])


def list_entries(
    log: Log,
    first: int = 0,
    last: int | None = None,
    limit: int = ENTRIES,
    room: int = ROOM,
    *,
    hidden: bool = False,
) -> Listing:
    """The entries from `first` to `last` that can be read (facts, heads, folds), at most `limit`.

    Raises InvalidSetting if there is no entry `first`.
    """
    if not len(log) and first == 0:
        return Listing(0, ())
    end = len(log) - 1 if last is None else max(first, last)
    lines: list[Line] = []
    room = max(LEAST, room)
    for entry, tool in walk(log, within(log, Reference(first, end))):
        if (is_hidden(entry) and not hidden) or next(pieces(entry.body), None) is None:
            continue
        line = _line(entry, tool)
        room -= len(str(line).encode()) + 1
        if lines and (len(lines) >= limit or room < 0):
            return Listing(len(log), tuple(lines), entry.seq)
        lines.append(line)
    return Listing(len(log), tuple(lines))


def _line(entry: Entry, tool: str) -> Line:
    return Line(
        entry=entry.seq,
        role=kind_of(entry.body),
        tool=escaped(tool)[:WORDS],
        tokens=sum(entry.tokens) if entry.tokens else None,
        text=_first_words(entry),
    )


def _first_words(entry: Entry) -> str:
    """What it says, or else what it calls, on one line."""
    texts = [
        f"[{piece.title}]" if piece.text is None else piece.text[: 4 * WORDS]
        for piece in pieces(entry.body)
        if not _is_call(piece.part)
    ]
    turn = entry.body
    if isinstance(turn, Assistant) and turn.calls:
        texts.append("→ " + ", ".join(f"{call.name[:WORDS]}({call.args[: WORDS // 2]})" for call in turn.calls[:5]))
    line = escaped(" ".join(" ".join(texts).split()))
    return line if len(line) <= WORDS else line[: WORDS - 1] + "…"


def _is_call(part: tuple[str, int] | None) -> bool:
    return part is not None and part[0] in {"args", "reasoning"}
