"""The outline of a long message: every paragraph and every item of a list by its first sentence or words.

A request whose wishes are a list, and an answer with options, keep each of them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence

from transom.core.edit import Span
from transom.strategies.digest.key_sentences import Worth
from transom.strategies.digest.passages import between_words, opening

SHORTEST = (400, 240, 160, 110, 80, 60)
"""Characters of each line, about: the most with which all lines fit."""

MARK = 3
"""Characters of the mark that a line is cut."""

FEWEST = 3
"""Lines of a message from which it has an outline."""

MOST_NAMED = 8
"""Items that a reply may name."""

MOST_LINES = 100
"""Lines at the beginning of a message, and at its end, that are looked at."""

_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(
    r"\s*(?:[-*+•]\s+)?(?:\*\*)?(?:(?:Option|option|\()?\s?(\w{1,3})[.):](?:\*\*)?\s+\S|(?<=[-*+•]\s)\S)"
)
"""An item of a list, with its number or letter if it has one: "- …", "2. …", "**C)** …", "- **Option B:** …"."""
_NAMED = re.compile(r"(?<![\w'’])(?:\d{1,2}|[A-Za-z])(?![\w'’])")
"""A number or a letter by which a reply may name an item."""
_ANNOUNCES = re.compile(r"[:：]\s*\Z")
_EMPTY = re.compile(r"[\W_]*")


def outline(text: str, most: int, worth: Worth, *, ends: float = 1.0, reply: str | None = None) -> list[Span] | None:
    """The spans of a message in about so many characters: the beginning of each line. If not all of them fit, the most
    relevant ones are chosen first; `ends`: how many times the worth of another line its first and last line have.

    `reply`: what the user answers to it in a few words. Then the items that it names ("c", "2 and 3") come before all
    others, its ends and the other items next, later lines before earlier ones.

    Code between fences is left out, and so are rules and empty lines. If the ends count no more than other lines, a
    line that only announces the next one ("There are two issues:") is left out without it, unless nothing else was
    chosen. None if the message has too few lines for an outline.
    """
    lines = _lines(text)
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
    if reply is None:
        order = worth.ranked(text, spans, ends)
    else:
        named = frozenset(one.lower() for one in _NAMED.findall(reply)[:MOST_NAMED])
        order = sorted(range(len(lines)), key=lambda at: _rank(text, lines, at, named))
    chosen = _fitting(order, spans, lines, most)
    if ends == 1:
        with_content = _without_idle_announcements(text, lines, chosen)
        if len(with_content) < len(chosen):  # others fit in their place, and some of those may announce something too
            idle = {*chosen} - {*with_content}
            chosen = _fitting([at for at in order if at not in idle], spans, lines, most)
            with_content = _without_idle_announcements(text, lines, chosen)
        chosen = with_content
    return [spans[at] for at in sorted(chosen)]


def _without_idle_announcements(text: str, lines: Sequence[Span], chosen: Sequence[int]) -> Sequence[int]:
    """These lines, without those that only announce a next line that is not among them. All of them if none would be
    left."""
    kept: list[int] = []
    for at in sorted(chosen, reverse=True):
        if not _ANNOUNCES.search(text, *lines[at]) or (kept and kept[-1] == at + 1):
            kept.append(at)
    return kept or chosen


def _fitting(order: Sequence[int], spans: Sequence[Span], lines: Sequence[Span], most: int) -> list[int]:
    """As many of these lines as fit into so many characters, at least one."""
    chosen: list[int] = []
    for at in order:
        most -= _length([spans[at]], [lines[at]])
        if most < 0 and chosen:
            break
        chosen.append(at)
    return chosen


def _lines(text: str) -> list[Span]:
    """The lines that say something. Left out are code between fences, and a line that only announces it."""
    found: list[Span] = []
    at, in_code = 0, False
    for line in text.splitlines(keepends=True):
        is_fence = bool(_FENCE.match(line))
        if is_fence and not in_code and len(found) > 1 and _ANNOUNCES.search(text, *found[-1]):
            found.pop()
        if not is_fence and not in_code and not _EMPTY.fullmatch(line):
            found.append((at, at + len(line)))
        in_code ^= is_fence
        at += len(line)
    return found


def _beginning(text: str, line: Span, length: int) -> Span:
    """The first sentence or words of a line; all of it if little more is left."""
    start, stop = line
    end = start + opening(text[start:stop], length)
    if end - start > 2 * length:
        end = max(text.rfind(" ", start + length, start + 2 * length), between_words(text, start + length))
    return (start, stop) if stop - end < length // 3 else (start, end)


def _length(spans: Sequence[Span], lines: Sequence[Span]) -> int:
    """The characters of these beginnings of lines, with a mark for each that is cut."""
    return sum(end - start + MARK * (end < stop) for (start, end), (_, stop) in zip(spans, lines, strict=True))


def _rank(text: str, lines: Sequence[Span], at: int, named: Container[str]) -> tuple[bool, bool, bool, int]:
    """Which lines of a message that is answered in a few words come first: the items that the answer names, the first
    and the last line, the items of lists, then the last ones."""
    start, stop = lines[at]
    item = _ITEM.match(text, start, stop)
    is_end = at in {0, len(lines) - 1}
    is_named = item is not None and item[1] is not None and item[1].lower() in named
    return not is_named, not is_end, not item, -at
