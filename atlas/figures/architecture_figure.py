"""The drawing of the architecture as a Plotly figure, for papers: the twin of the SVG component."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import plotly.graph_objects as go

from atlas.figures import style

_LINES: Final[dict[str, dict[str, Any]]] = {
    "stream": {"width": 1.4},
    "residual": {"width": 1.6},
    "memory": {"width": 2.2, "dash": "7px,5px"},
    "shared": {"width": 2, "dash": "dot"},
}


def architecture_figure(drawing: Mapping[str, Any], *, dark: bool = False) -> go.Figure:
    """Every box, line and word of a drawing where the component puts it.

    Args:
        drawing: what :func:`atlas.figures.architecture.drawing` gives.
        dark: for a dark page.

    Returns:
        A figure as large as the drawing. Its one trace has a point in the middle of each box: ``text`` is the
        title, ``customdata`` the name, the count of parameters and the shapes that go in and come out.
    """
    ink, sheet = style.ink(dark), style.background(dark)
    colours = drawing["colours"]
    shapes: list[dict[str, Any]] = []
    words: list[dict[str, Any]] = []
    for frame in drawing["frames"]:
        colour = colours[frame["colour"]]
        shapes.append(_box(frame, colour["fill"], style.fade(colour["fill"], 0.05), dash="5px,4px"))
        line = frame["y"] + 13
        words.append(_text(frame["x"] + 12, line, frame["title"], 11, colour["text"], "left"))
        words.append(
            _text(frame["x"] + frame["width"] - 12, line, frame["number"], 11, colour["text"], "right")
        )
    for path in drawing["paths"]:
        colour = colours["cross"]["fill"] if path["kind"] == "memory" else style.fade(ink, 0.7)
        shapes += _path(path, colour)
    for box in drawing["boxes"]:
        colour = colours[box["colour"]]["fill"]
        shapes += [_box(box, colour, sheet), _box(box, colour, style.fade(colour, 0.16))]
        line = box["y"] + box["height"] / 2 - (8 if box["note"] else 0)
        size = 10 if box["height"] < 20 else 13 if box["note"] else 12
        title = style.escape(box["title"])
        words.append(
            _text(box["x"] + 12, line, f"<b>{title}</b>" if box["note"] else title, size, ink, "left")
        )
        words.append(_text(box["x"] + box["width"] - 12, line, box["number"], min(size, 12), ink, "right"))
        if box["note"]:
            words.append(_text(box["x"] + 12, line + 17, style.escape(box["note"]), 11, ink, "left"))
    for text in drawing["texts"]:
        if text["kind"] == "ring":
            at = {"x": text["x"] - 9, "y": text["y"] - 9, "width": 18, "height": 18}
            shapes.append(_box(at, ink, sheet) | {"type": "circle"})
        anchor = {"middle": "center", "start": "left", "end": "right"}[text["anchor"]]
        colour = colours["cross"]["text"] if text["kind"] == "memory" else ink
        said = style.escape(text["text"])
        words.append(
            _text(
                text["x"], text["y"], f"<b>{said}</b>" if text["kind"] == "end" else said, 12, colour, anchor
            )
        )
    figure = go.Figure(
        _points(drawing["boxes"]),
        layout={
            "shapes": shapes,
            "annotations": words,
            "xaxis": {"visible": False, "range": [0, drawing["width"]]},
            "yaxis": {"visible": False, "range": [drawing["height"], 0]},
            "width": int(drawing["width"]) + 16,
        },
    )
    margin = {"l": 8, "r": 8, "t": 8, "b": 8}
    return style.arrange(figure, height=math.ceil(drawing["height"]) + 16, dark=dark, margin=margin)


def _points(boxes: Sequence[Mapping[str, Any]]) -> go.Scatter:
    return go.Scatter(
        x=[box["x"] + box["width"] / 2 for box in boxes],
        y=[box["y"] + box["height"] / 2 for box in boxes],
        mode="markers",
        marker={"opacity": 0},
        hovertext=[style.escape(box["title"]) for box in boxes],
        customdata=[[box["name"], box["count"], box["flow"]] for box in boxes],
        hovertemplate="%{hovertext}: %{customdata[1]:,} parameters<extra></extra>",
        showlegend=False,
    )


def _box(at: Mapping[str, Any], colour: str, fill: str, dash: str = "solid") -> dict[str, Any]:
    return {
        "type": "rect",
        "x0": at["x"],
        "x1": at["x"] + at["width"],
        "y0": at["y"],
        "y1": at["y"] + at["height"],
        "line": {"color": colour, "width": 1.4, "dash": dash},
        "fillcolor": fill,
    }


def _path(path: Mapping[str, Any], colour: str) -> list[dict[str, Any]]:
    """A line, and its tip where it has one."""
    points = path["points"]
    line = "M" + "L".join(f"{x:g},{y:g}" for x, y in points)
    shapes: list[dict[str, Any]] = [
        {"type": "path", "path": line, "line": {"color": colour} | _LINES[path["kind"]]}
    ]
    if path["arrow"]:
        (before_x, before_y), (x, y) = points[-2:]
        along = math.atan2(y - before_y, x - before_x)
        back, half = (9, 5) if path["kind"] == "memory" else (6, 3.5)
        corners = [
            (
                x + back * -math.cos(along) + side * -math.sin(along),
                y + back * -math.sin(along) + side * math.cos(along),
            )
            for side in (half, -half)
        ]
        tip = f"M{x:g},{y:g}" + "".join(f"L{a:g},{b:g}" for a, b in corners) + "Z"
        shapes.append({"type": "path", "path": tip, "line": {"width": 0}, "fillcolor": colour})
    return shapes


def _text(x: float, y: float, words: str, size: float, colour: str, anchor: str) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": words,
        "xanchor": anchor,
        "yanchor": "middle",
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": size, "color": colour},
    }
