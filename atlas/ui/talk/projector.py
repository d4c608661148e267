"""A figure for a projector: everything that is measured in pixels, larger by one factor.

A figure that is as wide as its column cannot be stretched like a picture, so its parts are: type, lines,
points, margins and height. The width grows by itself, because talk mode has no sidebar.
"""

from __future__ import annotations

import base64
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from atlas.figures.heatmap import WEIGHTS

FIGURE: Final = 1.12
"""How much larger a figure grows than the type around it, which starts smaller."""

HOVER: Final = 20
"""Size of the type, in pixels before it grows, of the label of the cell or point under the pointer."""

_TYPE: Final = 12  # what Plotly and the page's theme take where a figure names no size
_LINE: Final = 2.0  # Plotly's own width of the line of a scatter
_POINT: Final = 6.0  # Plotly's own diameter of a point
_HEIGHT: Final = 450  # Plotly's own height of a figure
_PIXELS: Final = frozenset(
    {
        "arrowwidth",
        "ax",
        "ay",
        "standoff",
        "thickness",
        "ticklabelstandoff",
        "ticklen",
        "tracegroupgap",
        "xgap",
        "xshift",
        "ygap",
        "yshift",
    }
)


def for_projector(figure: go.Figure, size: float) -> go.Figure:
    """A copy of a figure with type, lines, points, margins and height larger.

    Args:
        figure: as it is drawn for a screen; not changed.
        size: of the type of the page, as a multiple of that on a screen.

    Returns:
        The copy. Colours of attention weights run from 0 to 1; other colours and all numbers stay. What is
        under the pointer is labelled in large type.
    """
    drawn, factor = go.Figure(figure), size * FIGURE
    for trace in drawn.data:
        _say_sizes_of(trace)
    _say_sizes(drawn.layout)
    spec = _larger(drawn.to_plotly_json(), factor)
    spec["layout"].setdefault("hoverlabel", {}).setdefault("font", {})["size"] = HOVER * factor
    for trace in spec["data"]:
        label = trace.get("hoverlabel", {}).get("font", {})
        label.pop("size", None)
    return go.Figure(spec)


def _say_sizes(layout: go.Layout) -> None:
    """Name the sizes that the layout leaves to the page's theme, which would not make them larger."""
    layout.height = layout.height or _HEIGHT
    layout.font.size = layout.font.size or _TYPE
    fonts = [layout.legend.font, layout.legend.title.font]
    axes = [name for name in layout if name.startswith(("xaxis", "yaxis"))] or ["xaxis", "yaxis"]
    for name in {*axes, "xaxis", "yaxis"}:
        fonts += [layout[name].tickfont, layout[name].title.font]
    if layout.title.text:
        fonts.append(layout.title.font)
    for font in fonts:
        font.size = font.size or _TYPE


def _say_sizes_of(trace: Any) -> None:
    """The same for one trace."""
    if trace.type == "heatmap" and trace.meta == WEIGHTS:
        trace.zmax = 1.0  # a colour means the same on every page that is shown
    if trace.type == "scatter":
        mode = trace.mode or "lines"
        if "lines" in mode and trace.line.width is None:
            trace.line.width = _LINE
        if "markers" in mode and trace.marker.size is None:
            trace.marker.size = _POINT
    for holder in (trace, getattr(trace, "marker", None)):
        if holder is None or "showscale" not in holder:
            continue
        if holder.showscale or (trace.type == "heatmap" and holder.showscale is None):
            bar = holder.colorbar
            bar.tickfont.size = bar.tickfont.size or _TYPE
            bar.title.font.size = bar.title.font.size or _TYPE


def _larger(part: Any, factor: float, within: str = "") -> Any:
    """A copy of a part of a figure in which everything measured in pixels is larger.

    Args:
        part: a property of the figure.
        factor: how much larger.
        within: the name of the property.
    """
    if isinstance(part, dict):
        return {name: _larger_property(name, value, factor, within) for name, value in part.items()}
    if isinstance(part, (list, tuple)) and part and all(isinstance(item, dict) for item in part):
        return [_larger(item, factor, within) for item in part]
    return part


def _larger_property(name: str, value: Any, factor: float, within: str) -> Any:
    measured = (
        name in _PIXELS
        or within in ("margin", "pad")
        or (name == "size" and (within.endswith("font") or within == "marker"))
        or (name == "width" and within == "line")
        or (name == "height" and within == "layout")
    )
    if not measured or value is None or (isinstance(value, dict) and name != "size"):
        return value if name == "template" else _larger(value, factor, name)
    if isinstance(value, (int, float)):
        return value * factor
    if isinstance(value, dict):  # how Plotly writes an array
        value = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    return np.asarray(value, dtype=np.float64) * factor
