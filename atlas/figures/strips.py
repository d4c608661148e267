"""Vectors as strips of colour: a row each, a cell a number, zero in the colour of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

_ROW = 30
_AROUND = 64


def strips(
    vectors: NDArray[np.floating[Any]],
    labels: Sequence[str],
    *,
    dark: bool = False,
    limit: float | None = None,
) -> go.Figure:
    """Draw ``N`` vectors of one width, the first on top, on one scale around zero.

    Args:
        vectors: ``(N, D)``, finite.
        labels: ``N`` names of the rows, not escaped.
        dark: for a dark page.
        limit: the absolute value at the ends of the scale, above 0; beyond it the colour no longer grows,
            the number in the hover does. By default the largest absolute value drawn.

    Returns:
        A figure whose first trace holds all numbers in ``z``.

    Raises:
        ValueError: not a label a row, no numbers, a number that is not finite, or a limit of 0 or below.
    """
    drawn = np.asarray(vectors, dtype=np.float32)
    if drawn.ndim != 2 or 0 in drawn.shape:
        raise ValueError(f"strips draw vectors (N, D) and not nothing; these have shape {drawn.shape}")
    if len(drawn) != len(labels):
        raise ValueError(f"{len(drawn)} vectors have {len(labels)} labels")
    if not np.isfinite(drawn).all():
        raise ValueError("strips draw finite numbers only")
    if limit is not None and not limit > 0:
        raise ValueError(f"the scale must end above 0, not at {limit:g}")
    end = limit if limit is not None else float(np.abs(drawn).max()) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=drawn,
            zmin=-end,
            zmax=end,
            colorscale=style.diverging(dark),
            ygap=3,
            hovertemplate="<b>%{y}</b><br>dimension %{x}<br>value %{z:.4f}<extra></extra>",
            colorbar={
                "thickness": 10,
                "outlinewidth": 0,
                "tickvals": [-end, 0, end],
                "ticktext": [f"{-end:.3g}".replace("-", "−"), "0", f"{end:.3g}"],
                "title": {"text": "value"},
            },
        )
    )
    figure.update_xaxes(
        title={"text": "dimension", "standoff": 4},
        range=[-0.5, drawn.shape[1] - 0.5],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    figure.update_yaxes(style.token_axis(labels, every=1, range=[len(labels) - 0.5, -0.5]))
    return style.arrange(figure, height=_ROW * len(labels) + _AROUND, dark=dark)
