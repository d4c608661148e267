"""The numbers of any Plotly figure as one tidy table: a row a point or cell, a column a property.

So whatever a page draws can be taken into a spreadsheet or a notebook. Labels come out as they were before
:func:`atlas.figures.style.escape` and Plotly's own tags were put on.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

Cell = str | float | int | bool | None
Table = dict[str, list[Cell]]

_GRIDS: Final = ("heatmap", "contour", "surface")
"""Traces whose ``z`` has a row for each ``y`` and a column for each ``x``."""

_POINTS: Final[dict[str, str]] = {
    "x": "x",
    "y": "y",
    "z": "z",
    "labels": "label",
    "values": "value",
    "base": "base",
    "text": "text",
    "hovertext": "hover",
    "marker.color": "color",
    "marker.size": "size",
    "error_x.array": "error_x",
    "error_x.arrayminus": "error_x_minus",
    "error_y.array": "error_y",
    "error_y.arrayminus": "error_y_minus",
}
"""Where Plotly keeps what belongs to a point, and the column it goes to."""

_ORDER: Final = (
    "trace",
    "name",
    "type",
    "x",
    "x_label",
    "y",
    "y_label",
    "z",
    *[name for name in _POINTS.values() if name not in "xyz"],
)
_BREAK: Final = re.compile(r"<br\s*/?>")
_TAG: Final = re.compile(r"</?(?:b|i|em|strong|s|u|sub|sup|span|a|extra)\b[^>]*>")


def plain(text: str) -> str:
    """What a reader sees of a Plotly string: no tags, entities as characters, lines joined by ``"; "``."""
    return html.unescape(_TAG.sub("", _BREAK.sub("; ", text)))


def figure_table(figure: go.Figure) -> Table:
    """Every point of every trace of a figure.

    Args:
        figure: of any kinds of traces; frames of an animation are left out, as are traces that are not
            visible and points without a place (the gaps of broken lines).

    Returns:
        Columns of one length, those only that some trace fills: ``trace`` (number, from 0), ``name``,
        ``type``, the properties of a point under Plotly's names (``x``, ``y``, ``z``, ``text``, ``hover``,
        ``color``, ``size``, errors), ``x_label`` and ``y_label`` where an axis writes a text at that place,
        and ``custom_1``... for what only a hover shows. A number that is not finite is None.
    """
    rows: list[dict[str, Cell]] = []
    for number, trace in enumerate(figure.data):
        if trace.visible is False:
            continue
        spec = trace.to_plotly_json()
        name = plain(str(spec.get("name") or ""))
        across, down = _tick_labels(figure, trace, "x"), _tick_labels(figure, trace, "y")
        points = _cells(spec) if spec["type"] in _GRIDS else _points(spec)
        for point in points:
            _say_labels(point, across, down)
            rows.append({"trace": number, "name": name, "type": spec["type"], **point})
    filled = {column for row in rows for column, value in row.items() if value not in (None, "")}
    custom = sorted((column for column in filled if column.startswith("custom_")), key=lambda c: int(c[7:]))
    columns = [name for name in ("trace", "type", *_ORDER) if name in filled or name in ("trace", "type")]
    return {column: [row.get(column) for row in rows] for column in dict.fromkeys([*columns, *custom])}


def figure_json(figure: go.Figure, about: str) -> bytes:
    """:func:`figure_table` as one JSON object, with the titles of figure and axes.

    Args:
        figure: whose numbers.
        about: what it shows, in words.

    Returns:
        UTF-8: ``format``, ``version``, ``about``, ``title``, ``axes`` (name -> title) and ``columns``.
    """
    layout = figure.layout
    axes = {
        name: plain(layout[name].title.text)
        for name in layout
        if re.fullmatch(r"[xyz]axis\d*", name) and layout[name].title.text
    }
    content = {
        "format": "attention-atlas-figure",
        "version": 1,
        "about": about,
        "title": plain(layout.title.text or ""),
        "axes": axes,
        "columns": figure_table(figure),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")


def array_of(values: Any) -> np.ndarray | None:
    """An array property of a trace, also one written as typed bytes; None for a single value or none."""
    if isinstance(values, Mapping) and {"bdata", "dtype"} <= set(values):
        kinds = {"f": "<f", "i": "<i", "u": "<u"}
        dtype = str(values["dtype"])
        numbers = np.frombuffer(base64.b64decode(values["bdata"]), kinds[dtype[0]] + dtype[1:])
        shape = str(values.get("shape", len(numbers)))
        return numbers.reshape([int(size) for size in shape.split(",")])
    if values is None or isinstance(values, str | Mapping) or np.ndim(values) == 0:
        return None
    if isinstance(values, np.ndarray):
        return values
    array = np.empty(len(values), dtype=object)
    array[:] = list(values)
    return array


def grid_of(values: Any) -> np.ndarray:
    """A property with a value for each cell as an array (R, C) or (R, C, k); rows of lists are stacked."""
    array = array_of(values)
    if array is None:
        return np.empty((0, 0))
    if array.ndim > 1:
        return array
    return np.array([list(row) for row in array], dtype=object)


def _get(spec: Mapping[str, Any], path: str) -> Any:
    value: Any = spec
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _cell(value: Any) -> Cell:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return plain(str(value))


def places(values: Any, count: int, start: Any, step: Any) -> list[Cell]:
    """The places of ``count`` points along an axis: as given, or counted from ``start``."""
    given = array_of(values)
    if given is not None:
        return [_cell(value) for value in given.ravel()]
    first, by = 0 if start is None else start, 1 if step is None else step
    return [first + by * index for index in range(count)]


def _cells(spec: Mapping[str, Any]) -> Iterable[dict[str, Cell]]:
    z = grid_of(spec.get("z"))
    across = places(spec.get("x"), z.shape[1] if z.size else 0, spec.get("x0"), spec.get("dx"))
    down = places(spec.get("y"), z.shape[0], spec.get("y0"), spec.get("dy"))
    more = {
        column: grid
        for path, column in (("text", "text"), ("hovertext", "hover"))
        if (grid := grid_of(spec.get(path))).shape == z.shape
    }
    custom = grid_of(spec.get("customdata"))
    for row, column in np.ndindex(z.shape[:2] if z.size else (0, 0)):
        point: dict[str, Cell] = {"x": across[column], "y": down[row], "z": _cell(z[row, column])}
        point |= {name: _cell(grid[row, column]) for name, grid in more.items()}
        if custom.shape[:2] == z.shape:
            point |= _custom(custom[row, column])
        yield point


def _points(spec: Mapping[str, Any]) -> Iterable[dict[str, Cell]]:
    found = {column: array_of(_get(spec, path)) for path, column in _POINTS.items()}
    arrays = {
        column: [_cell(value) for value in array] for column, array in found.items() if array is not None
    }
    count = max(map(len, arrays.values()), default=0)
    for axis in "xy":
        if axis not in arrays and ("x" in arrays or "y" in arrays):
            arrays[axis] = places(None, count, spec.get(f"{axis}0"), spec.get(f"d{axis}"))
    customdata = array_of(spec.get("customdata"))
    custom = [_custom(values) for values in customdata] if customdata is not None else []
    for values, extra in zip_longest(zip_longest(*arrays.values()), custom[:count], fillvalue=None):
        point = dict(zip(arrays, values or (), strict=False))
        if str(spec["type"]).startswith("scatter") and None in (point.get("x", 0), point.get("y", 0)):
            continue
        yield point | (extra or {})


def _custom(values: Any) -> dict[str, Cell]:
    listed = [values] if np.ndim(values) == 0 or isinstance(values, str) else list(values)
    return {f"custom_{place}": _cell(value) for place, value in enumerate(listed, 1)}


def _tick_labels(figure: go.Figure, trace: Any, side: str) -> dict[Cell, str]:
    """Place -> text, where the axis of a trace writes its own texts."""
    name = getattr(trace, f"{side}axis", None) if f"{side}axis" in trace else None
    axis = figure.layout[f"{side}axis{(name or side)[1:]}"]
    if axis.tickvals is None or axis.ticktext is None:
        return {}
    pairs = zip(axis.tickvals, axis.ticktext, strict=False)
    return {_cell(place): plain(str(text)) for place, text in pairs}


def _say_labels(point: dict[str, Cell], across: dict[Cell, str], down: dict[Cell, str]) -> None:
    for side, labels in (("x", across), ("y", down)):
        if point.get(side) in labels:
            point[f"{side}_label"] = labels[point[side]]
