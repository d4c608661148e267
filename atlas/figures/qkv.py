"""Queries, keys and values as numbers: the projections, and the products of which a score is the sum.

A row is a key (the word that may be looked at), in the order of the sentence, in every picture of the walk
through an attention sub-layer. ``N`` is the number of keys, ``K`` the width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Numbers = NDArray[np.floating[Any]]


def row_height(rows: int) -> int:
    """Pixels of a row that carries a word: less for many, so that a usual sentence is seen at once."""
    return max(11, min(28, 400 // max(rows, 1)))


def word_rows(labels: Sequence[str], **more: Any) -> dict[str, Any]:
    """A vertical axis with a word a row, the first on top."""
    size = 13 if row_height(len(labels)) >= 18 else 9
    return style.token_axis(
        labels, every=1, range=[max(len(labels), 1) - 0.5, -0.5], tickfont={"size": size}, ticks="", **more
    )


def dimensions(title: str, count: int, **more: Any) -> dict[str, Any]:
    """A horizontal axis of the numbers of a vector, counted from 0."""
    return {
        "title": {"text": title, "standoff": 4},
        "range": [-0.5, count - 0.5],
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
    } | more


def caption(text: str, colour: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Words above a panel, in the colour of what it shows; ``text`` is escaped."""
    return {
        "text": style.escape(text),
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": colour, "size": 14},
    } | more


def signed(
    values: Numbers, end: float, dark: bool, hover: str, *, scale: bool = False, **more: Any
) -> go.Heatmap:
    """Cells around zero, where the colour of the page stands for 0 and ``±end`` is full colour."""
    return go.Heatmap(
        z=np.asarray(values, dtype=np.float32),
        zmin=-end,
        zmax=end,
        colorscale=style.diverging(dark),
        showscale=scale,
        colorbar={"thickness": 10, "outlinewidth": 0, "nticks": 5} if scale else None,
        hovertemplate=hover + "<extra></extra>",
        **more,
    )


def frame(
    colour: str, columns: int, rows: int, axes: tuple[str, str] = ("x", "y"), *, line: float = 2
) -> dict[str, Any]:
    """The outline of a panel of cells."""
    return {
        "type": "rect",
        "xref": axes[0],
        "yref": axes[1],
        "x0": -0.5,
        "x1": columns - 0.5,
        "y0": -0.5,
        "y1": rows - 0.5,
        "line": {"color": colour, "width": line},
    }


def largest(*arrays: Numbers) -> float:
    """The largest absolute number, 1 where there is only zero: the end of a colour scale."""
    return max(float(np.abs(array).max(initial=0.0)) for array in arrays) or 1.0


def projections(
    query: Numbers, keys: Numbers, values: Numbers, labels: Sequence[str], name: str, *, dark: bool = False
) -> go.Figure:
    """The query of one word over the keys of all words, dimension under dimension, and their values beside.

    Args:
        query: ``(K,)``.
        keys: ``(N, K)``; values: ``(N, K)``.
        labels: N words, not escaped.
        name: the query word.
        dark: for a dark page.

    Returns:
        A figure of three heatmaps: q, k, v.
    """
    count, width = keys.shape
    high = row_height(count)
    room = {"cells": count * high, "query": 26, "gap": 44, "above": 30, "below": 46}
    plot = room["cells"] + room["query"] + room["gap"]
    end = largest(query, keys, values)
    cut, top = room["cells"] / plot, 1 - room["query"] / plot
    pair = "<b>{}</b><br>dimension %{{x}}<br>value %{{z:.4f}}"
    figure = go.Figure(
        [
            signed(
                query[None], end, dark, pair.format(f"query of {style.escape(name)}"), xaxis="x", yaxis="y2"
            ),
            signed(keys, end, dark, pair.format("key of %{y}"), xaxis="x", yaxis="y", ygap=1),
            signed(
                values, end, dark, pair.format("value of %{y}"), xaxis="x2", yaxis="y3", ygap=1, scale=True
            ),
        ]
    )
    query_ink, key_ink, value_ink = (style.text_colour(part, dark) for part in ("query", "key", "value"))
    figure.update_layout(
        xaxis=dimensions("dimension of the head", width, domain=[0, 0.485], anchor="y"),
        xaxis2=dimensions("dimension of the head", width, domain=[0.515, 1], anchor="y3"),
        yaxis=word_rows(labels, domain=[0, cut]),
        yaxis2=word_rows([name], domain=[top, 1], anchor="x"),
        yaxis3=word_rows(labels, domain=[0, cut], anchor="x2", showticklabels=False),
        shapes=[
            frame(style.COLOURS["query"], width, 1, ("x", "y2")),
            frame(style.COLOURS["key"], width, count, ("x", "y")),
            frame(style.COLOURS["value"], width, count, ("x2", "y3")),
        ],
        annotations=[
            caption(f"q: 1 query × {width} dimensions", query_ink, 0, 1.0),
            caption(f"k: {count} keys × {width}", key_ink, 0, cut),
            caption(f"v: {count} values × {width}", value_ink, 0.515, cut),
        ],
    )
    height = plot + room["above"] + room["below"]
    margin = {"l": 8, "r": 8, "t": room["above"], "b": room["below"]}
    return style.arrange(figure, height=height, dark=dark, margin=margin)


