"""From scores to weights: the division, the mask, the softmax, and the weighted sum of values.

``N`` is the number of keys, ``R`` of queries, ``K`` the width of a head. A hidden key is drawn as what it is:
a hatched cell that says −∞.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.qkv import Numbers, caption, dimensions, frame, largest, row_height, signed, word_rows

HIDDEN = "−∞"
_FEW = 24
"""Up to so many rows and columns each hidden cell says so itself."""


def scaling_bars(dots: Numbers, scaled: Numbers, labels: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Scores before and after the division, a row a key, on one axis.

    Args:
        dots: ``(N,)`` q·k.
        scaled: ``(N,)`` the same divided.
        labels: N words, not escaped.
        dark: for a dark page.
    """
    figure = go.Figure()
    for name, values, colour, wide in (
        ("q·k", dots, style.fade(style.COLOURS["key"], 0.3), 0.8),
        ("q·k / √d_k", scaled, style.COLOURS["key"], 0.44),
    ):
        figure.add_bar(
            x=np.asarray(values, dtype=np.float32),
            y=np.arange(len(labels)),
            orientation="h",
            name=name,
            width=wide,
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"<b>key %{{y}}</b><br>{name} = %{{x:.4f}}<extra></extra>",
        )
    places = np.maximum(np.maximum(dots, scaled), 0.0)
    figure.add_scatter(
        x=places.astype(np.float32),
        y=np.arange(len(labels)),
        mode="text",
        text=[f"  {before:.2f} → {after:.2f}" for before, after in zip(dots, scaled, strict=True)],
        textposition="middle right",
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )
    low, high = min(float(dots.min()), 0.0), max(float(dots.max()), 0.0)
    pad = (high - low) or 1.0
    figure.update_xaxes(
        range=[low - 0.04 * pad, high + 0.24 * pad],
        title={"text": "score", "standoff": 14},
        gridcolor=style.grid(dark),
        zerolinecolor=style.fade(style.ink(dark), 0.4),
    )
    figure.update_yaxes(**word_rows(labels))
    legend = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"}
    height = len(labels) * row_height(len(labels)) + 84
    margin = {"l": 8, "r": 8, "t": 32, "b": 46}
    return style.arrange(figure, height=height, dark=dark, barmode="overlay", legend=legend, margin=margin)


