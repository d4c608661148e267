"""Curves of what generating costs: multiply-adds, seconds and milliseconds a step against the length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating[Any]]

WITH, WITHOUT = style.SERIES[0], style.SERIES[1]
"""With a cache of keys and values, and without: one colour each in all these pictures."""
_LEGEND: Final = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}


@dataclass(frozen=True)
class Curve:
    """One line of a picture.

    Attributes:
        name: for the legend, our own words.
        values: ``(N,)``, above 0.
        colour: of the line.
        dash: its dash, as Plotly names it.
        symbol: of its markers.
    """

    name: str
    values: Floats
    colour: str
    dash: str = "solid"
    symbol: str = "circle"


def by_length(
    lengths: Sequence[int], curves: Sequence[Curve], axis: str, unit: str, *, dark: bool = False
) -> go.Figure:
    """Curves against the length, both axes logarithmic: a power of the length is a straight line.

    Args:
        lengths: N lengths in tokens.
        curves: what to draw.
        axis: title of the vertical axis.
        unit: of a value, for the hover.
        dark: for a dark page.
    """
    figure = go.Figure()
    for curve in curves:
        figure.add_scatter(
            x=np.asarray(lengths, dtype=np.float64),
            y=np.asarray(curve.values, dtype=np.float64),
            mode="lines+markers",
            name=curve.name,
            line={"color": curve.colour, "width": 2.5, "dash": curve.dash},
            marker={"size": 8, "symbol": curve.symbol},
            hovertemplate=f"{curve.name}<br>%{{x}} tokens<br>%{{y:.4s}} {unit}<extra></extra>",
        )
    figure.update_xaxes(
        title={"text": "length (tokens, both axes logarithmic)"}, type="log", tickmode="array",
        tickvals=list(lengths), ticktext=[f"{length:,}" for length in lengths],
        gridcolor=style.grid(dark), zeroline=False, automargin=True,
    )  # fmt: skip
    figure.update_yaxes(
        title={"text": axis}, type="log", dtick=1, exponentformat="SI", gridcolor=style.grid(dark),
        zeroline=False, automargin=True,
    )  # fmt: skip
    return style.arrange(figure, dark=dark, height=380, legend=_LEGEND)


def step_times(seconds: Mapping[str, Floats], *, dark: bool = False) -> go.Figure:
    """How long each step took.

    Args:
        seconds: ``with`` and ``without``, ``(N,)`` seconds each.
        dark: for a dark page.
    """
    figure = go.Figure()
    for which, name, colour, symbol in (
        ("without", "without a cache", WITHOUT, "diamond"),
        ("with", "with a cache", WITH, "circle"),
    ):
        values = np.asarray(seconds[which], dtype=np.float64) * 1000
        figure.add_scatter(
            x=np.arange(1, len(values) + 1, dtype=np.float64),
            y=values,
            mode="markers",
            name=name,
            marker={"size": 5, "color": colour, "symbol": symbol, "opacity": 0.8},
            hovertemplate=f"{name}<br>token %{{x}}<br>%{{y:.2f}} ms<extra></extra>",
        )
    figure.update_xaxes(
        title={"text": "token generated"}, gridcolor=style.grid(dark), zeroline=False, automargin=True
    )
    figure.update_yaxes(
        title={"text": "time of the step (ms, logarithmic)"},
        type="log",
        dtick="D2",
        gridcolor=style.grid(dark),
        zeroline=False,
        automargin=True,
    )
    return style.arrange(figure, dark=dark, height=380, legend=_LEGEND)


def step_operations(parts: Mapping[str, Floats], *, dark: bool = False) -> go.Figure:
    """What one step costs, stacked by part.

    Args:
        parts: name -> ``(N,)`` multiply-adds of the n-th step; the first lies at the bottom.
        dark: for a dark page.
    """
    figure = go.Figure()
    for index, (name, values) in enumerate(parts.items()):
        colour = style.SERIES[index % len(style.SERIES)]
        figure.add_scatter(
            x=np.arange(1, len(values) + 1, dtype=np.float64),
            y=np.asarray(values, dtype=np.float64),
            mode="lines",
            name=name,
            stackgroup="parts",
            line={"width": 1, "color": colour},
            fillcolor=style.fade(colour, 0.55),
            hovertemplate=f"{name}<br>token %{{x}}<br>%{{y:.4s}} multiply-adds<extra></extra>",
        )
    figure.update_xaxes(title={"text": "token generated"}, gridcolor=style.grid(dark), automargin=True)
    figure.update_yaxes(
        title={"text": "multiply-adds of the step"}, exponentformat="SI", gridcolor=style.grid(dark),
        rangemode="tozero", automargin=True,
    )  # fmt: skip
    return style.arrange(figure, dark=dark, height=380, legend=_LEGEND)
