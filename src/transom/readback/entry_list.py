"""Lists the entries that can be read back, one line for each."""

from __future__ import annotations

from msgspec import Struct

from transom.core.log import Log
from transom.core.message import Assistant
from transom.quoting import disarmed, escaped, plain_name
from transom.readback.content import ReadableEntry, readable_entries, readable_parts
from transom.readback.pages import MAX_BYTES, take_fitting
from transom.readback.references import Reference, resolve

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
    - `limit`: the most lines, but at least one. `max_bytes`: the most bytes of all lines in UTF-8; below 200 it counts
      as 200, and one line is always given.
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
        text=line if len(line) <= TEXT_WIDTH else line[: TEXT_WIDTH - 1] + "…",
    )
