"""Pictures of two distributions as codes: widths are probabilities, heights are lengths of code words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.training import FIRST, LEGEND, SECOND, axis

Floats = NDArray[np.floating[Any]]


def distributions(names: Sequence[str], p: Floats, q: Floats, *, dark: bool = False) -> go.Figure:
    """Two distributions ``(K,)`` over the same outcomes, a pair of bars each."""
    figure = go.Figure()
    for values, name, colour in ((p, "p: what comes", FIRST), (q, "q: what the model says", SECOND)):
        figure.add_bar(
            x=list(range(len(names))),
            y=np.asarray(values, dtype=np.float64),
            name=name,
            marker={"color": colour},
            text=[f"{value:.2f}" for value in values],
            textposition="outside",
            cliponaxis=False,
            hovertemplate=f"{name}<br>probability %{{y:.4f}}<extra></extra>",
        )
    top = max(float(np.max(p)), float(np.max(q)))
    figure.update_xaxes(style.token_axis(names))
    figure.update_yaxes(axis("probability", dark, range=[0, top * 1.12]))
    return style.arrange(figure, dark=dark, height=300, barmode="group", bargap=0.3, **LEGEND)


def code_areas(
    names: Sequence[str], p: Floats, ideal: Floats, spent: Floats, *, unit: str, dark: bool = False
) -> go.Figure:
    """Each outcome as a block as wide as it is likely and as high as its code word is long.

    The filled blocks have the area H(p), the outlined ones H(p, q): outlines that stand above the filling
    cost more than they need, those below less, and on balance the outlines are never smaller.

    Args:
        names: K outcomes.
        p: ``(K,)``, widths.
        ideal: ``(K,)``, ``-log p``; heights of the filling. Infinite where p is 0, where nothing is drawn.
        spent: ``(K,)``, ``-log q``; heights of the outlines. An infinite one is drawn up to the edge and
            says so.
        unit: bits or nats.
        dark: for a dark page.
    """
    left = np.concatenate([[0.0], np.cumsum(p)[:-1]])
    shown = [int(place) for place in np.flatnonzero(np.asarray(p) > 0)]
    finite = [value for value in (*ideal[shown], *spent[shown]) if np.isfinite(value)]
    top = max([1.0, *(float(value) for value in finite)]) * 1.15
    figure = go.Figure()
    looks = (
        ("code made for p", ideal, {"color": style.fade(FIRST, 0.55), "line": {"width": 0}}),
        ("code made for q", spent, {"color": "rgba(0,0,0,0)", "line": {"width": 2.5, "color": SECOND}}),
    )
    for name, heights, marker in looks:
        figure.add_bar(
            x=left[shown],
            y=np.minimum(heights[shown], top),
            width=np.asarray(p)[shown],
            offset=0,
            name=name,
            marker=marker,
            customdata=[
                [names[place], f"{p[place]:.4f}", _length(heights[place]), _length(p[place] * heights[place])]
                for place in shown
            ],
            hovertemplate=f"<b>%{{customdata[0]}}</b>, {name}<br>comes with probability %{{customdata[1]}}"
            f"<br>costs %{{customdata[2]}} {unit}, %{{customdata[3]}} on average<extra></extra>",
        )
    figure.update_xaxes(
        axis("probability p (width)", dark)
        | {
            "range": [0, 1],
            "showgrid": False,
            "tickmode": "array",
            "tickvals": [float(left[place] + p[place] / 2) for place in shown],
            "ticktext": [names[place] for place in shown],
        }
    )
    figure.update_yaxes(axis(f"length of its code word ({unit})", dark, range=[0, top]))
    return style.arrange(figure, dark=dark, height=300, barmode="overlay", **LEGEND)


def _length(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "infinitely many"
