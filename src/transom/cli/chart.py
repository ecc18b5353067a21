"""A sawtooth in a terminal: window size over the calls, the budget as a line on top."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

EIGHTHS = " ▁▂▃▄▅▆▇█"
REFUSED = "×"

Heights = Sequence[int | None]
"""A window's size for each call; None where it was refused."""


def sawtooth(sizes: Heights, budget: int, *, width: int, height: int = 9) -> list[str]:
    """The lines of the chart, none wider than `width`. With more calls than columns a column shows its largest."""
    label = f"{budget:,}"
    pad = len(label)
    columns = _columns(sizes, max(8, width - pad - 2))
    top = max(budget, *(size or 0 for size in columns))
    heights = [None if size is None else max(1, size * height * 8 // top) for size in columns]
    lines = [f"{label} ┬{'─' * len(columns)}"]
    for row in range(height - 1, -1, -1):
        lines.append(f"{'':{pad}} │{''.join(_cell(tall, row) for tall in heights)}".rstrip())
    last = f"call {len(sizes):,}"
    axis = f"call 1{last:>{max(1, len(columns) - 6)}}" if len(columns) > 8 + len(last) else last
    return [*lines, f"{0:>{pad}} ┴{'─' * len(columns)}", f"{'':{pad}}  {axis}"]


def _cell(tall: int | None, row: int) -> str:
    if tall is None:
        return REFUSED if row == 0 else " "
    return EIGHTHS[min(8, max(0, tall - 8 * row))]


def _columns(sizes: Heights, width: int) -> list[int | None]:
    """As many calls a column, or columns a call, as make them fit."""
    if len(sizes) <= width:
        return [size for size in sizes for _ in range(min(4, width // max(1, len(sizes))))]
    edges = [at * len(sizes) // width for at in range(width + 1)]
    groups = (sizes[a:b] for a, b in pairwise(edges))
    return [max((size for size in group if size is not None), default=None) for group in groups]
