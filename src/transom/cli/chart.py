"""Draws a chart for the terminal: the size of the window at each call, with the budget as a line at the top."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

EIGHTHS = " ▁▂▃▄▅▆▇█"
REFUSED = "×"

Sizes = Sequence[int | None]
"""The size of the window at each call, in tokens; None if the call was refused."""


def sawtooth(sizes: Sizes, budget: int, *, width: int, height: int = 9) -> list[str]:
    """Draw the chart as lines of at most `width` columns. `height`: rows of the bars.

    If there are more calls than columns, a column shows the largest of its calls.
    """
    label = f"{budget:,}"
    margin = len(label)
    columns = _columns(sizes, max(8, width - margin - 2))
    top = max(budget, *(size or 0 for size in columns))
    heights = [None if size is None else max(1, size * height * 8 // top) for size in columns]
    lines = [f"{label} ┬{'─' * len(columns)}"]
    for row in range(height - 1, -1, -1):
        lines.append(f"{'':{margin}} │{''.join(_cell(eighths, row) for eighths in heights)}".rstrip())
    last = f"call {len(sizes):,}"
    axis = f"call 1{last:>{max(1, len(columns) - 6)}}" if len(columns) > 8 + len(last) else last
    return [*lines, f"{0:>{margin}} ┴{'─' * len(columns)}", f"{'':{margin}}  {axis}"]


def _cell(eighths: int | None, row: int) -> str:
    if eighths is None:
        return REFUSED if row == 0 else " "
    return EIGHTHS[min(8, max(0, eighths - 8 * row))]


def _columns(sizes: Sizes, width: int) -> list[int | None]:
    """Distribute the sizes over at most `width` columns: several columns for each call, or several calls in each
    column.
    """
    if len(sizes) <= width:
        return [size for size in sizes for _ in range(min(4, width // max(1, len(sizes))))]
    edges = [column * len(sizes) // width for column in range(width + 1)]
    groups = (sizes[a:b] for a, b in pairwise(edges))
    return [max((size for size in group if size is not None), default=None) for group in groups]
