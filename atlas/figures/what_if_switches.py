"""What was done to each head as a figure: the twin of the switches of the page What if."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from atlas.figures import style


def switches_figure(grids: Sequence[Mapping[str, Any]], *, dark: bool = False) -> go.Figure:
    """One row a layer, the kinds of attention under each other, one cell a head.

    Args:
        grids: for each kind ``label`` and ``rows``: a list of cells ``[mode, sign, title]`` a layer.
        dark: for a dark page.

    Returns:
        A heatmap: 0 as trained, 1 changed; a changed cell holds its sign (0 off, u uniform, or its factor).
    """
    rows = [row for grid in grids for row in grid["rows"]]
    names = [f"{grid['label']}, layer {layer}" for grid in grids for layer in range(1, len(grid["rows"]) + 1)]
    changed = np.array([[float(mode != "trained") for mode, _, _ in row] for row in rows], dtype=np.float32)
    heads = changed.shape[1] if rows else 0
    figure = go.Figure(
        go.Heatmap(
            z=changed.reshape(len(rows), heads),
            text=[[style.escape(sign) if mode != "trained" else "" for mode, sign, _ in row] for row in rows],
            hovertext=[[style.escape(title) for _, _, title in row] for row in rows],
            texttemplate="%{text}",
            hovertemplate="%{y}, head %{x}: %{hovertext}<extra></extra>",
            zmin=-0.2,  # a head as trained is faintly there
            zmax=1.4,
            colorscale=style.sequential(dark),
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    figure.update_xaxes(style.token_axis([str(head + 1) for head in range(heads)], title={"text": "head"}))
    figure.update_yaxes(style.token_axis(names, range=[max(len(names), 1) - 0.5, -0.5]))
    return style.arrange(figure, height=90 + 26 * max(len(rows), 1), dark=dark)
