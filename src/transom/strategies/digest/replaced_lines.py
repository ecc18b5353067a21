"""Whether an edit leaves quoted lines as they are: its old text is known, and is not among them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from transom.core.edit import Span
from transom.core.message import Call
from transom.strategies.digest.edit_lines import ADDED
from transom.strategies.digest.passages import REPLACED, arguments
from transom.strategies.text.spans import joined

Lines = Sequence[str]

_SECTION = re.compile(r"^\*\*\* (\w+) File: ", re.MULTILINE)
_HUNK = re.compile(r"^(?:@@|\*\*\* )[^\n]*\n", re.MULTILINE)
_PIECE = re.compile(r"[^\S\n]*\n?…\n?")


class Replaced(NamedTuple):
    """The `lines` that an edit was made on. It puts something else in place of those from `start` to `stop`; if these
    are the same, between two lines."""

    lines: Lines
    start: int
    stop: int


def replaced_lines(call: Call) -> list[Replaced] | None:
    """Where an edit or a patch puts something else; None if the call does not say what was there before."""
    values = list(arguments(call))
    if any(_SECTION.search(value) for _, value in values):
        sides = _sides_of_patch("\n".join(value for _, value in values))
    else:
        old = [value.splitlines() for key, value in values if key in REPLACED]
        new = [value.splitlines() for key, value in values if key in ADDED]
        sides = list(zip(old, new, strict=True)) if len(old) == len(new) else []
    found = [_replaced(*one) for one in sides]
    return found if found and all(one.lines for one in found) else None


def _sides_of_patch(patch: str) -> list[tuple[Lines, Lines]]:
    """The old and the new lines of each hunk; none if a file is added or deleted."""
    if any(kind != "Update" for kind in _SECTION.findall(patch)):
        return []
    hunks = [hunk.splitlines() for hunk in _HUNK.split(patch)]
    sides = ([[line[1:] for line in hunk if line[:1] in {" ", sign}] for sign in "-+"] for hunk in hunks)
    return [(old, new) for old, new in sides if old != new]


def _replaced(old: Lines, new: Lines) -> Replaced:
    """The old lines without blank ones at either end, and which of them do not stand at either end of the new ones."""
    before = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    pairs = zip(reversed(old[before:]), reversed(new[before:]), strict=False)
    stop = len(old) - sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    filled = [at for at, line in enumerate(old) if line.strip()]
    if not filled:
        return Replaced((), 0, 0)
    first, last = filled[0], filled[-1] + 1
    start, stop = (min(max(at, first), last) - first for at in (before, stop))
    return Replaced(old[first:last], start, stop)


def touches(edit: Replaced, quoted: Lines) -> bool:
    """Whether an edit may have changed quoted lines, or put something between them. The quoted lines may have numbers
    or marks in front; the first and the last line of the edit may be a part of a line. What stands beside a single
    quoted line is not known: something beside it may be between it and the next one."""
    for at in range(1 - len(edit.lines), len(quoted)):
        start, stop = max(edit.start + at, 0), min(edit.stop + at, len(quoted))
        if edit.start == edit.stop:
            start = edit.start + at
            is_inside = 0 <= start <= 1 if len(quoted) == 1 else 0 < start < len(quoted)
        else:
            is_inside = start < stop
        if is_inside and _fits(edit.lines, quoted, at):
            return True
    return False


def _fits(lines: Lines, quoted: Lines, at: int) -> bool:
    """Whether the lines of an edit may begin at this one of the quoted lines, which may be before the first of them."""
    last = len(lines) - 1
    for number in range(max(0, -at), min(len(lines), len(quoted) - at)):
        mine, other = lines[number].strip(), quoted[number + at].rstrip()
        if not (mine in other if number == last else other.endswith(mine)):
            return False
    return True


def whole_lines(text: str, spans: Sequence[Span], *, in_a_row: bool) -> Iterator[Lines]:
    """The lines of a text that these spans are in. If they stand in the file `in_a_row` too, each span gives a run of
    them; else each line is a run of its own: what a search or a diff prints are lines of different places."""
    for start, end in joined(spans):
        stop = text.find("\n", max(start, end - 1))
        lines = text[text.rfind("\n", 0, start) + 1 : stop if stop >= 0 else len(text)].splitlines()
        yield from [lines] if in_a_row else ([line] for line in lines if line.strip())


def spans_of_quotes(text: str, quotes: Sequence[str]) -> list[Span]:
    """Where those of the quotes that are of this text stand in it."""
    found: list[Span] = []
    for quote in quotes:
        pieces = [piece for piece in _PIECE.split(quote) if piece.strip()]
        spans: list[Span] = []
        at = 0
        for piece in pieces:
            start = text.find(piece, at)
            if start < 0:
                break
            at = start + len(piece)
            spans.append((start, at))
        if len(spans) == len(pieces):
            found += spans
    return sorted(found)
