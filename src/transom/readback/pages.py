"""Reads entries of a log, one page at a time, and lists them, one line for each.

A page has a limited number of lines and of UTF-8 bytes. A text never has more tokens than bytes, so this limits its
tokens too, whatever the tokenizer. The text is what was logged, character by character. In front of it a page has a
line of its own, which names the entry, how much of it the page has, and where the next page begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from transom.core.log import Log
from transom.core.message import Assistant, ToolResult
from transom.errors import InvalidSetting, shorten
from transom.quoting import disarmed, escaped, plain_name
from transom.readback.readable_entries import ReadableEntry, readable_entries, readable_parts
from transom.readback.references import Reference, parse_reference, resolve

MAX_LINES = 200
MAX_BYTES = 20_000
"""The most lines and bytes of a page, if the caller does not say."""
MIN_BYTES = 200
"""Bytes of text that a page may always have, whatever the caller says."""

_Item = TypeVar("_Item")


class Start(Struct, frozen=True):
    """Where a page begins: at character `column` of line `line` of the first entry of `reference`. Both are counted
    from 1."""

    reference: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        column = f", column {self.column}" if self.column > 1 else ""
        return f'ref "{self.reference}", start {self.line}{column}'


class Extract(Struct, frozen=True):
    """Some lines of one entry, or of one part of it, on a page. `str` gives the line above them, without brackets.

    - `reference`: the entry or the part. `role`, `tool`: as in `ReadableEntry`. `failed`: whether the entry is the
      result of a call that failed.
    - `text`: the lines. `first`, `last`: their numbers, from 1. `lines`: how many lines the entry or the part has.
    - `column`: the character of the first line at which `text` begins, from 1. `truncated`: whether `text` ends before
      its last line does; then `text` has only this line.
    """

    reference: str
    role: str
    tool: str
    first: int
    last: int
    lines: int
    text: str
    column: int = 1
    truncated: bool = False
    failed: bool = False

    def __str__(self) -> str:
        """Return the line above the extract, without its brackets."""
        name = f"{self.reference}, {self.role}" + (f" {plain_name(self.tool)}" if self.tool else "")
        name += ", failed" if self.failed else ""
        which = f"line {self.first:,}" if self.first == self.last else f"lines {self.first:,} to {self.last:,}"
        part = f" from character {self.column:,}" if self.column > 1 else ""
        part += f", {len(self.text):,} characters of it" if self.truncated else ""
        return f"{name}: {which} of {self.lines:,}{part}"


class Page(Struct, frozen=True):
    """One page of what a reference names. `next`: where the next page begins; None if this is the last one."""

    reference: str
    """What was asked for."""
    extracts: tuple[Extract, ...]
    """In the order of the log."""
    next: Start | None = None

    @property
    def quoted_entries(self) -> list[int]:
        """The seqs of the entries that it has lines of."""
        return [parse_reference(extract.reference).first for extract in self.extracts]

    def __str__(self) -> str:
        next_page = f"; next page: {self.next}" if self.next is not None else ""
        if len(self.extracts) == 1 and self.extracts[0].reference == self.reference:
            return f"[{self.extracts[0]}{next_page}]\n{self.extracts[0].text}"
        texts = [f"[{extract}]\n{extract.text}" for extract in self.extracts]
        return "\n".join([f"[{self.reference}: {len(texts):,} shown{next_page}]", *texts])


def read(
    log: Log,
    reference: Reference | str,
    start: int = 1,
    column: int = 1,
    lines: int = MAX_LINES,
    max_bytes: int = MAX_BYTES,
    *,
    include_hidden: bool = False,
) -> Page:
    """Read one page of an entry, of a part of one, or of a range of entries.

    - `reference`: as text or parsed. A range that ends after the log ends with it.
    - `start`, `column`: the line and the character at which the page begins, both from 1. In a range they are those of
      its first entry that has something to read.
    - `lines`, `max_bytes`: the most lines and the most UTF-8 bytes of text: 200 and 20,000 if not given, and at least 1
      and 200. A line that is too long continues on the next page; `Page.next` says where that begins.
    - `include_hidden`: also read entries that are kept out of context.

    A range in which there is nothing to read gives a page without extracts. Raises InvalidSetting if `reference` is no
    reference or names no entry of the log, if the entry has no such part, line or character, or if a single entry has
    nothing to read.
    """
    where, next_start = resolve(log, reference), None
    extracts: list[Extract] = []
    for readable in readable_entries(log, where, include_hidden=include_hidden):
        rest = str(where.starting_at(readable.entry.seq))
        if extracts and (lines <= 0 or max_bytes < MIN_BYTES):
            next_start = Start(rest)
            break
        extract = _extract(readable, start, column, max(1, lines), max(MIN_BYTES, max_bytes))
        extracts.append(extract)
        if extract.truncated:
            next_start = Start(rest, extract.last, extract.column + len(extract.text))
            break
        if extract.last < extract.lines:
            next_start = Start(rest, extract.last + 1)
            break
        lines -= extract.last - extract.first + 1
        max_bytes -= len(extract.text.encode()) + len(str(extract))
        start = column = 1
    if not extracts and where.first == where.last:
        raise InvalidSetting(f"there is nothing to read in {where}: it has no text, or is kept out of context")
    return Page(str(where), tuple(extracts), next_start)


def _extract(readable: ReadableEntry, start: int, column: int, lines: int, max_bytes: int) -> Extract:
    """Return the lines of an entry from line `start` on, as many whole ones as `lines` and `max_bytes` allow. The first
    begins at character `column`; if it does not fit, its first characters are returned.

    Raises InvalidSetting if the entry has no such line or character.
    """
    text = readable.text()
    line_begin = line_offset(text, start, readable.reference)
    begin = line_begin + column - 1
    if column < 1 or begin > _line_end(text, line_begin):
        raise InvalidSetting(f"line {start:,} of {readable.reference} has no character {column:,}")
    end = _line_end(text, begin)
    while lines > 1 and end < len(text) and end - begin <= max_bytes:
        end, lines = _line_end(text, end + 1), lines - 1
    content = utf8_prefix(text[begin:end], max_bytes)
    truncated = begin + len(content) < end and text[begin + len(content)] != "\n"
    if truncated and "\n" in content:
        content, truncated = content.rpartition("\n")[0], False
    return Extract(
        reference=str(readable.reference),
        role=readable.role,
        tool=readable.tool,
        first=start,
        last=start + content.count("\n"),
        lines=text.count("\n") + 1,
        text=content,
        column=column,
        truncated=truncated,
        failed=isinstance(readable.entry.body, ToolResult) and readable.entry.body.failed,
    )


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def line_offset(text: str, line: int, reference: Reference) -> int:
    """Return the position in the text, in characters from 0, at which line `line` begins; lines are counted from 1.

    Raises InvalidSetting, naming `reference`, if the text has no such line.
    """
    total, offset = text.count("\n") + 1, 0
    if not 1 <= line <= total:
        raise InvalidSetting(f"{reference} has no line {line:,}: it has {total:,}")
    for _ in range(line - 1):
        offset = text.find("\n", offset) + 1
    return offset


def utf8_prefix(text: str, max_bytes: int) -> str:
    """Return the longest beginning of a text that has at most `max_bytes` UTF-8 bytes; no character is cut. Raises
    UnicodeEncodeError if one of the first `max_bytes` characters is a lone surrogate: replace these before
    (`replace_surrogates`)."""
    return text[:max_bytes].encode("utf-8")[:max_bytes].decode("utf-8", "ignore")


def take_fitting(items: Iterable[_Item], limit: int, max_bytes: int) -> tuple[tuple[_Item, ...], _Item | None]:
    """Take the first items: at most `limit`, with at most `max_bytes` bytes together. An item counts with its text in
    UTF-8 and a line end; fewer bytes than 200 count as 200. The first item is always taken.

    Returns the items, and the first one that was not taken (None if all were).
    """
    taken: list[_Item] = []
    free = max(MIN_BYTES, max_bytes)
    for item in items:
        free -= len(str(item).encode()) + 1
        if taken and (len(taken) >= limit or free < 0):
            return tuple(taken), item
        taken.append(item)
    return tuple(taken), None


MAX_ENTRIES = 50
TEXT_WIDTH = 80
"""The most characters of an entry's text in its line."""


