"""Heatmaps as vectors: Plotly draws the cells of a heatmap as a picture of pixels, even in an SVG.

Before the figure is rendered each heatmap gets a twin of layout shapes, one path a colour, under it
(:func:`with_cells`); afterwards the pixels are taken out of the SVG (:func:`without_pixels`). Text in cells,
axes, colour bar and hover stay those of the heatmap.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures.numbers import array_of, grid_of

MOST: Final = 30_000
"""Rectangles that a figure is given at most, about 2 MB of SVG; beyond, its cells stay pixels."""

_LEVELS: Final = 255
"""Steps into which a colour scale is cut, as many as a channel of a colour has."""

_IMAGE: Final = re.compile(r"<image\b[^>]*?(?:/>|>\s*</image>)")


def with_cells(figure: go.Figure, background: str) -> go.Figure | None:
    """A copy of a figure whose heatmaps have their cells as shapes too.

    Args:
        figure: not changed.
        background: of the sheet, ``#rrggbb``; gaps between cells are drawn in it.

    Returns:
        The copy; None where there is no heatmap, one whose cells cannot be placed on a linear axis, or more
        than :data:`MOST` rectangles.
    """
    maps = [trace for trace in figure.data if trace.type == "heatmap" and trace.visible is not False]
    shapes: list[dict[str, Any]] = []
    rectangles = 0
    for trace in maps:
        found = _shapes(trace, background)
        if found is None:
            return None
        shapes += found[0]
        rectangles += found[1]
    if not maps or rectangles > MOST:
        return None
    copy = go.Figure(figure)
    copy.layout.shapes = [*shapes, *(copy.layout.shapes or ())]
    return copy


def without_pixels(svg: bytes) -> bytes:
    """An SVG without its pictures of pixels."""
    return _IMAGE.sub("", svg.decode("utf-8")).encode("utf-8")


def edges(values: Any, count: int) -> NDArray[np.float64] | None:
    """The ``count + 1`` borders of cells along an axis: halfway between their middles, as Plotly puts them.

    Args:
        values: ``count`` middles, ``count + 1`` borders, or None for 0, 1, 2...
        count: of cells.

    Returns:
        float64 (count + 1,); None where the places are no numbers.
    """
    given = array_of(values)
    if given is None:
        return np.arange(count + 1, dtype=np.float64) - 0.5
    try:
        middles = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if len(middles) == count + 1:
        return middles
    if len(middles) != count:
        return None
    if count == 1:
        return np.array([middles[0] - 0.5, middles[0] + 0.5])
    between = (middles[1:] + middles[:-1]) / 2
    first, last = middles[0] - (between[0] - middles[0]), middles[-1] + (middles[-1] - between[-1])
    return np.concatenate([[first], between, [last]])


def _shapes(trace: Any, background: str) -> tuple[list[dict[str, Any]], int] | None:
    """The paths of one heatmap and the number of their rectangles."""
    if trace.coloraxis is not None or trace.zsmooth or trace.colorscale is None:
        return None
    z = grid_of(trace.z).astype(np.float64)
    if not z.size:
        return [], 0
    across, down = edges(trace.x, z.shape[1]), edges(trace.y, z.shape[0])
    if across is None or down is None:
        return None
    levels = _levels(trace, z)
    gap = max(trace.xgap or 0, trace.ygap or 0)
    shapes, count = [], 0
    for level in np.unique(levels[levels >= 0]):
        rectangles = _rectangles(levels == level, across, down, merge=gap == 0)
        count += len(rectangles)
        colour = _colour(trace.colorscale, int(level) / _LEVELS, bool(trace.reversescale))
        shapes.append(
            {
                "type": "path",
                "path": "".join(rectangles),
                "xref": trace.xaxis or "x",
                "yref": trace.yaxis or "y",
                "layer": "below",
                "fillcolor": colour,
                "opacity": 1.0 if trace.opacity is None else trace.opacity,
                # A hairline of the cell's own colour closes the seam that renderers leave between neighbours.
                "line": {"color": background if gap else colour, "width": gap or 0.3},
            }
        )
    return shapes, count


def _levels(trace: Any, z: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places on the colour scale, 0 to 255; -1 for cells without a number."""
    known = np.isfinite(z)
    if not known.any():
        return np.full(z.shape, -1)
    low = z[known].min() if trace.zmin is None else trace.zmin
    high = z[known].max() if trace.zmax is None else trace.zmax
    if trace.zmid is not None:
        reach = max(high - trace.zmid, trace.zmid - low)
        low, high = trace.zmid - reach, trace.zmid + reach
    if high <= low:
        low, high = low - 0.5, low + 0.5
    share = np.clip((np.where(known, z, low) - low) / (high - low), 0, 1)
    return np.where(known, np.rint(share * _LEVELS).astype(np.int64), -1)


def _colour(scale: Sequence[Sequence[Any]], share: float, reverse: bool) -> str:
    """The colour at a place of a scale, between its two neighbouring stops."""
    place = 1 - share if reverse else share
    stops = sorted((float(at), str(colour)) for at, colour in scale)
    for (low, first), (high, second) in zip(stops, stops[1:], strict=False):
        if place <= high:
            part = 0.0 if high == low else (place - low) / (high - low)
            return first if first == second else _mixed(first, second, part)
    return stops[-1][1]


def _mixed(first: str, second: str, part: float) -> str:
    pairs = zip(_channels(first), _channels(second), strict=True)
    red, green, blue, alpha = (a + (b - a) * part for a, b in pairs)
    return f"rgba({round(red)},{round(green)},{round(blue)},{alpha:.3g})"


def _channels(colour: str) -> list[float]:
    """Red, green, blue (0 to 255) and opacity of ``#rrggbb``, ``rgb(...)`` or ``rgba(...)``."""
    if colour.startswith("#"):
        return [*(int(colour[place : place + 2], 16) for place in (1, 3, 5)), 1.0]
    numbers = [float(number) for number in re.findall(r"[\d.]+", colour)]
    return numbers if len(numbers) == 4 else [*numbers, 1.0]


def _rectangles(
    cells: NDArray[np.bool_], across: NDArray[np.float64], down: NDArray[np.float64], *, merge: bool
) -> list[str]:
    """A closed path for each cell, or for each run of neighbours in a row."""
    found = []
    for row in np.flatnonzero(cells.any(axis=1)):
        columns = np.flatnonzero(cells[row])
        runs = np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1) if merge else columns[:, None]
        for run in runs:
            left, right = across[run[0]], across[run[-1] + 1]
            top, bottom = down[row], down[row + 1]
            found.append(f"M{left:g},{top:g}L{right:g},{top:g}L{right:g},{bottom:g}L{left:g},{bottom:g}Z")
    return found
