"""Heads on a plane on which look-alikes stand together."""

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
    chosen: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """One point a head.

    Args:
        places: ``(N, 2)``.
        names: of the heads, such as ``2.5``.
        does: what each is called for what it does, or an empty text.
        values: ``(N,)``, told by the colour.
        title: of the values.
        chosen: number of the head with a ring.
        dark: for a dark page.
    """
    figure = go.Figure(
        go.Scatter(
            x=places[:, 0],
            y=places[:, 1],
            mode="markers+text",
            text=[style.escape(name) for name in names],
            textposition="top center",
            textfont={"size": 11},
            customdata=np.stack(
                [[style.escape(one or "no name") for one in does], [f"{value:.3f}" for value in values]],
                axis=-1,
            ),
            marker={
                "size": 13,
                "color": np.asarray(values, dtype=np.float32),
                "colorscale": style.sequential(dark),
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