def products(
    parts: Numbers, sums: Numbers, labels: Sequence[str], *, chosen: int | None = None, dark: bool = False
) -> go.Figure:
    """The products of q and each key, dimension by dimension, and beside each row their sum: q·k.

    Args:
        parts: ``(N, K)``, ``q_i k_i``.
        sums: ``(N,)``, q·k.
        labels: N words, not escaped.
        chosen: row of the key that is looked at closely.
        dark: for a dark page.

    Returns:
        A figure of one heatmap and N bars.
    """
    count, width = parts.shape
    figure = go.Figure(
        [
            signed(
                parts, largest(parts), dark, "<b>key %{y}</b><br>q × k in dimension %{x}: %{z:.3f}", ygap=1
            ),
            go.Bar(
                x=np.asarray(sums, dtype=np.float32),
                y=np.arange(count),
                orientation="h",
                xaxis="x2",
                marker={"color": style.COLOURS["key"], "line": {"width": 0}},
                text=[f"{value:.2f}" for value in sums],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="<b>key %{y}</b><br>q·k = %{x:.4f}<extra></extra>",
                showlegend=False,
            ),
        ]
    )
    low, high = min(float(sums.min(initial=0)), 0.0), max(float(sums.max(initial=0)), 0.0)
    pad = 0.22 * ((high - low) or 1.0)
    shapes = [frame(style.grid(dark), width, count)]
    if chosen is not None:
        row = {"y0": chosen - 0.5, "y1": chosen + 0.5}
        shapes.append(frame(style.COLOURS["key"], width, count) | row)
    figure.update_layout(
        xaxis=dimensions("dimension of the head", width, domain=[0, 0.68]),
        xaxis2={
            "domain": [0.72, 1],
            "range": [low - pad if low < 0 else low, high + pad],
            "title": {"text": "their sum: q·k", "standoff": 4},
            "zeroline": True,
            "zerolinecolor": style.fade(style.ink(dark), 0.4),
            "gridcolor": style.grid(dark),
        },
        yaxis=word_rows(labels),
        shapes=shapes,
        bargap=0.3,
    )
    margin = {"l": 8, "r": 8, "t": 12, "b": 46}
    return style.arrange(figure, height=count * row_height(count) + 58, dark=dark, margin=margin)


def dimension_bars(parts: Numbers, name: str, *, dark: bool = False) -> go.Figure:
    """One score taken apart: a bar a dimension, and the running sum that ends at q·k.

    Args:
        parts: ``(K,)``, ``q_i k_i``.
        name: such as "it · cat", not escaped.
        dark: for a dark page.

    Returns:
        A figure of K bars and a line of K points.
    """
    running = np.cumsum(np.asarray(parts, dtype=np.float64))
    low, high = style.diverging(dark)[0][1], style.diverging(dark)[-1][1]
    places = np.arange(len(parts))
    figure = go.Figure(
        [
            go.Bar(
                x=places,
                y=np.asarray(parts, dtype=np.float32),
                marker={"color": [high if part >= 0 else low for part in parts], "line": {"width": 0}},
                name="q × k in this dimension",
                hovertemplate="dimension %{x}<br>q × k = %{y:.4f}<extra></extra>",
            ),
            go.Scatter(
                x=places,
                y=running.astype(np.float32),
                mode="lines",
                line={"color": style.ink(dark), "width": 2, "shape": "hv"},
                name="sum so far",
                hovertemplate="sum of dimensions 0 to %{x}: %{y:.4f}<extra></extra>",
            ),
        ]
    )
    figure.add_annotation(
        x=len(parts) - 1,
        y=float(running[-1]),
        text=f"{style.escape(name)} = <b>{running[-1]:.2f}</b>",
        showarrow=False,
        xanchor="right",
        yanchor="bottom" if running[-1] >= 0 else "top",
        font={"size": 14},
    )
    figure.update_xaxes(**dimensions("dimension of the head", len(parts)))
    figure.update_yaxes(gridcolor=style.grid(dark), zerolinecolor=style.fade(style.ink(dark), 0.4))
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    margin = {"l": 8, "r": 8, "t": 30, "b": 8}
    return style.arrange(figure, height=270, dark=dark, legend=legend, margin=margin, bargap=0.15)
