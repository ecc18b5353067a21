"""Draws the picture of a comparison: the cost of each policy against the share of names found in its windows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from transom import private_files
from transom.errors import InvalidSetting
from transom.extras import install_command

KINDS = (".svg", ".png")
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "transom", "font.size": 10, "font.family": "sans-serif"}
"""Settings of matplotlib: letters are written as text, not as outlines; the same results give the same bytes."""

FRONT_COLOR, REST_COLOR = "#0b6e99", "#8a8a8a"
DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
LABEL_OFFSETS = [(distance * x, distance * y) for distance in (1, 2, 3.5) for x, y in DIRECTIONS]
"""The places of a label, in steps from its point, the preferred place first."""

HORIZONTAL, VERTICAL = ("center", "left", "right"), ("center", "bottom", "top")
"""The alignments of a label whose offset is 0, above 0, below 0."""


class Point(Struct, frozen=True, kw_only=True):
    """A policy in the picture: its cost relative to sending the whole history (1.0), and its grounding, from 0 to 1.

    `refused`: it refused more calls than another policy, so its figures are of fewer calls and cannot be compared.
    """

    name: str
    cost: float
    grounding: float
    refused: bool = False


def picture_paths(path: Path) -> tuple[Path, ...]:
    """Return the files to draw: `path`, or `path` with .svg and .png if it has no suffix.

    Raises InvalidSetting for another suffix, a missing folder, a path that is a folder, or if matplotlib is not
    installed.
    """
    if path.suffix and path.suffix not in KINDS:
        raise InvalidSetting(f"--chart: a picture is .svg or .png, not {path.suffix}")
    try:
        import_module("matplotlib")
    except ImportError:
        raise InvalidSetting(f"--chart needs matplotlib: {install_command('charts')}") from None
    if not path.parent.is_dir():
        raise InvalidSetting(f"--chart: there is no folder {path.parent}")
    files = (path,) if path.suffix else tuple(path.parent / f"{path.name}{kind}" for kind in KINDS)
    if folder := next((each for each in (path, *files) if each.is_dir()), None):
        raise InvalidSetting(f"--chart: {folder} is a folder")
    return files


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the points that no other point beats in both cost and grounding, the cheapest first.

    Refusing ones are left out.
    """
    best: list[Point] = []
    for point in sorted((point for point in points if not point.refused), key=lambda one: (one.cost, -one.grounding)):
        if not best or point.grounding > best[-1].grounding:
            best.append(point)
    return best


def draw_picture(points: Sequence[Point], paths: Sequence[Path], title: str, grounding: str) -> None:
    """Draw a labelled point for each policy, and the Pareto front as a line, into each file.

    `grounding`: the label of the vertical axis. Raises OSError.
    """
    with import_module("matplotlib").rc_context(SETTINGS):
        figure: Any = import_module("matplotlib.figure").Figure(figsize=(8, 5.5), dpi=160, layout="constrained")
        axes, best = figure.subplots(), pareto_front(points)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("cost at Anthropic, relative to sending the whole history")
        axes.set_ylabel(grounding)
        percent = import_module("matplotlib.ticker").PercentFormatter(1.0)  # with as many decimals as the ticks need
        axes.yaxis.set_major_formatter(percent)
        axes.margins(x=0.12, y=0.12)
        axes.grid(visible=True, color="#e6e6e6")
        axes.spines[["top", "right"]].set_visible(False)
        if any(point.refused for point in points):
            axes.text(
                0.99, 0.01, "hollow: refused more calls", transform=axes.transAxes, ha="right", color=REST_COLOR, size=8
            )
        axes.plot([p.cost for p in best], [p.grounding for p in best], color=FRONT_COLOR, alpha=0.4)
        for point in points:
            color = FRONT_COLOR if point in best else REST_COLOR
            fill = "white" if point.refused else color
            axes.plot(point.cost, point.grounding, "o", color=color, markerfacecolor=fill)
        _draw_labels(figure, axes, points)
        for path in paths:
            private_files.create_file(path)
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _draw_labels(figure: Any, axes: Any, points: Sequence[Point]) -> None:
    """Put a name beside each point, at the place where it covers the fewest points and names."""
    renderer = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    box: Any = import_module("matplotlib.transforms").Bbox
    centers = [axes.transData.transform((point.cost, point.grounding)) for point in points]
    taken = [box.from_bounds(x - 9, y - 9, 18, 18) for x, y in centers]
    for point in points:
        position = (point.cost, point.grounding)
        text = axes.annotate(point.name, position, xytext=(0, 0), textcoords="offset points", fontsize=9)
        covers = partial(_covers, text, taken, renderer, axes.bbox)
        covers(min(LABEL_OFFSETS, key=covers))  # the last call moves the label there
        taken.append(text.get_window_extent(renderer))


def _covers(text: Any, taken: Sequence[Any], renderer: Any, inside: Any, offset: tuple[float, float]) -> int:
    """Move a name to an offset from its point.

    Returns how many points and names it covers, plus 1 if it leaves the picture.
    """
    x, y = offset
    text.set(position=(8 * x, 9 * y), ha=HORIZONTAL[(x > 0) - (x < 0)], va=VERTICAL[(y > 0) - (y < 0)])
    box = text.get_window_extent(renderer)
    return box.count_overlaps(taken) + (box.x0 < inside.x0 or box.x1 > inside.x1)
