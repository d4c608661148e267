"""Learning curves of several runs on one sheet: loss, perplexity, learning rate, BLEU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style
from atlas.figures.training import axis

PANELS: Final = ("loss", "perplexity", "rate", "bleu")
"""The four panels, row by row."""
TITLES: Final = {
    "loss": "loss (nats a token)",
    "perplexity": "perplexity = exp(loss)",
    "rate": "learning rate",
    "bleu": "BLEU, greedy",
}


@dataclass(frozen=True)
class Curve:
    """One line.

    Attributes:
        run: whose, for the legend; not escaped.
        panel: one of :data:`PANELS`.
        x: ``(N,)``.
        y: ``(N,)``.
        faint: for a loss on training sentences, beside that on held-out ones.
    """

    run: str
    panel: str
    x: NDArray[np.floating[Any]]
    y: NDArray[np.floating[Any]]
    faint: bool = False


def learning_curves(curves: Sequence[Curve], *, across: str, dark: bool = False) -> go.Figure:
    """Draw runs in four panels that share what runs across; one colour (and dash) is one run in all of them.

    Args:
        curves: in any order; a run keeps its colour by the order in which runs first come.
        across: title of the axis that all share.
        dark: for a dark page.

    Raises:
        ValueError: a panel that does not exist, or x and y of different length.
    """
    figure = make_subplots(rows=2, cols=2, shared_xaxes=True, horizontal_spacing=0.09, vertical_spacing=0.1)
    runs = list(dict.fromkeys(curve.run for curve in curves))
    named: set[str] = set()
    for curve in curves:
        if curve.panel not in PANELS:
            raise ValueError(f"panel must be one of {', '.join(PANELS)}, not {curve.panel!r}")
        if len(curve.x) != len(curve.y):
            raise ValueError(f"{curve.run}: {len(curve.x)} places and {len(curve.y)} values")
        number, place = runs.index(curve.run), PANELS.index(curve.panel)
        colour = style.SERIES[number % len(style.SERIES)]
        name = style.escape(curve.run)
        which = " (training)" if curve.faint else ""
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            row=place // 2 + 1,
            col=place % 2 + 1,
            mode="lines+markers" if len(curve.x) < 30 and not curve.faint else "lines",
            name=name,
            legendgroup=name,
            showlegend=curve.run not in named and not curve.faint,
            line={
                "color": style.fade(colour, 0.5) if curve.faint else colour,
                "width": 1.5 if curve.faint else 2,
                "dash": "dot" if curve.faint else style.DASHES[(0, 1, 3)[number % 3]],
            },
            marker={"size": 5},
            hovertemplate=f"<b>{name}</b>{which}<br>{across} %{{x:,.4g}}<br>{TITLES[curve.panel]} %{{y:.4g}}"
            "<extra></extra>",
        )
        if not curve.faint:
            named.add(curve.run)
    for place, panel in enumerate(PANELS):
        where = {"row": place // 2 + 1, "col": place % 2 + 1}
        scale = {"type": "log", "dtick": 1} if panel == "perplexity" else {"rangemode": "tozero"}
        figure.update_yaxes(axis(TITLES[panel], dark, **scale), **where)
        figure.update_xaxes(axis(across if place > 1 else "", dark, rangemode="tozero"), **where)
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
    return style.arrange(figure, dark=dark, height=620, legend=legend)