class EntryLine(Struct, frozen=True):
    """An entry in a list; `str` gives its line.

    `tool`: for a result the name of its tool, else empty. `tokens`: None if they were not counted. `text`: the
    beginning of its texts and calls, without reasoning, on one line of at most 80 characters; special characters are
    escaped.
    """

    entry: int
    role: str
    tool: str
    tokens: int | None
    text: str

    def __str__(self) -> str:
        tool = f" {self.tool}" if self.tool else ""
        tokens = f", {self.tokens:,} tokens" if self.tokens is not None else ""
        return f"entry {self.entry}, {self.role}{tool}{tokens}: {self.text}"


class EntryList(Struct, frozen=True):
    """Some entries of a log, in order. `entries`: how many the log has. `lines`: a line for each that is listed.
    `next`: the seq of the first entry that there was no room for; None if there was room for all."""

    entries: int
    lines: tuple[EntryLine, ...]
    next: int | None = None

    @property
    def quoted_entries(self) -> list[int]:
        """The seqs of the entries that it has lines of."""
        return [line.entry for line in self.lines]

    def __str__(self) -> str:
        more = f"; more: first {self.next}" if self.next is not None else ""
        return "\n".join([f"[{len(self.lines):,} of {self.entries:,} entries{more}]", *map(str, self.lines)])


