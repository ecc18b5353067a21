"""What nobody reads in the output of tools, and is never quoted: data without blanks (base64, minified code, long rows
of digits), and lines that a terminal draws (control codes, spinners)."""

from __future__ import annotations

import re

from transom.core.edit import Span
from transom.strategies.text.spans import joined

SCANNED_FOR_NOISE = 200_000
"""Characters at the start of a text that are looked at."""

READABLE = 40
"""Data has fewer quotation marks and slashes than one in this many characters; JSON and paths have more."""

_NO_BLANKS = re.compile(r"(?<![!-~])(?:[!-~]{160,}+|(?:[A-Za-z0-9+/=_-]{40,}+\s++){4,})")
_FRAME = re.compile(r"[\x1b\x08\u2800-\u28ff](?:(?<!\x1b)|\[(?![\d;]{0,20}m))")


def unreadable(text: str) -> list[Span]:
    """The spans of a text that nobody reads, such as encoded data and progress bars, in order, without overlaps. Only
    the first `SCANNED_FOR_NOISE` characters are looked at, in time that is linear in their number."""
    text = text[:SCANNED_FOR_NOISE]
    spans = [found.span() for found in _NO_BLANKS.finditer(text) if _is_data(found[0])]
    end = 0
    for found in _FRAME.finditer(text):
        if found.start() >= end:  # else its line is known
            start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end()) + 1 or len(text)
            spans.append((start, end))
    return joined(spans)


def _is_data(run: str) -> bool:
    return "://" not in run and READABLE * sum(run.count(mark) for mark in "\"'/") < len(run)