def mask_matrix(
    masked: Numbers, queries: Sequence[str], keys: Sequence[str], query: int, *, dark: bool = False
) -> go.Figure:
    """All scores of a head; what a query must not see is hatched and says −∞.

    Args:
        masked: ``(R, N)``, -inf where hidden.
        queries: R words; keys: N words; not escaped.
        query: the row that is walked through.
        dark: for a dark page.

    Returns:
        A figure whose first trace holds the scores (NaN where hidden).
    """
    rows, columns = masked.shape
    hidden = np.isneginf(masked)
    shown = np.where(hidden, np.nan, masked)
    figure = go.Figure(
        signed(
            shown,
            largest(np.nan_to_num(shown)),
            dark,
            "<b>query %{y} → key %{x}</b><br>score %{z:.4f}",
            scale=True,
            xgap=1,
            ygap=1,
            hoverongaps=False,
        )
    )
    down, across = np.nonzero(hidden)
    if len(down):
        small = max(rows, columns) <= _FEW
        corners = np.stack([across - 0.5, across + 0.5, np.full(len(across), np.nan)], axis=1).ravel()
        levels = np.stack([down + 0.5, down - 0.5, np.full(len(down), np.nan)], axis=1).ravel()
        figure.add_scatter(
            x=corners,
            y=levels,
            mode="lines",
            line={"color": style.fade(style.ink(dark), 0.22), "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=across,
            y=down,
            mode="text" if small else "markers",
            text=[HIDDEN] * len(across),
            textfont={"size": 12, "color": style.ink(dark)},
            marker={"opacity": 0},
            hovertemplate="<b>query %{y} → key %{x}</b><br>hidden: the score is −∞, the weight exactly 0"
            "<extra></extra>",
            showlegend=False,
        )
    figure.add_shape(
        frame(style.COLOURS["query"], columns, rows, line=3) | {"y0": query - 0.5, "y1": query + 0.5}
    )
    figure.update_xaxes(
        **style.token_axis(keys, side="top", tickangle=-60 if columns > 6 else 0),
        title={"text": "key", "font": {"color": style.text_colour("key", dark)}, "standoff": 4},
    )
    figure.update_yaxes(
        **word_rows(queries),
        title={"text": "query", "font": {"color": style.text_colour("query", dark)}},
    )
    labels = 8 * max(map(len, keys), default=0) if columns > 6 else 14
    height = rows * row_height(rows) + min(labels, 160) + 60
    return style.arrange(figure, height=height, dark=dark, margin={"l": 8, "r": 8, "t": 8, "b": 8})


def weight_marks(weights: Numbers, dark: bool) -> dict[str, Any]:
    """Bars of weights ``(N,)`` on the one scale of weights, 0 to 1, with an outline that keeps small ones in
    sight."""
    return {
        "color": np.asarray(weights, dtype=np.float32),
        "colorscale": style.sequential(dark),
        "cmin": 0,
        "cmax": 1,
        "line": {"color": style.fade(style.ink(dark), 0.6), "width": 1},
    }


def softmax_bars(
    masked: Numbers, weights: Numbers, labels: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """Scores on the left, weights on the right, a row a key; hidden keys are hatched and say −∞.

    Args:
        masked: ``(N,)`` scores, -inf where hidden.
        weights: ``(N,)``, summing to 1.
        labels: N words, not escaped.
        dark: for a dark page.

    Returns:
        A figure whose first two traces are the scores (NaN where hidden) and the weights.
    """
    rows = np.arange(len(labels))
    hidden = np.isneginf(masked)
    scores = np.where(hidden, np.nan, masked)
    low, high = min(float(np.nanmin(scores)), 0.0), max(float(np.nanmax(scores)), 0.0)
    pad = 0.2 * ((high - low) or 1.0)
    bar: dict[str, Any] = {"y": rows, "orientation": "h", "textposition": "outside", "cliponaxis": False}
    figure = go.Figure(
        [
            go.Bar(
                x=scores.astype(np.float32),
                marker={"color": style.COLOURS["key"], "line": {"width": 0}},
                text=["" if gone else f"{score:.2f}" for score, gone in zip(scores, hidden, strict=True)],
                hovertemplate="<b>key %{y}</b><br>score %{x:.4f}<extra></extra>",
                **bar,
            ),
            go.Bar(
                x=weights.astype(np.float32),
                marker=weight_marks(weights, dark),
                text=[f"{weight:.3f}" if weight else "0" for weight in weights],
                hovertemplate="<b>key %{y}</b><br>weight %{x:.6f}<extra></extra>",
                xaxis="x2",
                **bar,
            ),
        ]
    )
    span = (low - pad if low < 0 else low, high + pad)
    if hidden.any():
        figure.add_trace(_hidden_rows(rows[hidden], span, dark))
    line = {"gridcolor": style.grid(dark), "zerolinecolor": style.fade(style.ink(dark), 0.4)}
    figure.update_layout(
        xaxis={"domain": [0, 0.47], "range": span, "title": {"text": "score"}, **line},
        xaxis2={"domain": [0.53, 1], "range": [0, 1.14], "title": {"text": "weight"}, **line},
        yaxis=word_rows(labels),
        barmode="overlay",
        bargap=0.3,
        annotations=[
            caption("scores", style.text_colour("key", dark), 0, 1),
            caption("weights: positive, sum 1", style.ink(dark), 0.53, 1),
        ],
        showlegend=False,
    )
    height = len(labels) * row_height(len(labels)) + 84
    return style.arrange(figure, height=height, dark=dark, margin={"l": 8, "r": 8, "t": 30, "b": 48})


def _hidden_rows(rows: NDArray[np.int64], span: tuple[float, float], dark: bool) -> go.Bar:
    """Hatched bars over the whole width of the scores."""
    return go.Bar(
        x=np.full(len(rows), span[1] - span[0]),
        base=span[0],
        y=rows,
        orientation="h",
        width=0.9,
        marker={
            "color": style.fade(style.ink(dark), 0.05),
            "line": {"width": 0},
            "pattern": {"shape": "/", "fgcolor": style.fade(style.ink(dark), 0.35), "size": 7},
        },
        text=[HIDDEN] * len(rows),
        textposition="inside",
        insidetextanchor="middle",
        textfont={"color": style.ink(dark)},
        hovertemplate="<b>key %{y}</b><br>hidden: the score is −∞<extra></extra>",
    )


def mixing(
    weights: Numbers, contributions: Numbers, labels: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """The weights, the values times their weights, and below them their sum: what the head says.

    Args:
        weights: ``(N,)``.
        contributions: ``(N, K)`` weight times value.
        labels: N words, not escaped.
        dark: for a dark page.

    Returns:
        A figure of N bars, an ``(N, K)`` heatmap and a ``(1, K)`` heatmap.
    """
    count, width = contributions.shape
    total = contributions.sum(axis=0)
    cells, gap, strip = count * row_height(count), 44, 28
    plot = cells + gap + strip
    cut = (gap + strip) / plot
    end = largest(contributions, total)
    figure = go.Figure(
        [
            go.Bar(
                x=weights.astype(np.float32),
                y=np.arange(count),
                orientation="h",
                marker=weight_marks(weights, dark),
                text=[f"{weight:.2f}" if weight else "0" for weight in weights],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="<b>key %{y}</b><br>weight %{x:.6f}<extra></extra>",
                showlegend=False,
            ),
            signed(
                contributions,
                end,
                dark,
                "<b>%{y}</b><br>weight × value, dimension %{x}: %{z:.4f}",
                xaxis="x2",
                yaxis="y",
                ygap=1,
                scale=True,
            ),
            signed(
                total[None],
                end,
                dark,
                "<b>sum</b><br>dimension %{x}: %{z:.4f}",
                xaxis="x3",
                yaxis="y2",
            ),
        ]
    )
    value = style.text_colour("value", dark)
    figure.update_layout(
        xaxis={
            "domain": [0, 0.2],
            "range": [0, 1.35 * (float(weights.max(initial=0)) or 1.0)],
            "showgrid": False,
            "showticklabels": False,
            "zeroline": False,
        },
        xaxis2=dimensions("", width, domain=[0.22, 1], anchor="y", showticklabels=False),
        xaxis3=dimensions("dimension of the head", width, domain=[0.22, 1], anchor="y2"),
        yaxis=word_rows(labels, domain=[cut, 1]),
        yaxis2=word_rows(["sum"], domain=[0, strip / plot], anchor="x3"),
        bargap=0.3,
        shapes=[
            frame(style.COLOURS["value"], width, count, ("x2", "y")),
            frame(style.COLOURS["value"], width, 1, ("x3", "y2"), line=3),
        ],
        annotations=[
            caption("weight", style.ink(dark), 0, 1),
            caption("weight × value", value, 0.22, 1),
            caption("their sum: what this head says", value, 0.22, strip / plot),
        ],
    )
    margin = {"l": 8, "r": 8, "t": 30, "b": 46}
    return style.arrange(figure, height=plot + 76, dark=dark, margin=margin)
