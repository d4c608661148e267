"""Feed-forward units: how many are silent, and what ReLU and GELU make of the same sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style

Floats = NDArray[np.floating[Any]]
_LEGEND: dict[str, Any] = {
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
}


def silent_bars(
    layers: Sequence[str],
    sides: Sequence[str],
    token: Floats,
    sentence: Floats,
    corpus: Floats | None,
    *,
    current: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Share of silent units in every layer: for the chosen token, over the sentence, over many sentences.

    Args:
        layers: ``(N,)`` names, not escaped.
        sides: ``(N,)``, ``encoder`` or ``decoder``.
        token, sentence: ``(N,)`` shares, 0 to 1.
        corpus: ``(N,)``, or None where nobody has measured it.
        current: the layer to be marked.
        dark: for a dark page.
    """
    places = np.arange(len(layers))
    figure = go.Figure()
    figure.add_bar(
        x=places,
        y=100 * np.asarray(token),
        name="this token",
        marker={"color": [style.COLOURS[side] for side in sides]},
        showlegend=False,
        hovertemplate="%{x}<br>this token: %{y:.1f}% silent<extra></extra>",
    )
    marks = [("all tokens of this text", sentence, "line-ew", style.ink(dark))]
    if corpus is not None:
        marks.append(("held-out sentences", corpus, "diamond", style.SERIES[1]))
    for name, values, symbol, colour in marks:
        figure.add_scatter(
            x=places,
            y=100 * np.asarray(values),
            mode="markers",
            name=name,
            marker={"symbol": symbol, "size": 12, "color": colour, "line": {"width": 2, "color": colour}},
            hovertemplate=f"%{{x}}<br>{name}: %{{y:.1f}}% silent<extra></extra>",
        )
    if current is not None:
        figure.add_vrect(
            x0=current - 0.5, x1=current + 0.5, fillcolor=style.fade(style.ink(dark), 0.12), line_width=0
        )
    figure.update_xaxes(style.token_axis(layers, every=1))
    figure.update_yaxes(
        title={"text": "silent units (%)"},
        range=[0, 104],
        gridcolor=style.grid(dark),
        zeroline=False,
        automargin=True,
    )
    return style.arrange(figure, dark=dark, height=300, **_LEGEND)


def activation_curves(
    grid: Floats, relu: Floats, gelu: Floats, sums: Floats, *, dark: bool = False
) -> go.Figure:
    """ReLU, GELU and their difference, above where the sums of a real layer lie.

    Args:
        grid: ``(N,)``, where the curves are drawn.
        relu, gelu: ``(N,)``.
        sums: ``(M,)``, what went into the activations of a layer; those outside the grid are counted at its
            ends.
        dark: for a dark page.
    """
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.65, 0.35])
    curves = (
        ("ReLU", relu, style.SERIES[0], "solid"),
        ("GELU", gelu, style.SERIES[1], "dash"),
        ("GELU − ReLU", gelu - relu, style.ink(dark), "dot"),
    )
    for name, values, colour, dash in curves:
        figure.add_scatter(
            x=grid,
            y=values,
            mode="lines",
            name=name,
            line={"color": colour, "width": 2, "dash": dash},
            hovertemplate=f"{name}(%{{x:.2f}}) = %{{y:.4f}}<extra></extra>",
            row=1,
            col=1,
        )
    edges = np.linspace(grid[0], grid[-1], 61)
    counts, _ = np.histogram(np.clip(sums, grid[0], grid[-1]), edges)
    figure.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=100 * counts / max(len(sums), 1),
        marker={"color": style.COLOURS["pruned"]},
        showlegend=False,
        hovertemplate="sum about %{x:.2f}: %{y:.1f}% of units and tokens<extra></extra>",
        row=2,
        col=1,
    )
    plain = {"gridcolor": style.grid(dark), "zeroline": False, "automargin": True}
    figure.update_xaxes(plain)
    figure.update_xaxes(title={"text": "x W1 + b1"}, row=2, col=1)
    figure.update_yaxes(plain | {"title": {"text": "activation"}}, row=1, col=1)
    figure.update_yaxes(plain | {"title": {"text": "share (%)"}}, row=2, col=1)
    return style.arrange(figure, dark=dark, height=380, bargap=0.05, **_LEGEND)
