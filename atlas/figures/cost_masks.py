"""Pictures of the causal mask: the matrix that is added, and how far a replaced token is felt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating[Any]]

_WRITTEN: Final = 20
"""Up to so many tokens a side each cell has its number written in it."""


def mask_matrix(
    mask: Floats, labels: Sequence[str], *, dark: bool = False, height: int | None = None
) -> go.Figure:
    """An additive mask: the number that is added in each cell, minus infinity drawn as such.

    Args:
        mask: ``(T, T)``, query down, key across: one finite constant where a key is visible, minus infinity
            elsewhere.
        labels: of the T tokens read, not escaped.
        dark: for a dark page.
        height: pixels; by default it grows with T.

    Raises:
        ValueError: a mask that is not square, or as many labels as it does not have rows.
    """
    count = len(labels)
    if mask.shape != (count, count):
        raise ValueError(f"a mask of {count} tokens is ({count}, {count}), not {mask.shape}")
    hidden = np.isneginf(mask)
    words = np.where(hidden, "−∞", [[f"{value:g}" for value in row] for row in np.where(hidden, 0, mask)])
    scale = [
        [0.0, style.fade(style.COLOURS["decoder"], 0.2)],
        [0.5, style.fade(style.COLOURS["decoder"], 0.2)],
    ]
    dim = style.fade(style.ink(dark), 0.13)
    figure = go.Figure(
        go.Heatmap(
            z=hidden.astype(np.uint8),
            zmin=0,
            zmax=1,
            colorscale=[*scale, [0.5, dim], [1.0, dim]],
            showscale=False,
            text=words.tolist(),
            texttemplate="%{text}" if count <= _WRITTEN else None,
            textfont={"size": 13 if count <= 14 else 10, "color": style.ink(dark)},
            hovertemplate="<b>%{y} → %{x}</b><br>added to the score: %{text}<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    if count > _WRITTEN:
        added = f"{float(mask[~hidden][0]):g}: visible"
        for name, colour in ((added, scale[0][1]), ("−∞: hidden", dim)):
            figure.add_scatter(
                x=[None], y=[None], mode="markers", name=name, showlegend=True,
                marker={
                    "size": 12, "symbol": "square", "color": colour,
                    "line": {"color": style.ink(dark), "width": 1},
                },
            )  # fmt: skip
    return _square(figure, labels, dark, height)


def _square(figure: go.Figure, labels: Sequence[str], dark: bool, height: int | None) -> go.Figure:
    count = len(labels)
    size = 13 if count <= 24 else 10
    every = max(1, -(-count // 28))
    slanted = count > 6
    figure.update_xaxes(
        **style.token_axis(
            labels,
            every=every,
            side="top",
            tickangle=-60 if slanted else 0,
            automargin=False,
            tickfont={"size": size},
        ),  # fmt: skip
        title={"text": "key", "font": {"color": style.text_colour("key", dark)}, "standoff": 4},
    )
    figure.update_yaxes(
        **style.token_axis(labels, every=every, range=[max(count, 1) - 0.5, -0.5], tickfont={"size": size}),
        title={"text": "query (token read)", "font": {"color": style.text_colour("query", dark)}},
    )
    above = min(8 * max(map(len, labels), default=0) + 8 if slanted else 18, 220) + 40
    tall = height if height is not None else min(max(24 * count + 24, 160), 800) + above
    legend = {"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "xanchor": "left"}
    below = 34 if len(figure.data) > 1 else 8
    return style.arrange(
        figure, height=tall, dark=dark, legend=legend, margin={"l": 8, "r": 8, "t": above, "b": below}
    )


def change_by_position(
    labels: Sequence[str], differences: Floats, place: int, *, dark: bool = False
) -> go.Figure:
    """How far the logits of every position moved when the token at ``place`` was replaced.

    Args:
        labels: of the T tokens read, not escaped.
        differences: ``(T,)``, largest absolute change of the logits of each position.
        place: of the replaced token.
        dark: for a dark page.
    """
    places = np.arange(len(labels))
    before = places < place
    figure = go.Figure()
    for name, chosen, colour in (
        ("before the replaced token", before, style.COLOURS["pruned"]),
        ("the replaced token and what follows", ~before, style.COLOURS["decoder"]),
    ):
        figure.add_bar(
            x=places[chosen],
            y=np.asarray(differences[chosen], dtype=np.float64),
            name=name,
            marker={"color": colour},
            text=["0" if value == 0 else f"{value:.2g}" for value in differences[chosen]],
            textposition="outside",
            cliponaxis=False,
            customdata=[style.escape(labels[index]) for index in places[chosen]],
            hovertemplate="after reading %{customdata}<br>largest change of a logit %{y:.3g}<extra></extra>",
        )
    figure.add_shape(
        type="line", x0=place - 0.5, x1=place - 0.5, y0=0, y1=1, yref="paper",
        line={"color": style.COLOURS["decoder"], "width": 2, "dash": "dot"},
    )  # fmt: skip
    figure.update_xaxes(**style.token_axis(labels, tickangle=-45 if len(labels) > 8 else 0))
    top = float(np.max(differences, initial=0.0)) or 1.0
    figure.update_yaxes(
        title={"text": "largest change of a logit"}, range=[0, 1.15 * top], gridcolor=style.grid(dark),
        zeroline=True, zerolinecolor=style.ink(dark), automargin=True,
    )  # fmt: skip
    return style.arrange(
        figure,
        dark=dark,
        height=320,
        barmode="overlay",
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
    )
