"""The logit lens: what every depth of the decoder would have said (nostalgebraist 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style

Floats = NDArray[np.floating[Any]]


_TITLED = 6
"""From so many rows on there is room beside them for the title of the scale and all of its ticks."""


def lens_table(
    said: Sequence[Sequence[str]],
    probability: Floats,
    depths: Sequence[str],
    read: Sequence[str],
    following: Sequence[str],
    *,
    chosen: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """A cell for each position and depth: the likeliest token, tinted by its probability.

    Positions run down, so that the translation reads from top to bottom; depths run to the right.

    Args:
        said: ``(L+1, T)`` labels of the likeliest tokens, not escaped.
        probability: ``(L+1, T)``.
        depths: ``(L+1,)`` names.
        read: ``(T,)`` labels of the token read at each position; ``following``: of what followed in the end.
        chosen: the position to be marked.
        dark: for a dark page.

    Raises:
        ValueError: shapes that do not fit.
    """
    shape = (len(depths), len(read))
    if probability.shape != shape or len(said) != shape[0] or any(len(row) != shape[1] for row in said):
        raise ValueError(f"a lens of {shape[0]} depths and {shape[1]} positions needs {shape} tokens")
    rows = [
        f"{style.escape(one)} → <b>{style.escape(after)}</b>"
        for one, after in zip(read, following, strict=True)
    ]
    cells = [[style.escape(said[depth][place]) for depth in range(shape[0])] for place in range(shape[1])]
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(probability.T, dtype=np.float32),
            zmin=0,
            zmax=1,
            colorscale=style.sequential(dark),
            text=cells,
            xgap=2,
            ygap=2,
            customdata=[[row] * shape[0] for row in rows],
            hovertemplate="%{customdata}<br>%{x}: <b>%{text}</b> with probability %{z:.4f}<extra></extra>",
            colorbar={
                "thickness": 10,
                "outlinewidth": 0,
                "title": {"text": "probability", "side": "right"} if shape[1] >= _TITLED else None,
                "tickvals": [0, 0.25, 0.5, 0.75, 1] if shape[1] >= _TITLED else [0, 1],
                "len": 1,
                "ypad": 0,
            },
        )
    )
    # Texts of their own, since a heatmap's have one colour: each takes the ink that stands out in its cell.
    table = ["#{:02x}{:02x}{:02x}".format(*colour) for colour in style.colour_table(dark)]
    grounds = [table[round(float(value) * 255)] for value in probability.T.ravel()]
    down, across = np.indices((shape[1], shape[0])).reshape(2, -1)
    figure.add_scatter(
        x=across,
        y=down,
        mode="text",
        text=[cell for row in cells for cell in row],
        textfont={
            "size": 13,
            "color": [_ink(ground) for ground in grounds],
        },
        hoverinfo="skip",
        showlegend=False,
    )
    if chosen is not None:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=shape[0] - 0.5,
            y0=chosen - 0.5,
            y1=chosen + 0.5,
            line={"color": style.COLOURS["decoder"], "width": 2},
        )
    figure.update_xaxes(style.token_axis(depths, every=1, side="top"))
    names = style.token_axis(read, every=1, range=[shape[1] - 0.5, -0.5])
    figure.update_yaxes(names | {"ticktext": rows})
    return style.arrange(
        figure, dark=dark, height=26 * shape[1] + 60, margin={"l": 8, "r": 8, "t": 34, "b": 8}
    )


def _ink(ground: str) -> str:
    """The ink, light or dark, that stands out more on a ``#rrggbb``."""
    light, dark = style.ink(True), style.ink(False)
    return light if style.contrast(light, ground) > style.contrast(dark, ground) else dark


def lens_course(
    depths: Sequence[str], probability: Floats, rank: NDArray[np.integer[Any]], *, dark: bool = False
) -> go.Figure:
    """Probability and rank, depth by depth, of the token that followed in the end.

    Args:
        depths: ``(L+1,)`` names.
        probability: ``(L+1,)``.
        rank: ``(L+1,)``, from 1, on a logarithmic axis with 1 on top.
        dark: for a dark page.
    """
    figure = make_subplots(rows=1, cols=2, horizontal_spacing=0.14)
    places = np.arange(len(depths))
    series = (
        (probability, "probability", style.COLOURS["decoder"], "%{y:.4f}"),
        (rank, "rank in the vocabulary (log)", style.SERIES[1], "%{y:,d}"),
    )
    for column, (values, name, colour, number) in enumerate(series, 1):
        figure.add_scatter(
            x=places,
            y=values,
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker={"size": 9},
            hovertemplate=f"%{{x}}<br>{name} {number}<extra></extra>",
            row=1,
            col=column,
        )
        figure.update_xaxes(style.token_axis(depths, every=1), row=1, col=column)
        figure.update_yaxes(
            title={"text": name},
            gridcolor=style.grid(dark),
            zeroline=False,
            automargin=True,
            row=1,
            col=column,
        )
    figure.update_yaxes(range=[-0.02, 1.02], row=1, col=1)
    top = float(np.log10(max(int(np.max(rank)), 10)))
    figure.update_yaxes(type="log", range=[top + 0.15, -0.15], dtick=1, row=1, col=2)
    return style.arrange(figure, dark=dark, height=280, showlegend=False)
