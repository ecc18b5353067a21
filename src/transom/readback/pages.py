"""Reading a log back, a page at a time.

A page is bounded in lines and in room: a character costs its UTF-8 bytes, so that no tokenizer makes more tokens of a
page than it has room. What it shows is the text as it was, control characters and all: only so is it worth reading.
Its first line, which no content can come before, says what it is, how much of it, and where the next page begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from transom.core.log import Log
from transom.errors import InvalidSetting
from transom.readback.content import Source, escaped, sources
from transom.readback.references import Reference, within

LINES = 200
ROOM = 20_000
"""What a page has at most, if nothing else is asked for."""
LEAST = 200
"""Bytes of text that a page has room for in any case."""

_Shown = TypeVar("_Shown")


class Start(Struct, frozen=True):
    """Where a page begins: a line of the first entry, counted from 1, and a character of it."""

    reference: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column > 1 else ""
        return f'ref "{self.reference}", start {self.line}{column}'


class Extract(Struct, frozen=True):
    """Lines `first` to `last` of the `lines` of one entry; `column` the character it begins at, `cut` its last line
    goes on."""

    reference: str
    role: str
    tool: str
    first: int
    last: int
    lines: int
    text: str
    column: int = 1
    cut: bool = False

    def __str__(self) -> str:
        """The line that stands over it, without brackets."""
        name = f"{self.reference}, {self.role}" + (f" {escaped(self.tool)[:80]}" if self.tool else "")
        which = f"line {self.first:,}" if self.first == self.last else f"lines {self.first:,} to {self.last:,}"
        part = f" from character {self.column:,}" if self.column > 1 else ""
        part += f", {len(self.text):,} characters of it" if self.cut else ""
        return f"{name}: {which} of {self.lines:,}{part}"


class Page(Struct, frozen=True):
    """What was asked for, as far as there was room; `next` is where it goes on."""

    reference: str
    extracts: tuple[Extract, ...]
    next: Start | None = None

    def __str__(self) -> str:
        go_on = f"; next page: {self.next}" if self.next is not None else ""
        if len(self.extracts) == 1 and self.extracts[0].reference == self.reference:
            return f"[{self.extracts[0]}{go_on}]\n{self.extracts[0].text}"
        bodies = [f"[{extract}]\n{extract.text}" for extract in self.extracts]
        return "\n".join([f"[{self.reference}: {len(bodies):,} shown{go_on}]", *bodies])


def read(
    log: Log,
    reference: Reference | str,
    start: int = 1,
    column: int = 1,
    lines: int = LINES,
    room: int = ROOM,
    *,
    hidden: bool = False,
) -> Page:
    """A page of an entry, a part of one, or a range of entries, from line `start` of the first, at most `lines` lines.

    `room`: bytes of text it may have. Raises InvalidSetting for a reference or a place that is not there.
    """
    wanted, go_on = within(log, reference), None
    extracts: list[Extract] = []
    for source in sources(log, wanted, hidden=hidden):
        onwards = str(wanted.onwards(source.entry.seq))
        if extracts and (lines <= 0 or room < LEAST):
            go_on = Start(onwards)
            break
        taken = _extract(source, start, column, max(1, lines), max(LEAST, room))
        extracts.append(taken)
        if taken.cut or taken.last < taken.lines:
            then = (taken.last, taken.column + len(taken.text)) if taken.cut else (taken.last + 1, 1)
            go_on = Start(onwards, *then)
            break
        lines -= taken.last - taken.first + 1
        room -= len(taken.text.encode()) + len(str(taken))
        start = column = 1
    if not extracts and wanted.first == wanted.last:
        raise InvalidSetting(f"there is nothing to read in {wanted}, which has no text or is kept out of context")
    return Page(str(wanted), tuple(extracts), go_on)


def _extract(source: Source, start: int, column: int, lines: int, room: int) -> Extract:
    """So many lines of a text as there is room for; of a first line that is too long, its first characters."""
    text = source.text()
    line = place(text, start, source.reference)
    begin = line + column - 1
    if column < 1 or begin > _line_end(text, line):
        raise InvalidSetting(f"line {start:,} of {source.reference} has no character {column:,}")
    end = _line_end(text, begin)
    while lines > 1 and end < len(text) and end - begin <= room:
        end, lines = _line_end(text, end + 1), lines - 1
    shown = prefix(text[begin:end], room)
    cut = begin + len(shown) < end and text[begin + len(shown)] != "\n"
    if cut and "\n" in shown:
        shown, cut = shown.rpartition("\n")[0], False
    last, total = start + shown.count("\n"), text.count("\n") + 1
    return Extract(str(source.reference), source.role, source.tool, start, last, total, shown, column, cut)


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def place(text: str, line: int, reference: Reference) -> int:
    """Where a line begins, counted from 1. Raises InvalidSetting if there are not so many."""
    total, at = text.count("\n") + 1, 0
    if not 1 <= line <= total:
        raise InvalidSetting(f"{reference} has no line {line:,}: it has {total:,}")
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
    return at


def prefix(text: str, room: int) -> str:
    """The longest beginning that is at most `room` UTF-8 bytes long."""
    return text[:room].encode("utf-8")[:room].decode("utf-8", "ignore")


def fitting(items: Iterable[_Shown], limit: int, room: int) -> tuple[tuple[_Shown, ...], _Shown | None]:
    """As many items as may be and have room, at least one; and the first that is left over."""
    taken: list[_Shown] = []
    room = max(LEAST, room)
    for item in items:
        room -= len(str(item).encode()) + 1
        if taken and (len(taken) >= limit or room < 0):
            return tuple(taken), item
        taken.append(item)
    return tuple(taken), None
