"""BLEU against the number of heads that remain, for several orders of removal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating[Any]]
_DASHES = ("solid", "dash", "dot")


@dataclass(frozen=True)
class PruneCurve:
    """One order.

    Attributes:
        name: in the legend.
        remaining: ``(P,)`` heads that remain.
        bleu, low, high: ``(P,)`` BLEU and its band.
    """

    name: str
    remaining: Floats
    bleu: Floats
    low: Floats
    high: Floats


def prune_curves(curves: Sequence[PruneCurve], *, chosen: int, dark: bool = False) -> go.Figure:
    """Draw the curves with their bands.

    Args:
        curves: at most three.
        chosen: heads that remain now, marked by a line.
        dark: for a dark page.
    """
    figure = go.Figure()
    for curve, colour, dash in zip(curves, style.SERIES, _DASHES, strict=False):
        figure.add_scatter(
            x=np.concatenate([curve.remaining, curve.remaining[::-1]]),
            y=np.concatenate([curve.high, curve.low[::-1]]),
            mode="lines",
            fill="toself",
            fillcolor=style.fade(colour, 0.15),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            x=curve.remaining,
            y=curve.bleu,
            customdata=np.stack([curve.low, curve.high], axis=-1),
            mode="lines+markers",
            name=style.escape(curve.name),
            line={"color": colour, "dash": dash, "width": 2},
            hovertemplate=style.escape(curve.name) + "<br>%{x} heads remain: BLEU %{y:.2f} "
            "(%{customdata[0]:.2f} to %{customdata[1]:.2f})<extra></extra>",
        )
    figure.add_vline(x=chosen, line={"color": style.ink(dark), "width": 1, "dash": "dot"})
    figure.update_xaxes(title={"text": "heads that remain"}, autorange="reversed", gridcolor=style.grid(dark))
    figure.update_yaxes(title={"text": "greedy BLEU"}, rangemode="tozero", gridcolor=style.grid(dark))
    return style.arrange(figure, height=380, dark=dark)
