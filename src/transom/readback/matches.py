"""Looking for a pattern in a whole log, or in a part of it. What comes back is bounded, a line for each match.

Foreign text is escaped here: a match is shown to be found, and no content of it can look like the next match. What
the read-back tools asked and answered is passed over unless it is named: it only repeats what stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from transom.core.log import Log
from transom.core.message import Assistant
from transom.readback.content import Source, escaped, sources
from transom.readback.pages import ROOM, Start, fitting, place
from transom.readback.patterns import Pattern, compiled, hits
from transom.readback.references import Reference, within
from transom.texts import READ_BACK

MATCHES = 50
CONTEXT = 10
"""The most lines before and after a match."""
WIDTH = 500
"""Characters of a line that are shown; of a longer one those around the match."""


class Match(Struct, frozen=True, kw_only=True):
    """A line that matches, escaped, with the lines around it; `column` is the character the match begins at."""

    entry: int
    reference: str
    line: int
    column: int
    text: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        lines = [*self.before, self.text, *self.after]
        at = range(self.line - len(self.before), self.line + 1 + len(self.after))
        marks = (": " if n == self.line else "-  " for n in at)
        return "\n".join(f"{self.reference}:{n}{mark}{text}" for n, mark, text in zip(at, marks, lines, strict=True))


class Found(Struct, frozen=True):
    """The matches in order; `next` is where to look on, if there was no room for all."""

    reference: str
    matches: tuple[Match, ...]
    next: Start | None = None

    def __str__(self) -> str:
        where = f" in {self.reference}" if self.reference else ""
        more = f"; more: {self.next}" if self.next is not None else ""
        lines = "line" if len(self.matches) == 1 else "lines"
        head = f"[{len(self.matches):,} matching {lines}{where}{more}]"
        between = "\n--\n" if any(match.before or match.after for match in self.matches) else "\n"
        return "\n".join([head, between.join(map(str, self.matches))]) if self.matches else head


def grep(
    log: Log,
    pattern: str,
    reference: Reference | str | None = None,
    start: int = 1,
    limit: int = MATCHES,
    context: int = 0,
    room: int = ROOM,
    *,
    hidden: bool = False,
) -> Found:
    """The first `limit` lines of the whole log, or of what `reference` names, that match, in time linear in the text.

    `pattern` is in RE2's syntax and matches within a line; `start` is the line of the first entry to begin at;
    `context` how many lines around each match to show. Raises InvalidSetting for a pattern that does not compile.
    """
    wanted = compiled(pattern)
    if not len(log) and reference is None:
        return Found("", ())
    where = within(log, reference or Reference(0, len(log) - 1))
    found = (
        match
        for source in sources(log, where, hidden=hidden)
        if where.first == where.last or not _echoes(source)
        for match in _matches(source, wanted, start if source.entry.seq == where.first else 1, min(context, CONTEXT))
    )
    matches, more = fitting(found, limit, room)
    go_on = None if more is None else Start(str(where.onwards(more.entry)), more.line)
    return Found(str(where), matches, go_on)


def _echoes(source: Source) -> bool:
    """Asks the read-back tools for something, or is what they answered."""
    turn = source.entry.body
    called = {call.name for call in turn.calls} if isinstance(turn, Assistant) else {source.tool}
    return bool(called) and called <= READ_BACK


def _matches(source: Source, pattern: Pattern, start: int, context: int) -> Iterator[Match]:
    text = source.text()
    data, begin = text.encode("utf-8"), len(text[: place(text, start, source.reference)].encode("utf-8"))
    lines: list[bytes] = []
    for hit in hits(data, pattern, start, begin):
        lines = lines or data.split(b"\n")
        line, at = lines[hit.line - 1], hit.at - hit.begin
        yield Match(
            entry=source.entry.seq,
            reference=str(source.reference),
            line=hit.line,
            column=len(line[:at].decode("utf-8", "ignore")) + 1,
            text=_shown(line, at),
            before=tuple(map(_shown, lines[max(0, hit.line - 1 - context) : hit.line - 1])),
            after=tuple(map(_shown, lines[hit.line : hit.line + context])),
        )


def _shown(line: bytes, at: int = 0) -> str:
    """A line, escaped; of a long one what stands around a place in it."""
    left = line[max(0, at - 4 * WIDTH) : at].decode("utf-8", "ignore")
    right = line[at : at + 4 * WIDTH].decode("utf-8", "ignore")[: WIDTH - min(len(left), WIDTH // 3)]
    left = left[max(0, len(left) + len(right) - WIDTH) :]
    cut = at > len(left.encode()), at + len(right.encode()) < len(line)
    return "…" * cut[0] + escaped((left + right).removesuffix("\r")) + "…" * cut[1]
