"""Spans of a text: pairs of character positions."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from transom.core.edit import Span


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans in the order of the text, of which those that touch or overlap are joined into one."""
    whole: list[Span] = []
    for start, end in sorted(spans):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def is_in(spans: Sequence[Span], at: int) -> bool:
    """Whether the position `at` is in one of the spans; the end of a span is outside. The spans must be in order and
    must not overlap."""
    before = bisect_right(spans, at, key=itemgetter(0)) - 1
    return before >= 0 and at < spans[before][1]


def without(span: Span, others: Iterable[Span]) -> Iterator[Span]:
    """Yield the pieces of a span that are in none of the `others`, in order. The others may overlap, and may come in
    any order."""
    start, stop = span
    for first, last in sorted(others):
        if start < first:
            yield start, min(first, stop)
        start = max(start, last)
        if start >= stop:
            return
    if start < stop:
        yield start, stop
