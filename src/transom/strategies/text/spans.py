"""Spans of a text: pairs of character positions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from transom.core.edit import Span


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans in order. Those that touch or overlap become one."""
    whole: list[Span] = []
    for start, end in sorted(spans):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def without(span: Span, others: Iterable[Span]) -> Iterator[Span]:
    """Yield what is left of a span without the others, in order."""
    start, stop = span
    for first, last in sorted(others):
        if start < first:
            yield start, min(first, stop)
        start = max(start, last)
        if start >= stop:
            return
    if start < stop:
        yield start, stop
