"""Parses the text of a record: its lines with the entries that they are about, and its quotes.

It is written from the format that `strategies.record.record_text` describes, and shares no code with the writer of
records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from transom.quoting import CLOSE, OPEN
from transom.texts import GAP_IN_LINE, is_record

_NUMBER = re.compile(r"(\d[\d,]*)(?:-(\d[\d,]*))? ")


_BEFORE_OUTCOME = (": ", "+ ", "- ")
"""What stands before words that say how a call ended, or what an edit added or took away."""


_EXCERPT = re.compile(r"^\[entry (\d+), (\w+)\] (.*?)(?=\n\[(?:entry|entries) \d|\Z)", re.MULTILINE | re.DOTALL)


class RecordLine(Struct, frozen=True):
    """One line of a record, without the quotes in it. It is about the turns that begin with the entries `first` to
    `last`; both are equal for a line about one turn.
    """

    first: int
    last: int
    text: str


class Quote(Struct, frozen=True):
    """Text of a turn, word for word, and the line of the record that it is quoted under."""

    line: RecordLine
    text: str

    @property
    def first(self) -> int:
        """The entry that the quoted turn begins with."""
        return self.line.first


class Record(Struct, frozen=True):
    """A parsed record. `parts`: lines and quotes in their order.

    `endings`: the last lines, which are about all turns.
    """

    parts: tuple[RecordLine | Quote, ...] = ()
    endings: tuple[str, ...] = ()

    @property
    def lines(self) -> list[RecordLine]:
        """The lines among `parts`."""
        return [part for part in self.parts if isinstance(part, RecordLine)]

    @property
    def quotes(self) -> list[Quote]:
        """The quotes among `parts`."""
        return [part for part in self.parts if isinstance(part, Quote)]


def parsed_record(text: str) -> Record | None:
    """Parse a record, or the excerpts of the last resort. None for a text that is neither."""
    if not is_record(text):
        excerpts = tuple(_excerpts(text))
        return Record(excerpts) if excerpts else None
    parts: list[RecordLine | Quote] = []
    endings: list[str] = []
    line, at = RecordLine(-1, -1, ""), text.find("\n") + 1 or len(text)
    while at < len(text):
        if text[at] == OPEN:
            end = _end_of_quote(text, at)
            parts.append(Quote(line, text[at + 1 : end]))
            at = end + 1 + len(CLOSE)
        elif found := _NUMBER.match(text, at):
            shown, quotes, at = _line_with_quotes(text, found.end())
            line = RecordLine(_number(found[1]), _number(found[2] or found[1]), shown)
            parts += [line, *(Quote(line, piece) for quote in quotes for piece in _quoted_pieces(line, quote))]
        else:
            opened, end = text.find(OPEN, at), text.find("\n", at)
            if text.startswith("Plan, from ", at) and opened >= 0:
                end = text.find("\n", _end_of_quote(text, opened))
            end = end if end >= 0 else len(text)
            endings.append(text[at:end])
            at = end + 1
    return Record(tuple(parts), tuple(endings))


def _line_with_quotes(text: str, at: int) -> tuple[str, list[str], int]:
    """Read a line from `at` on, which is behind its number. Return the line without its quotes, the quotes, and where
    the next line begins. What stands in quotation marks behind a colon, a plus or a minus says how a call ended: it
    stays in the line."""
    shown, quotes = "", list[str]()
    while True:
        opened, end = text.find(OPEN, at), text.find("\n", at)
        end = end if end >= 0 else len(text)
        if not 0 <= opened < end:
            return (shown + text[at:end]).strip(), quotes, end + 1
        closed = _end_of_quote(text, opened)
        if text.endswith(_BEFORE_OUTCOME, 0, opened):
            shown += text[at : closed + 1]
        else:
            quotes.append(text[opened + 1 : closed])
            shown += text[at:opened]
        at = closed + 1


def _quoted_pieces(line: RecordLine, quote: str) -> list[str]:
    """A quote as a list: of a line about one turn the quote alone; of a line about several turns each of its names,
    since these may be from different turns."""
    return [quote] if line.first == line.last else quote.split(GAP_IN_LINE)


def _excerpts(text: str) -> Iterator[RecordLine | Quote]:
    """Yield excerpts under the number of their entry, as the last resort writes them: a line and a quote for each."""
    for found in _EXCERPT.finditer(text):
        line = RecordLine(int(found[1]), int(found[1]), found[2])
        yield from (line, Quote(line, found[3]))


def _end_of_quote(text: str, at: int) -> int:
    end = text.find(CLOSE, at)
    return end if end >= 0 else len(text)


def _number(digits: str) -> int:
    return int(digits.replace(",", ""))
