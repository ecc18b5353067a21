"""Looking for a pattern in a whole log, or in a part of it. What comes back is bounded, a line for each match.

Foreign text is escaped here: a match is shown to be found, and no content of it can look like the next match. What
the read-back tools asked and answered is passed over unless it is named: it only repeats what stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct

from transom.core.entry import Entry
from transom.core.log import Log
from transom.core.message import Assistant
from transom.errors import InvalidSetting
from transom.recall.content import escaped, is_hidden, kind_of, part_text, walk
from transom.recall.matching import Hit, Pattern, compiled, hits
from transom.recall.reading import LEAST, ROOM, Start, place
from transom.recall.references import Reference, within
from transom.strategies.cutting import READ_BACK

MATCHES = 50
CONTEXT = 10
"""The most lines before and after a match."""
WIDTH = 500
"""Characters of a line that are shown; of a longer one those around the match."""


class Match(Struct, frozen=True, kw_only=True):
    """A line that matches, escaped, with the lines around it; `column` is the character the match begins at."""

    entry: int
    reference: str
    role: str
    tool: str
    line: int
    column: int
    text: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def __str__(self) -> str:
        where, first = self.reference, self.line - len(self.before)
        around = [f"{where}:{first + i}-  {text}" for i, text in enumerate(self.before)]
        around.append(f"{where}:{self.line}: {self.text}")
        around += [f"{where}:{self.line + 1 + i}-  {text}" for i, text in enumerate(self.after)]
        return "\n".join(around)


class Found(Struct, frozen=True):
    """The matches in order; `next` is where to look on, if there was no room for all."""

    pattern: str
    reference: str
    matches: tuple[Match, ...]
    next: Start | None = None
    literal: bool = False

    def __str__(self) -> str:
        """The matches as a reader gets them, head line first."""
        where = f" in {self.reference}" if self.reference else ""
        more = f"; more: {self.next}" if self.next is not None else ""
        how = ", taken letter for letter: regular expressions need transom[grep]" if self.literal else ""
        head = f"[{len(self.matches):,} matching lines{where}{how}{more}]"
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
        return Found(wanted.source, "", (), None, wanted.literal)
    where = within(log, Reference(0, len(log) - 1) if reference is None else reference)
    matches: list[Match] = []
    room = max(LEAST, room)
    for match in _matches(log, wanted, where, start, min(max(0, context), CONTEXT), hidden=hidden):
        room -= len(str(match).encode()) + 1
        if matches and (len(matches) >= limit or room < 0):
            go_on = Start(str(where.onwards(match.entry)), match.line)
            return Found(wanted.source, str(where), tuple(matches), go_on, wanted.literal)
        matches.append(match)
    return Found(wanted.source, str(where), tuple(matches), None, wanted.literal)


def _matches(
    log: Log, pattern: Pattern, where: Reference, start: int, context: int, *, hidden: bool
) -> Iterator[Match]:
    alone = where.first == where.last
    for entry, tool in walk(log, where):
        if (is_hidden(entry) and not hidden) or (not alone and _echoes(entry, tool)):
            continue
        text = part_text(entry.body, where) or ""
        begin = place(text, start) if entry.seq == where.first else 0
        if begin is None:
            raise InvalidSetting(f"{where} has no line {start:,}")
        data, line = text.encode("utf-8"), start if entry.seq == where.first else 1
        name = str(where if alone else Reference(entry.seq, entry.seq))
        for hit in hits(data, pattern, line, len(text[:begin].encode("utf-8"))):
            yield Match(
                entry=entry.seq,
                reference=name,
                role=kind_of(entry.body),
                tool=tool,
                line=hit.line,
                column=len(data[hit.begin : hit.span[0]].decode("utf-8", "ignore")) + 1,
                text=_around(data, hit),
                before=tuple(islice(_before(data, hit.begin), context))[::-1],
                after=tuple(islice(_after(data, hit.end), context)),
            )


def _echoes(entry: Entry, tool: str) -> bool:
    """Asks the read-back tools for something, or is what they answered."""
    turn = entry.body
    return tool in READ_BACK or (
        isinstance(turn, Assistant) and bool(turn.calls) and all(call.name in READ_BACK for call in turn.calls)
    )


def _before(data: bytes, begin: int) -> Iterator[str]:
    """The lines before one, the nearest first."""
    while begin > 0:
        end = begin - 1
        begin = data.rfind(b"\n", 0, end) + 1
        yield _opening(data, begin, end)


def _after(data: bytes, end: int) -> Iterator[str]:
    while end < len(data):
        begin = end + 1
        end = data.find(b"\n", begin)
        end = len(data) if end < 0 else end
        yield _opening(data, begin, end)


def _opening(data: bytes, begin: int, end: int) -> str:
    """The first characters of a line."""
    text = data[begin : min(end, begin + 4 * WIDTH)].decode("utf-8", "ignore")
    return _line(text[: WIDTH // 2]) + ("…" if len(text) > WIDTH // 2 else "")


def _around(data: bytes, hit: Hit) -> str:
    """A line, if it is not long, or the match with what stands around it."""
    if hit.end - hit.begin <= 4 * WIDTH:
        text = data[hit.begin : hit.end].decode("utf-8")
        if len(text) <= WIDTH:
            return _line(text)
    at = hit.span[0]
    left = data[max(hit.begin, at - 4 * WIDTH) : at].decode("utf-8", "ignore")
    right = data[at : min(hit.end, at + 4 * WIDTH)].decode("utf-8", "ignore")
    kept = left[-(WIDTH // 3) :], right[: WIDTH - WIDTH // 3]
    begun = "…" if len(kept[0]) < len(left) or at - hit.begin > 4 * WIDTH else ""
    goes_on = "…" if len(kept[1]) < len(right) or hit.end - at > 4 * WIDTH else ""
    return begun + _line("".join(kept)) + goes_on


def _line(text: str) -> str:
    return escaped(text.removesuffix("\r"))
