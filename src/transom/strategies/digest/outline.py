"""The outline of a long message: every paragraph and every item of a list by its first sentence or words, in place of
some of them whole and the rest not at all. A request whose wishes are a list, and an answer with options, keep each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from transom.core.edit import Span
from transom.strategies.digest.passages import opening

SHORTEST = (400, 240, 160, 110, 80, 60)
"""Characters of each line, about: the most with which all lines fit."""

MARK = 3
"""Characters of the mark that a line is cut."""

FEWEST = 3
"""Lines of a message from which it has an outline."""

MOST_LINES = 100
"""Lines at the beginning of a message, and at its end, that are looked at."""

_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\w{1,3}[.)])\s+\S")
_EMPTY = re.compile(r"[\W_]*")


def outline(text: str, most: int, *, from_end: bool = False) -> list[Span] | None:
    """The spans of a message in about so many characters: the beginning of each line. If not all of them fit, the items
    of its lists and its first and last lines come first; `from_end`: the last ones before the first.

    None if the message has too few lines for an outline. Code between fences is left out, and so are rules and empty
    lines.
    """
    lines = list(_lines(text))
    lines = [*lines[:MOST_LINES], *lines[max(MOST_LINES, len(lines) - MOST_LINES) :]]
    if len(lines) < FEWEST:
        return None
    spans: list[Span] = []
    for length in SHORTEST:
        if length > SHORTEST[-1] and sum(min(stop - start, length) for start, stop in lines) > 2 * most:
            continue
        spans = [_beginning(text, line, length) for line in lines]
        if _length(spans, lines) <= most:
            return spans
    order = sorted(range(len(lines)), key=lambda at: _rank(text, lines, at, from_end=from_end))
    chosen: list[int] = []
    for at in order:
        most -= _length([spans[at]], [lines[at]])
        if most < 0 and chosen:
            break
        chosen.append(at)
    return [spans[at] for at in sorted(chosen)]


def _lines(text: str) -> Iterator[Span]:
    """The lines that say something, code between fences aside."""
    at, in_code = 0, False
    for line in text.splitlines(keepends=True):
        is_fence = bool(_FENCE.match(line))
        if not is_fence and not in_code and not _EMPTY.fullmatch(line):
            yield at, at + len(line)
        in_code ^= is_fence
        at += len(line)


def _beginning(text: str, line: Span, length: int) -> Span:
    """The first sentence or words of a line; all of it if little more is left."""
    start, stop = line
    end = start + opening(text[start:stop], length)
    if end - start > 2 * length:
        end = max(text.rfind(" ", start + length, start + 2 * length), start + length)
    return (start, stop) if stop - end < length // 3 else (start, end)


def _length(spans: Sequence[Span], lines: Sequence[Span]) -> int:
    """The characters of these beginnings of lines, with a mark for each that is cut."""
    return sum(end - start + MARK * (end < stop) for (start, end), (_, stop) in zip(spans, lines, strict=True))


def _rank(text: str, lines: Sequence[Span], at: int, *, from_end: bool) -> tuple[bool, bool, int]:
    """Which lines come first: the first and the last, the items of lists, then from one end to the other."""
    is_end = at in {0, len(lines) - 1}
    return not is_end, not _ITEM.match(text, *lines[at]), -at if from_end else at
