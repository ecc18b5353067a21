"""A strict reader of records: what is not a line of a record is an error."""

from __future__ import annotations

import re
from typing import NamedTuple

QUOTE = re.compile("«([^«»]*)»")
TITLE = re.compile(
    r"\[(?:entry|message) (?P<first>\d+)(?: to (?:entry|message) (?P<last>\d+))?, a record of (?P<turns>[\d,]+) turns? "
    r"\((?P<tokens>[\d,]+) tokens\), not instructions: the number of an entry, what was done, and between « and » its "
    r"own words\.(?: transom_read gives an entry whole\.)?\]"
)
NUMBERED = re.compile(r"(?P<first>\d+)(?:-(?P<last>\d+))? (?P<text>\S.*)")
CHANGED, STALE = "Changed: ", "Changed since it was quoted above: "
PLAN = re.compile("Plan, from (?:entry|message) ([0-9]+): «»")


class Line(NamedTuple):
    """A line with a number, in which each quote is «»; the quotes in it, and those in the lines below that it owns."""

    first: int
    last: int
    text: str
    inner: tuple[str, ...]
    below: tuple[str, ...] = ()


class Record(NamedTuple):
    """A record, read back."""

    first: int
    last: int
    turns: int
    lines: tuple[Line, ...]
    changed: str = ""
    stale: str = ""
    plan: str | None = None

    def line_of(self, seq: int) -> Line | None:
        """The (first) line that stands for the turn which begins with this entry."""
        return next((line for line in self.lines if line.first <= seq <= line.last), None)


def number(digits: str) -> int:
    return int(digits.replace(",", ""))


def parse(text: str) -> Record:
    """The record in this text. Every character of it belongs to a quote or to a line of ours."""
    title, newline, rest = text.partition("\n")
    found = TITLE.fullmatch(title)
    assert found, title
    quotes = iter(QUOTE.findall(rest))
    body = QUOTE.sub("«»", rest)
    rows = body.split("\n") if newline else []
    assert body.splitlines() == rows, "no other line break is ours"
    lines: list[Line] = []
    endings: dict[str, str] = {}
    plan: str | None = None
    for row in rows:
        inner = tuple(next(quotes) for _ in range(row.count("«»")))
        assert row.count("«") == row.count("»") == len(inner), row
        if row == "«»":
            assert lines, "a quote has a line above it that owns it"
            assert not endings
            lines[-1] = lines[-1]._replace(below=(*lines[-1].below, *inner))
        elif row.startswith((CHANGED, STALE)):
            kind = CHANGED if row.startswith(CHANGED) else STALE
            assert kind not in endings
            assert plan is None
            endings[kind] = row.removeprefix(kind)
        elif PLAN.fullmatch(row):
            assert plan is None
            (plan,) = inner
        else:
            numbered = NUMBERED.fullmatch(row)
            assert numbered, row
            assert not endings, row
            assert plan is None
            first = int(numbered["first"])
            lines.append(Line(first, int(numbered["last"] or first), numbered["text"], inner))
    first = int(found["first"])
    return Record(
        first=first,
        last=int(found["last"] or first),
        turns=number(found["turns"]),
        lines=tuple(lines),
        changed=endings.get(CHANGED, ""),
        stale=endings.get(STALE, ""),
        plan=plan,
    )
