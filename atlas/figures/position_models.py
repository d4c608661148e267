"""Pictures of models trained alike but for their positions: similarity of rows."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]


def row_similarity(similarity: Floats, *, trained: int | None = None, dark: bool = False) -> go.Figure:
    """Cosine between every two rows of a position table, -1 to 1.

    Args:
        similarity: ``(P, P)``.
        trained: rows that training reached; lines part them from the rest. None draws no line.
        dark: for a dark page.
    """
    last = len(similarity) - 0.5
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(similarity, dtype=np.float32),
            colorscale=style.diverging(dark),
            zmin=-1,
            zmax=1,
            colorbar={"title": {"text": "cosine"}, "thickness": 12, "outlinewidth": 0},
            hovertemplate="positions %{y} and %{x}<br>cosine %{z:.3f}<extra></extra>",
        )
    )
    if trained is not None and trained < len(similarity):
        edge = trained - 0.5
        line = {"color": style.ink(dark), "width": 1.5, "dash": "dot"}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=-0.5, y1=last, line=line)
        figure.add_shape(type="line", x0=-0.5, x1=last, y0=edge, y1=edge, line=line)
    axis = {"showgrid": False, "zeroline": False, "range": [-0.5, last], "automargin": True}
    figure.update_xaxes(axis, title={"text": "position (tokens)"}, constrain="domain")
    figure.update_yaxes(
        axis | {"range": [last, -0.5]},
        title={"text": "position (tokens)"},
        scaleanchor="x",
        constrain="domain",
    )
    return style.arrange(figure, dark=dark, height=380)
