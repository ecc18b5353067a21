"""Spans of a text: pairs of character positions."""

from __future__ import annotations

from collections.abc import Iterable

from transom.core.edit import Span


def joined(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that touch as one."""
    whole: list[Span] = []
    for start, end in sorted(spans):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole
