"""The residual stream of one token: the vectors of one stage, and its norm and change over the whole pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style
from atlas.figures.strips import strips

Floats = NDArray[np.floating[Any]]
_BESIDE = 190


def stage_strips(
    vectors: Floats, labels: Sequence[str], norms: Floats, means: Floats, *, dark: bool = False
) -> go.Figure:
    """The vectors of a stage as strips, the norm and the mean of each beside it.

    Args:
        vectors: ``(N, D)`` in the order in which they are computed, the first on top.
        labels: ``(N,)``, not escaped.
        norms, means: ``(N,)``.
        dark: for a dark page.
    """
    figure = strips(vectors, labels, dark=dark)
    figure.update_traces(colorbar_x=1.0, colorbar_xref="container", colorbar_xanchor="right")
    figure.update_yaxes(tickfont={"size": 14})
    for row, (norm, mean) in enumerate(zip(norms, means, strict=True)):
        figure.add_annotation(
            x=1,
            y=row,
            xref="x domain",
            xanchor="left",
            xshift=10,
            text=f"norm {norm:.2f} · mean {mean:+.3f}",
            showarrow=False,
            font={"color": style.ink(dark), "size": 13},
        )
    size = 42 * len(labels) + 64
    return style.arrange(figure, dark=dark, height=size, margin={"l": 8, "r": _BESIDE + 70, "t": 8, "b": 8})


def overview(
    names: Sequence[str],
    sides: Sequence[str],
    norm: Floats,
    ratio: Floats,
    *,
    current: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Norm of the stream and relative change after every stage, from the first embedding to the last layer.

    Args:
        names: ``(N,)``, of the stages, not escaped.
        sides: ``(N,)``, ``encoder`` or ``decoder``: the colour of each.
        norm, ratio: ``(N,)``; a ratio may be NaN where there is none.
        current: the stage to be marked, counted from 0 among these N.
        dark: for a dark page.

    Returns:
        A figure whose first trace, of points, holds the norms: its point ``i`` is stage ``i``.
    """
    places = np.arange(len(names))
    colours = [style.COLOURS[side] for side in sides]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.55, 0.45])
    shown = [style.escape(name) for name in names]
    figure.add_scatter(
        x=places,
        y=norm,
        customdata=shown,
        mode="markers",
        marker={"color": colours, "size": 11},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate="<b>%{customdata}</b><br>norm of the stream %{y:.2f}<extra></extra>",
        row=1,
        col=1,
    )
    for side in dict.fromkeys(sides):
        own = np.array([one == side for one in sides])
        figure.add_scatter(
            x=places[own],
            y=np.asarray(norm)[own],
            mode="lines",
            line={"color": style.COLOURS[side], "width": 1.5},
            hoverinfo="skip",
            row=1,
            col=1,
        )
    figure.add_bar(
        x=places,
        y=ratio,
        customdata=shown,
        marker={"color": colours},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate="<b>%{customdata}</b><br>‖change‖ / ‖stream‖ %{y:.3f}<extra></extra>",
        row=2,
        col=1,
    )
    if current is not None:
        figure.add_vrect(
            x0=current - 0.5, x1=current + 0.5, fillcolor=style.fade(style.ink(dark), 0.12), line_width=0
        )
    plain = {"gridcolor": style.grid(dark), "zeroline": False, "automargin": True}
    figure.update_xaxes(showgrid=False, zeroline=False, showticklabels=False, range=[-0.6, len(names) - 0.4])
    figure.update_xaxes(
        style.token_axis(names, every=1, tickangle=-60, tickfont={"size": 12}, showticklabels=True),
        row=2,
        col=1,
    )
    figure.update_yaxes(plain | {"title": {"text": "norm"}, "rangemode": "tozero"}, row=1, col=1)
    figure.update_yaxes(plain | {"title": {"text": "‖change‖ / ‖stream‖"}}, row=2, col=1)
    return style.arrange(figure, dark=dark, height=420, showlegend=False)
