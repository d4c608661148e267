"""Pictures of many passes over one sentence: where attention spreads, and how sure each token stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.training import FIRST, LEGEND, SECOND, axis

Floats = NDArray[np.floating[Any]]


def probability_strips(
    labels: Sequence[str], chances: Floats, still: Floats, *, dark: bool = False
) -> go.Figure:
    """The probability of every token in every pass: a box and all its points, and what it is without dropout.

    Args:
        labels: ``(T,)`` token labels, not escaped.
        chances: ``(passes, T)``.
        still: ``(T,)``, without dropout.
        dark: for a dark page.
    """
    passes, tokens = chances.shape
    shown = [style.escape(label) for label in labels]
    figure = go.Figure()
    figure.add_box(
        x=np.tile(np.arange(tokens), passes),
        y=np.asarray(chances, dtype=np.float64).ravel(),
        name="with dropout, a point a pass",
        boxpoints="all",
        jitter=0.45,
        pointpos=0,
        marker={"color": style.fade(FIRST, 0.6), "size": 4},
        line={"color": FIRST, "width": 1.5},
        fillcolor=style.fade(FIRST, 0.1),
        customdata=[[name] for _ in range(passes) for name in shown],
        hovertemplate="<b>%{customdata[0]}</b><br>probability %{y:.3f}<extra></extra>",
    )
    figure.add_scatter(
        x=np.arange(tokens),
        y=np.asarray(still, dtype=np.float64),
        mode="markers",
        name="without dropout",
        marker={
            "symbol": "diamond",
            "size": 10,
            "color": SECOND,
            "line": {"width": 1, "color": style.ink(dark)},
        },
        customdata=[[name] for name in shown],
        hovertemplate="<b>%{customdata[0]}</b><br>without dropout %{y:.3f}<extra></extra>",
    )
    figure.update_xaxes(style.token_axis(labels))
    figure.update_yaxes(axis("probability", dark, range=[-0.03, 1.03]))
    return style.arrange(figure, dark=dark, height=340, **LEGEND)


def spread_heatmap(
    spread: Floats,
    mean: Floats,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    rows: str = "query",
    dark: bool = False,
) -> go.Figure:
    """The standard deviation of each weight over the passes ``(Q, K)``; hover shows mean ± deviation.

    Args:
        spread: ``(Q, K)``.
        mean: ``(Q, K)``.
        queries: Q labels, not escaped.
        keys: K labels, not escaped.
        rows: what a row stands for.
        dark: for a dark page.
    """
    text = [
        [
            f"<b>{style.escape(f'{query} → {key}')}</b><br>{mean[row, place]:.3f} ± {spread[row, place]:.3f}"
            for place, key in enumerate(keys)
        ]
        for row, query in enumerate(queries)
    ]
    top = float(np.max(spread, initial=0.0))
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(spread, dtype=np.float32),
            zmin=0.0,
            zmax=top if top > 0 else 1.0,
            colorscale=style.sequential(dark),
            text=text,
            hovertemplate="%{text}<extra></extra>",
            xgap=1,
            ygap=1,
            colorbar={"thickness": 10, "outlinewidth": 0, "title": {"text": "± weight", "side": "right"}},
        )
    )
    slanted = len(keys) > 6
    figure.update_xaxes(
        _side(keys, side="top", tickangle=-60 if slanted else 0, automargin=False),
        title={"text": "key", "font": {"color": style.text_colour("key", dark)}, "standoff": 4},
    )
    figure.update_yaxes(
        _side(queries, range=[max(len(queries), 1) - 0.5, -0.5]),
        title={"text": style.escape(rows), "font": {"color": style.text_colour("query", dark)}},
    )
    above = min(8 * max(map(len, keys), default=0) + 8 if slanted else 18, 220) + 40
    height = min(max(24 * len(queries) + 24, 160), 800) + above
    return style.arrange(figure, dark=dark, height=height, margin={"l": 8, "r": 8, "t": above, "b": 8})


def _side(labels: Sequence[str], **more: Any) -> dict[str, Any]:
    """A token axis in the sizes of the heatmap that stands beside it."""
    return style.token_axis(labels, tickfont={"size": 13 if len(labels) <= 24 else 10}, **more)
