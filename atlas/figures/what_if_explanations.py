"""Pictures of what a token is said to depend on: readings by source word, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Numbers = NDArray[np.floating[Any]]
_CELL: Final = 34
_WRITTEN: Final = 16
_SLANTED_FROM: Final = 10


def readings(
    shares: Numbers,
    words: Sequence[str],
    names: Sequence[str],
    *,
    tops: Sequence[int] = (),
    dark: bool = False,
) -> go.Figure:
    """Several readings of the source words as rows of one heatmap, on one scale.

    Args:
        shares: ``(M, W)`` in -1..1: the share of each word in its row, negative where it spoke against the
            token.
        words: W source words, not escaped.
        names: M readings.
        tops: for each reading the word to be framed, its largest; none draws no frame.
        dark: for a dark page.

    Raises:
        ValueError: labels that do not fit the numbers.
    """
    if shares.shape != (len(names), len(words)):
        raise ValueError(f"shares {shares.shape} for {len(names)} readings of {len(words)} words")
    end = float(np.abs(shares).max(initial=0.0)) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=shares,
            zmin=-end,
            zmax=end,
            colorscale=style.diverging(dark),
            xgap=1,
            ygap=3,
            texttemplate="%{z:.0%}" if len(words) <= _WRITTEN else None,
            hovertemplate="<b>%{x}</b><br>%{y}<br>share %{z:.1%}<extra></extra>",
            colorbar={"thickness": 10, "outlinewidth": 0, "tickformat": ".0%", "nticks": 5},
        )
    )
    for row, column in enumerate(tops):
        figure.add_shape(
            type="rect",
            x0=column - 0.48,
            x1=column + 0.48,
            y0=row - 0.44,
            y1=row + 0.44,
            line={"color": style.COLOURS["query"], "width": 2},
        )
    slanted = len(words) > _SLANTED_FROM
    figure.update_xaxes(style.token_axis(words, side="top", tickangle=-45 if slanted else 0))
    figure.update_yaxes(style.token_axis(names, every=1, range=[len(names) - 0.5, -0.5]))
    return style.arrange(figure, height=_CELL * len(names) + (110 if slanted else 60), dark=dark)


def correlations(matrix: Numbers, names: Sequence[str], *, dark: bool = False) -> go.Figure:
    """Rank correlations of readings as a small matrix with its numbers written in it.

    Args:
        matrix: ``(M, M)`` in -1..1; NaN where it is not defined.
        names: M short names of the readings.
        dark: for a dark page.

    Raises:
        ValueError: not a square of the names.
    """
    if matrix.shape != (len(names), len(names)):
        raise ValueError(f"a matrix {matrix.shape} for {len(names)} readings")
    written = [
        ["–" if np.isnan(value) else f"{value:.2f}".replace("-", "−") for value in row] for row in matrix
    ]
    figure = go.Figure(
        go.Heatmap(
            z=matrix,
            zmin=-1.0,
            zmax=1.0,
            colorscale=style.diverging(dark),
            text=written,
            texttemplate="%{text}",
            xgap=2,
            ygap=2,
            hovertemplate="%{y}<br>%{x}<br>ρ = %{text}<extra></extra>",
            showscale=False,
        )
    )
    figure.update_xaxes(style.token_axis(names, every=1, side="top", tickangle=-45))
    figure.update_yaxes(style.token_axis(names, every=1, range=[len(names) - 0.5, -0.5]))
    return style.arrange(figure, height=_CELL * len(names) + 110, dark=dark)
