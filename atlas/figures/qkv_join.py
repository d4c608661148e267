"""The heads joined: side by side as blocks, through W^O, and onto the residual stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from atlas.figures import style
from atlas.figures.qkv import Numbers, caption, dimensions, largest, signed

_STRIP, _GAP = 34, 30


class Row(NamedTuple):
    """A vector ``(D,)`` on a scale of its own, and the line above it (our words, escaped)."""

    vector: Numbers
    title: str


def joined(concat: Numbers, head: int, heads: int, rows: Sequence[Row], *, dark: bool = False) -> go.Figure:
    """What the heads say side by side, each a block, and under it what becomes of it.

    Args:
        concat: ``(D,)``, the outputs of all heads in order.
        head: the one that is walked through, from 0; its block is marked.
        heads: H.
        rows: vectors under it, such as the change and the stream, each with its own scale.
        dark: for a dark page.

    Returns:
        A figure with one heatmap for ``concat`` and one for each row.
    """
    width = len(concat)
    block = width // heads
    shown = [Row(concat, f"{heads} heads side by side: {heads} × {block} = {width} numbers"), *rows]
    plot = len(shown) * _STRIP + (len(shown) - 1) * _GAP + 18
    figure = go.Figure()
    annotations, layout = [], {}
    value = style.text_colour("value", dark)
    for place, (vector, title) in enumerate(shown):
        top = 1 - (place * (_STRIP + _GAP) + (18 if place else 0)) / plot
        bottom = top - _STRIP / plot
        end, number = largest(vector), "" if place == 0 else str(place + 1)
        hover = "dimension %{x}<br>value %{z:.4f}"
        if place == 0:
            hover = "head %{customdata}<br>" + hover
        figure.add_trace(
            signed(
                vector[None],
                end,
                dark,
                hover,
                xaxis=f"x{number}",
                yaxis=f"y{number}",
                customdata=(np.arange(width) // block + 1)[None] if place == 0 else None,
            )
        )
        last = place == len(shown) - 1
        layout[f"xaxis{number}"] = dimensions(
            "dimension of the stream" if last else "", width, anchor=f"y{number}", showticklabels=last
        )
        layout[f"yaxis{number}"] = {
            "domain": [max(bottom, 0.0), top],
            "anchor": f"x{number}",
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "range": [-0.5, 0.5],
        }
        colour = value if place == 0 else style.ink(dark)
        annotations.append(caption(f"{title} · scale ±{end:.2g}", colour, 0, top))
    shapes = [_edge(block * edge - 0.5, dark) for edge in range(1, heads)]
    annotations += [_number(place, block, place == head, dark) for place in range(heads)]
    shapes.append(
        {
            "type": "rect",
            "x0": head * block - 0.5,
            "x1": (head + 1) * block - 0.5,
            "y0": -0.5,
            "y1": 0.5,
            "line": {"color": style.COLOURS["value"], "width": 3},
        }
    )
    figure.update_layout(**layout, shapes=shapes, annotations=annotations)
    return style.arrange(figure, height=plot + 76, dark=dark, margin={"l": 8, "r": 8, "t": 30, "b": 46})


def _edge(x: float, dark: bool) -> dict[str, Any]:
    line = {"color": style.fade(style.ink(dark), 0.6), "width": 1.5}
    return {"type": "line", "x0": x, "x1": x, "y0": -0.5, "y1": 0.5, "line": line}


def _number(head: int, block: int, chosen: bool, dark: bool) -> dict[str, Any]:
    text = f"head {head + 1}" if block >= 24 or chosen else str(head + 1)
    return {
        "text": f"<b>{text}</b>" if chosen else text,
        "x": head * block + (block - 1) / 2,
        "y": -0.5,
        "xref": "x",
        "yref": "y",
        "yanchor": "top",
        "showarrow": False,
        "font": {
            "size": 12,
            "color": style.text_colour("value", dark) if chosen else style.ink(dark),
        },
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
    return style.arrange(figure, height=230, dark=dark, bargap=0.35)
