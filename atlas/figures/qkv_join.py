"""Vectors one under the other, each on a scale of its own; the heads joined as blocks of such a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from atlas.figures import style
from atlas.figures.qkv import Numbers, caption, dimensions, largest, signed

_STRIP, _GAP = 34, 32


class Row(NamedTuple):
    """A vector ``(D,)``, the line above it (our words, not escaped), and the meaning that colours it."""

    vector: Numbers
    title: str
    meaning: str | None = None


def vector_rows(rows: Sequence[Row], axis: str, *, dark: bool = False) -> go.Figure:
    """Vectors of one width as strips of cells, each on its own scale around zero, which its title states.

    Args:
        rows: at least one.
        axis: what the numbers across are.
        dark: for a dark page.

    Returns:
        A figure with one heatmap a row, in order.
    """
    width = len(rows[0].vector)
    plot = len(rows) * _STRIP + (len(rows) - 1) * _GAP
    figure = go.Figure()
    annotations, layout = [], {}
    for place, (vector, title, meaning) in enumerate(rows):
        top = 1 - place * (_STRIP + _GAP) / plot
        number, last = str(place + 1) if place else "", place == len(rows) - 1
        end = largest(vector)
        hover = "dimension %{x}<br>value %{z:.4f}"
        figure.add_trace(signed(vector[None], end, dark, hover, xaxis=f"x{number}", yaxis=f"y{number}"))
        layout[f"xaxis{number}"] = dimensions(
            axis if last else "", width, anchor=f"y{number}", showticklabels=last
        )
        layout[f"yaxis{number}"] = {
            "domain": [max(top - _STRIP / plot, 0.0), top],
            "anchor": f"x{number}",
            "range": [-0.5, 0.5],
            "showticklabels": False,
            "ticks": "",
            "showgrid": False,
            "zeroline": False,
        }
        colour = style.text_colour(meaning, dark) if meaning else style.ink(dark)
        annotations.append(caption(f"{title} · colours end at ±{end:.2g}", colour, 0, top))
    figure.update_layout(**layout, annotations=annotations)
    return style.arrange(figure, height=plot + 76, dark=dark, margin={"l": 8, "r": 8, "t": 30, "b": 46})


def joined(concat: Numbers, head: int, heads: int, rows: Sequence[Row], *, dark: bool = False) -> go.Figure:
    """What the heads say side by side, each a block, and under it what becomes of it.

    Args:
        concat: ``(D,)``, the outputs of all heads in order.
        head: the one that is walked through, from 0; its block is marked.
        heads: H.
        rows: vectors under it, such as the change and the stream.
        dark: for a dark page.

    Returns:
        A figure with one heatmap for ``concat`` and one for each row.
    """
    width = len(concat)
    block = width // heads
    title = f"{heads} heads side by side: {heads} × {block} = {width} numbers"
    figure = vector_rows([Row(concat, title, "value"), *rows], "dimension of the stream", dark=dark)
    figure.data[0].customdata = (np.arange(width) // block + 1)[None]
    figure.data[0].hovertemplate = "head %{customdata}<br>" + figure.data[0].hovertemplate
    for edge in range(1, heads):
        line = {"color": style.fade(style.ink(dark), 0.6), "width": 1.5}
        x = edge * block - 0.5
        figure.add_shape(type="line", x0=x, x1=x, y0=-0.5, y1=0.5, line=line)
    figure.add_shape(
        type="rect",
        x0=head * block - 0.5,
        x1=(head + 1) * block - 0.5,
        y0=-0.5,
        y1=0.5,
        line={"color": style.COLOURS["value"], "width": 3},
    )
    for place in range(heads):
        figure.add_annotation(_number(place, block, place == head, dark))
    return figure


def _number(head: int, block: int, chosen: bool, dark: bool) -> dict[str, Any]:
    """The number of a head in its block."""
    return {
        "text": f"<b>{head + 1}</b>" if chosen else str(head + 1),
        "x": head * block + (block - 1) / 2,
        "y": 0,
        "xref": "x",
        "yref": "y",
        "showarrow": False,
        "bgcolor": style.fade(style.background(dark), 0.8),
        "borderpad": 1,
        "font": {"size": 13, "color": style.text_colour("value", dark) if chosen else style.ink(dark)},
    }


def head_parts(norms: Numbers, head: int, *, dark: bool = False) -> go.Figure:
    """How much each head adds to the stream: the length of its part of the change.

    Args:
        norms: ``(H,)``.
        head: the one that is walked through, from 0.
        dark: for a dark page.
    """
    rest = style.fade(style.COLOURS["value"], 0.4)
    figure = go.Figure(
        go.Bar(
            x=np.arange(1, len(norms) + 1),
            y=np.asarray(norms, dtype=np.float32),
            marker={
                "color": [style.COLOURS["value"] if place == head else rest for place in range(len(norms))],
                "line": {"width": 0},
            },
            text=[f"{norm:.2f}" for norm in norms],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="head %{x}<br>length of its part: %{y:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(title={"text": "head"}, tickmode="linear", dtick=1, showgrid=False)
    figure.update_yaxes(
        title={"text": "length of its part"},
        gridcolor=style.grid(dark),
        range=[0, 1.2 * (float(np.max(norms)) or 1.0)],
    )
    return style.arrange(figure, height=220, dark=dark, bargap=0.35)
