"""Heads on a plane on which look-alikes stand together, and cells of heads that can be clicked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating[Any]]


def heads_map(
    places: Floats,
    names: Sequence[str],
    does: Sequence[str],
    values: Floats,
    *,
    title: str,
    signed: bool = False,
    largest: float = 1.0,
    chosen: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """One point a head.

    Args:
        places: ``(N, 2)``.
        names: of the heads, such as ``2.5``.
        does: what each is called for what it does, or an empty text.
        values: ``(N,)``, told by the colour; NaN by a cross.
        title: of the values.
        signed: colours around zero, to ±``largest``, instead of from 0, as in the table of the same values.
        largest: the value at the end of the scale.
        chosen: number of the head with a ring.
        dark: for a dark page.
    """
    known = np.isfinite(values)
    figure = go.Figure(
        go.Scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers+text",
            text=[style.escape(name) for name in names],
            textposition="top center",
            textfont={"size": 11},
            customdata=np.stack(
                [
                    [style.escape(one or "no name") for one in does],
                    [
                        f"{value:.3f}" if there else "not defined"
                        for value, there in zip(values, known, strict=True)
                    ],
                ],
                axis=-1,
            ),
            marker={
                "size": 13,
                "color": np.where(known, values, 0).astype(np.float32),
                "cmin": -largest if signed else 0,
                "cmax": largest,
                "symbol": ["circle" if there else "circle-cross" for there in known],
                "colorscale": style.diverging(dark) if signed else style.sequential(dark),
                "line": {"color": style.ink(dark), "width": 1},
                "showscale": False,
            },
            hovertemplate="%{text}: %{customdata[0]}<br>"
            + style.escape(title)
            + " %{customdata[1]}<extra></extra>",
            showlegend=False,
        )
    )
    if chosen is not None:
        figure.add_scatter(
            x=[places[chosen, 0]],
            y=[places[chosen, 1]],
            mode="markers",
            marker={
                "size": 22,
                "color": "rgba(0,0,0,0)",
                "line": {"color": style.COLOURS["query"], "width": 3},
            },
            hoverinfo="skip",
            showlegend=False,
        )
    axis = {"showticklabels": False, "showgrid": False, "zeroline": False, "ticks": ""}
    figure.update_xaxes(title={"text": "nearer is more alike"}, **axis)
    figure.update_yaxes(**axis)
    return style.arrange(figure, height=360, dark=dark)


def clickable(figure: go.Figure, tips: Sequence[Sequence[str]]) -> go.Figure:
    """Let the cells of :func:`~atlas.figures.head_table.head_table` be clicked.

    Plotly selects points, not the cells of a heatmap: an unseen point is put in the middle of each cell.

    Args:
        figure: changed in place.
        tips: L lists of H texts for the hover of each cell, not escaped.

    Returns:
        The same figure; point ``n`` of its last trace is layer ``n // H``, head ``n % H``.
    """
    cells = [(layer, head) for layer, row in enumerate(tips) for head in range(len(row))]
    figure.update_traces(hoverinfo="skip", hovertemplate=None)
    return figure.add_trace(
        go.Scatter(
            x=[head + 1 for _, head in cells],
            y=[layer + 1 for layer, _ in cells],
            mode="markers",
            marker={"opacity": 0, "size": 34, "symbol": "square"},
            hovertext=[style.escape(tips[layer][head]) for layer, head in cells],
            hoverinfo="text",
            showlegend=False,
        )
    )
