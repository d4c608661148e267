"""Pictures of a model at several moments of its training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.training import FIRST, LEGEND, SECOND, axis

Floats = NDArray[np.floating[Any]]


def losses_by_update(
    steps: Sequence[int],
    sentence: Floats,
    history: tuple[Floats, Floats] | None,
    *,
    chosen: int,
    dark: bool = False,
) -> go.Figure:
    """The loss of one sentence at every snapshot beside the loss on held-out sentences, updates on a log
    axis.

    Args:
        steps: N updates, rising.
        sentence: ``(N,)`` nats a token.
        history: steps and losses of the held-out sentences; None where they are unknown.
        chosen: place in ``steps`` that is marked.
        dark: for a dark page.
    """
    figure = go.Figure()
    if history is not None:
        figure.add_scatter(
            x=history[0],
            y=history[1],
            mode="lines",
            name="held-out sentences",
            line={"color": SECOND, "width": 2, "dash": "dash"},
            hovertemplate="update %{x:,}<br>held-out sentences %{y:.3f} nats a token<extra></extra>",
        )
    figure.add_scatter(
        x=list(steps),
        y=np.asarray(sentence, dtype=np.float64),
        mode="lines+markers",
        name="this sentence",
        line={"color": FIRST, "width": 2},
        marker={"size": 8},
        hovertemplate="update %{x:,}<br>this sentence %{y:.3f} nats a token<extra></extra>",
    )
    _mark(figure, steps, sentence, chosen, FIRST)
    figure.update_xaxes(_updates(steps, dark))
    figure.update_yaxes(axis("loss (nats a token)", dark, rangemode="tozero"))
    return style.arrange(figure, dark=dark, height=290, **LEGEND)


def distances_by_update(
    steps: Sequence[int],
    layers: Floats,
    head: tuple[str, Floats],
    *,
    chosen: int,
    dark: bool = False,
) -> go.Figure:
    """How far attention still is from what it will be, at every snapshot.

    Args:
        steps: N updates, rising; the last is the final model.
        layers: ``(L, N)``, mean over the heads of each layer.
        head: name and ``(N,)`` of the chosen head.
        chosen: place in ``steps`` that is marked.
        dark: for a dark page.
    """
    figure = go.Figure()
    for layer, values in enumerate(np.asarray(layers, dtype=np.float64)):
        figure.add_scatter(
            x=list(steps),
            y=values,
            mode="lines",
            name=f"layer {layer + 1}, mean",
            line={
                "color": style.fade(style.SERIES[layer % len(style.SERIES)], 0.75),
                "width": 1.5,
                "dash": "dot",
            },
            hovertemplate=f"update %{{x:,}}<br>layer {layer + 1}: %{{y:.1%}} elsewhere<extra></extra>",
        )
    name, values = head
    figure.add_scatter(
        x=list(steps),
        y=np.asarray(values, dtype=np.float64),
        mode="lines+markers",
        name=name,
        line={"color": style.ink(dark), "width": 2.5},
        marker={"size": 7},
        hovertemplate=f"update %{{x:,}}<br>{name}: %{{y:.1%}} elsewhere<extra></extra>",
    )
    _mark(figure, steps, values, chosen, style.ink(dark))
    figure.update_xaxes(_updates(steps, dark))
    figure.update_yaxes(axis("weight not yet in its place", dark, tickformat=".0%", rangemode="tozero"))
    return style.arrange(figure, dark=dark, height=290, **LEGEND)


def _mark(figure: go.Figure, steps: Sequence[int], values: Floats, chosen: int, colour: str) -> None:
    figure.add_scatter(
        x=[steps[chosen]],
        y=[float(values[chosen])],
        mode="markers",
        marker={"size": 18, "symbol": "circle-open", "color": colour, "line": {"width": 2.5}},
        hoverinfo="skip",
        showlegend=False,
    )


def _updates(steps: Sequence[int], dark: bool) -> dict[str, Any]:
    return axis("updates (log scale)", dark) | {
        "type": "log",
        "tickmode": "array",
        "tickvals": list(steps),
        "ticktext": [f"{step:,}" for step in steps],
    }
