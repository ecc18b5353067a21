"""The picture of a comparison: what each policy costs, and how much of what was needed its windows held."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct

from transom.errors import InvalidSetting

KINDS = (".svg", ".png")
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "transom", "font.size": 10, "font.family": "sans-serif"}
"""Text stays text; the same results give the same bytes."""

FRONT, REST = "#0b6e99", "#8a8a8a"
WAYS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (1, -1), (-1, 1), (-1, -1))
AROUND = [(far * x, far * y) for far in (1, 2, 3.5) for x, y in WAYS]
"""Where a label may stand, in steps from its point, the best place first."""

ACROSS, UPRIGHT = ("center", "left", "right"), ("center", "bottom", "top")
"""How it is aligned in the middle, above 0 and below."""


class Point(Struct, frozen=True, kw_only=True):
    """A policy: its cost by that of sending everything, its grounding from 0 to 1. `refused`: more calls than
    another, so that its figures are of other calls than theirs, and no match for them."""

    name: str
    cost: float
    grounding: float
    refused: bool = False


def pictures(path: Path) -> tuple[Path, ...]:
    """The files to draw. Raises InvalidSetting for another kind, for no place, or if there is nothing to draw with."""
    if path.suffix and path.suffix not in KINDS:
        raise InvalidSetting(f"--chart: a picture is .svg or .png, not {path.suffix}")
    try:
        import_module("matplotlib")
    except ImportError:
        raise InvalidSetting("--chart needs matplotlib: pip install 'transom[charts]'") from None
    if not path.parent.is_dir():
        raise InvalidSetting(f"--chart: there is no folder {path.parent}")
    files = (path,) if path.suffix else tuple(path.parent / f"{path.name}{kind}" for kind in KINDS)
    if folder := next((place for place in (path, *files) if place.is_dir()), None):
        raise InvalidSetting(f"--chart: {folder} is a folder")
    return files


def front(points: Sequence[Point]) -> list[Point]:
    """Those that no other one beats: for less money none holds as much. From the cheapest on."""
    best: list[Point] = []
    for point in sorted((point for point in points if not point.refused), key=lambda one: (one.cost, -one.grounding)):
        if not best or point.grounding > best[-1].grounding:
            best.append(point)
    return best


def draw(points: Sequence[Point], paths: Sequence[Path], title: str, grounding: str) -> None:
    """Cost against what `grounding` says, a labelled point for each policy, the front as a line. Raises OSError."""
    with import_module("matplotlib").rc_context(SETTINGS):
        figure: Any = import_module("matplotlib.figure").Figure(figsize=(8, 5.5), dpi=160, layout="constrained")
        axes, best = figure.subplots(), front(points)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel("cost × sending everything (prompt caching, Anthropic-like)")
        axes.set_ylabel(grounding)
        percent = import_module("matplotlib.ticker").PercentFormatter(1.0)  # with the decimals that tell ticks apart
        axes.yaxis.set_major_formatter(percent)
        axes.margins(x=0.12, y=0.12)
        axes.grid(visible=True, color="#e6e6e6")
        axes.spines[["top", "right"]].set_visible(False)
        if any(point.refused for point in points):
            axes.text(
                0.99, 0.01, "hollow: refused more calls", transform=axes.transAxes, ha="right", color=REST, size=8
            )
        axes.plot([p.cost for p in best], [p.grounding for p in best], color=FRONT, alpha=0.4)
        for point in points:
            ink = FRONT if point in best else REST
            axes.plot(point.cost, point.grounding, "o", color=ink, markerfacecolor="white" if point.refused else ink)
        _label(figure, axes, points)
        for path in paths:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _label(figure: Any, axes: Any, points: Sequence[Point]) -> None:
    """A name beside each point, where it covers no point and no other name, if there is such a place."""
    pen = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg(figure).get_renderer()
    figure.draw(pen)
    box: Any = import_module("matplotlib.transforms").Bbox
    at = [axes.transData.transform((point.cost, point.grounding)) for point in points]
    taken = [box.from_bounds(x - 9, y - 9, 18, 18) for x, y in at]
    for point in points:
        spot = (point.cost, point.grounding)
        text = axes.annotate(point.name, spot, xytext=(0, 0), textcoords="offset points", fontsize=9)
        covers = partial(_covers, text, taken, pen, axes.bbox)
        covers(min(AROUND, key=covers))
        taken.append(text.get_window_extent(pen))


def _covers(text: Any, taken: Sequence[Any], pen: Any, inside: Any, way: tuple[float, float]) -> int:
    """How many points and names a name covers that is moved so far from its point; 1 more if it sticks out."""
    x, y = way
    text.set(position=(8 * x, 9 * y), ha=ACROSS[(x > 0) - (x < 0)], va=UPRIGHT[(y > 0) - (y < 0)])
    place = text.get_window_extent(pen)
    return place.count_overlaps(taken) + (place.x0 < inside.x0 or place.x1 > inside.x1)
