"""Reading a log back, a page at a time.

A page is bounded in lines and in room: a character costs its UTF-8 bytes, so that no tokenizer makes more tokens of a
page than it has room. What it shows is the text as it was, control characters and all: only so is it worth reading.
Its first line, which no content can come before, says what it is, how much of it, and where the next page begins.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.log import Log
from transom.errors import InvalidSetting
from transom.recall.content import escaped, is_hidden, kind_of, part_text, walk
from transom.recall.references import Reference, within

LINES = 200
ROOM = 20_000
"""What a page has at most, if nothing else is asked for."""
LEAST = 200
"""Bytes of text that a page has room for in any case."""


class Start(Struct, frozen=True):
    """Where a page begins: a line of the first entry, counted from 1, and a character of it."""

    reference: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column > 1 else ""
        return f'ref "{self.reference}", start {self.line}{column}'


class Extract(Struct, frozen=True, kw_only=True):
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
        """The page as a reader gets it, head line first."""
        go_on = f"; next page: {self.next}" if self.next is not None else ""
        if len(self.extracts) == 1 and self.extracts[0].reference == self.reference:
            return f"[{self.extracts[0]}{go_on}]\n{self.extracts[0].text}"
        bodies = [f"[{extract}]\n{extract.text}" for extract in self.extracts]
        return "\n".join([f"[{self.reference}: {len(bodies):,} shown{go_on}]", *bodies])


class _Source(Struct, frozen=True):
    """A text that can be read, and what it is."""

    seq: int
    reference: str
    role: str
    tool: str
    text: str


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

    Of a range only what can be read is shown: facts, heads and folds. `room`: bytes of text it may have. `hidden`:
    also what is kept for people alone. Raises InvalidSetting for a reference or a place that is not there.
    """
    wanted = within(log, reference)
    extracts: list[Extract] = []
    for source in _sources(log, wanted, hidden=hidden):
        if extracts and (lines <= 0 or room < LEAST):
            return Page(str(wanted), tuple(extracts), Start(str(wanted.onwards(source.seq))))
        taken = _extract(source, start, column, max(1, lines), max(LEAST, room))
        extracts.append(taken)
        if (then := _then(taken)) is not None:
            return Page(str(wanted), tuple(extracts), Start(str(wanted.onwards(source.seq)), *then))
        lines -= taken.last - taken.first + 1
        room -= len(taken.text.encode()) + len(str(taken))
        start = column = 1
    return Page(str(wanted), tuple(extracts))


def _then(taken: Extract) -> tuple[int, int] | None:
    """Line and character where an entry goes on, or None if it has been read to its end."""
    if taken.cut:
        return taken.last, taken.column + len(taken.text)
    return (taken.last + 1, 1) if taken.last < taken.lines else None


def _sources(log: Log, wanted: Reference, *, hidden: bool) -> Iterator[_Source]:
    """What can be read of a range. Raises InvalidSetting for one entry that cannot be."""
    alone = wanted.first == wanted.last
    for entry, tool in walk(log, wanted):
        kind = kind_of(entry.body)
        secret = is_hidden(entry) and not hidden
        text = None if secret else part_text(entry.body, wanted)
        if text is not None:
            name = wanted if alone else Reference(entry.seq, entry.seq)
            yield _Source(entry.seq, str(name), kind, tool, text)
        elif alone:
            why = "it is kept out of context" if secret else f"{kind}, which has no text"
            raise InvalidSetting(f"there is nothing to read in entry {entry.seq}: {why}")


def _extract(source: _Source, start: int, column: int, lines: int, room: int) -> Extract:
    """So many lines of a text as there is room for; of a first line that is too long, its first characters."""
    text, total = source.text, source.text.count("\n") + 1
    begin = place(text, start)
    if begin is None:
        raise InvalidSetting(f"{source.reference} has no line {start:,}: it has {total:,}")
    begin += column - 1
    if column < 1 or begin > _line_end(text, begin - column + 1):
        raise InvalidSetting(f"line {start:,} of {source.reference} has no character {column:,}")
    end = _line_end(text, begin)
    for _ in range(lines - 1):
        if end == len(text) or end - begin > room:
            break
        end = _line_end(text, end + 1)
    shown = prefix(text[begin:end], room)
    cut = begin + len(shown) < end and text[begin + len(shown)] != "\n"
    if cut and "\n" in shown:
        shown, cut = shown.rpartition("\n")[0], False
    return Extract(
        reference=source.reference,
        role=source.role,
        tool=source.tool,
        first=start,
        last=start + shown.count("\n"),
        lines=total,
        text=shown,
        column=column,
        cut=cut,
    )


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def place(text: str, line: int) -> int | None:
    """Where a line begins, counted from 1, or None if there are not so many."""
    if line < 1:
        return None
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return None
    return at


def prefix(text: str, room: int) -> str:
    """The longest beginning that is at most `room` UTF-8 bytes long."""
    return text[:room].encode("utf-8")[:room].decode("utf-8", "ignore")