def list_entries(
    log: Log,
    first: int = 0,
    last: int | None = None,
    limit: int = MAX_ENTRIES,
    max_bytes: int = MAX_BYTES,
    *,
    include_hidden: bool = False,
) -> EntryList:
    """List the entries from `first` to `last` that can be read, both included, with a line for each. Others are left
    out.

    - `last`: None, and any number that is too large, means the newest; a number below `first` means `first`.
    - `limit`: the most lines, 50 if not given, but at least one. `max_bytes`: the most bytes of all lines in UTF-8,
      20,000 if not given; below 200 it counts as 200, and one line is always given.
    - `include_hidden`: also list entries that are kept out of context.

    Raises InvalidSetting if the log has no entry `first`. (An empty log gives an empty list for `first` 0.)
    """
    if not len(log) and first == 0:
        return EntryList(0, ())
    reference = resolve(log, Reference(first, len(log) if last is None else max(first, last)))
    entries = readable_entries(log, reference, include_hidden=include_hidden)
    lines, left_over = take_fitting(map(_line, entries), limit, max_bytes)
    return EntryList(len(log), lines, None if left_over is None else left_over.entry)


def _line(readable: ReadableEntry) -> EntryLine:
    """Make the line of an entry from its texts and its calls, with the beginning of their arguments. Reasoning is left
    out."""
    body, tokens = readable.entry.body, readable.entry.tokens
    texts = [
        f"[{part.title}]" if part.text is None else part.text[: 4 * TEXT_WIDTH]
        for part in readable_parts(body)
        if part.address is None or part.address[0] not in {"args", "reasoning"}
    ]
    if isinstance(body, Assistant) and body.calls:
        calls = (f"{plain_name(call.name)}({call.args[: TEXT_WIDTH // 2]})" for call in body.calls[:5])
        texts.append("→ " + ", ".join(calls))
    line = disarmed(escaped(" ".join(" ".join(texts).split())))
    return EntryLine(
        entry=readable.entry.seq,
        role=readable.role,
        tool=plain_name(readable.tool),
        tokens=sum(tokens) if tokens else None,
        text=shorten(line, TEXT_WIDTH),
    )
