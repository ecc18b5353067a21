"""Searches a log, or a part of it, for the lines that match a pattern. The size of the answer is limited.

The text of a match is escaped, so that it cannot look like the next match. Calls of the readback tools and their
results are not searched, because they only repeat other entries; unless the reference names such an entry alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.log import Log
from transom.core.message import Assistant
from transom.quoting import escaped
from transom.readback.pages import MAX_BYTES, Start, line_offset, take_fitting
from transom.readback.patterns import Pattern, compile_pattern, matching_lines
from transom.readback.readable_entries import ReadableEntry, readable_entries
from transom.readback.references import Reference, resolve
from transom.texts import READ_BACK

MAX_MATCHES = 50
MAX_CONTEXT = 10
"""The most lines that are shown before, and after, a match."""
LINE_WIDTH = 500
"""The most characters of a line in the answer. Of a longer line the part around the match is shown."""


class Match(Struct, frozen=True, kw_only=True):
    """A line that matches, as it is shown: escaped, and of a long line only the part around the match.

    `entry`: the seq of its entry. `reference`: names the entry, or the part of it that was searched. `line`, `column`:
    where the first match in the line begins, both from 1, in the text of `reference`. `before`, `after`: the lines
    around it, shown in the same way.
    """

    entry: int
    reference: str
    line: int
    column: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        lines = [*self.before, self.text, *self.after]
        numbers = range(self.line - len(self.before), self.line + 1 + len(self.after))
        marks = (": " if number == self.line else "-  " for number in numbers)
        rows = zip(numbers, marks, lines, strict=True)
        return "\n".join(f"{self.reference}:{number}{mark}{text}" for number, mark, text in rows)


class GrepResult(Struct, frozen=True):
    """The lines that match. `reference`: what was searched; empty for an empty log. `next`: where a search for the rest
    begins, at the first match that was left out: the next `reference` and `start` of `grep`. None if there was room for
    all."""

    reference: str
    matches: tuple[Match, ...]
    """In the order of the log."""
    next: Start | None = None

    @property
    def quoted_entries(self) -> list[int]:
        """The seqs of the entries that it has lines of, each once, in the order of the log."""
        return list(dict.fromkeys(match.entry for match in self.matches))

    def __str__(self) -> str:
        where = f" in {self.reference}" if self.reference else ""
        more = f"; more: {self.next}" if self.next is not None else ""
        lines = "line" if len(self.matches) == 1 else "lines"
        header = f"[{len(self.matches):,} matching {lines}{where}{more}]"
        if not self.matches:
            return header
        separator = "\n--\n" if any(match.before or match.after for match in self.matches) else "\n"
        return f"{header}\n{separator.join(map(str, self.matches))}"


def grep(
    log: Log,
    pattern: str,
    reference: Reference | str | None = None,
    start: int = 1,
    limit: int = MAX_MATCHES,
    context: int = 0,
    max_bytes: int = MAX_BYTES,
    *,
    include_hidden: bool = False,
) -> GrepResult:
    """Find the first `limit` lines that match a pattern, in the whole log or in what `reference` names.

    - `pattern`: in RE2 syntax, matched within a line.
    - `reference`: None for the whole log. In more than one entry, calls of the readback tools (`transom_read`, …) and
      their results are not searched.
    - `start`: the line of the first entry that is searched to begin at, from 1. `context`: lines to return before and
      after each match, at most 10.
    - `limit`: 50 if not given. `max_bytes`: of all matches together in UTF-8, 20,000 if not given; below 200 it counts
      as 200. A first match is always given, whatever they say.
    - `include_hidden`: also search entries that are kept out of context.

    Time is linear in the text. No match, and an empty log, give a result without matches. Raises InvalidSetting if the
    pattern does not compile (see `compile_pattern`), if `reference` is no reference or names no entry of the log, if
    the first entry that is searched has no line `start`, or if one of its entries lacks the part that it names.
    """
    compiled = compile_pattern(pattern)
    if not len(log) and reference is None:
        return GrepResult("", ())
    where = resolve(log, reference or Reference(0, len(log) - 1))
    context = min(context, MAX_CONTEXT)
    searched = (
        readable
        for readable in readable_entries(log, where, include_hidden=include_hidden)
        if where.first == where.last or not _is_readback(readable)
    )
    found = (
        match
        for at, readable in enumerate(searched)
        for match in _matches(readable, compiled, start if at == 0 else 1, context)
    )
    matches, left_over = take_fitting(found, limit, max_bytes)
    next_start = None if left_over is None else Start(str(where.starting_at(left_over.entry)), left_over.line)
    return GrepResult(str(where), matches, next_start)


def _is_readback(readable: ReadableEntry) -> bool:
    """Whether an entry is a turn that calls readback tools and no others, or the result of such a call."""
    turn = readable.entry.body
    tools = {call.name for call in turn.calls} if isinstance(turn, Assistant) else {readable.tool}
    return bool(tools) and tools <= READ_BACK


def _matches(readable: ReadableEntry, pattern: Pattern, start: int, context: int) -> Iterator[Match]:
    text = readable.text()
    data = text.encode("utf-8")
    begin = len(text[: line_offset(text, start, readable.reference)].encode("utf-8"))
    lines: list[bytes] = []
    for found in matching_lines(data, pattern, start, begin):
        lines = lines or data.split(b"\n")
        line, offset = lines[found.line - 1], found.match_begin - found.begin
        yield Match(
            entry=readable.entry.seq,
            reference=str(readable.reference),
            line=found.line,
            column=len(line[:offset].decode("utf-8", "ignore")) + 1,
            text=_shortened(line, offset),
            before=tuple(map(_shortened, lines[max(0, found.line - 1 - context) : found.line - 1])),
            after=tuple(map(_shortened, lines[found.line : found.line + context])),
        )


def _shortened(line: bytes, offset: int = 0) -> str:
    """Return a line, escaped; of a line of more than 500 characters the part around byte `offset`, with marks where it
    is cut."""
    left = line[max(0, offset - 4 * LINE_WIDTH) : offset].decode("utf-8", "ignore")
    right = line[offset : offset + 4 * LINE_WIDTH].decode("utf-8", "ignore")
    right = right[: LINE_WIDTH - min(len(left), LINE_WIDTH // 3)]
    left = left[max(0, len(left) + len(right) - LINE_WIDTH) :]
    cut_before, cut_after = offset > len(left.encode()), offset + len(right.encode()) < len(line)
    return "…" * cut_before + escaped((left + right).removesuffix("\r")) + "…" * cut_after
