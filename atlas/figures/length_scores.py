"""Scores of several models by the length of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]

_LOOKS: Final = tuple(
    zip(style.SERIES, ("solid", "dash", "dot", "dashdot"), ("circle", "diamond", "square", "x"), strict=False)
)


@dataclass(frozen=True)
class LengthCurve:
    """One model's scores by length.

    Attributes:
        name: in the legend.
        value, low, high: ``(G,)``, the score and its interval; NaN where there is no sentence.
        look: number of its colour, dash and marker, the same wherever the model is shown.
    """

    name: str
    value: Floats
    low: Floats
    high: Floats
    look: int


def length_curves(
    curves: Sequence[LengthCurve],
    groups: Sequence[str],
    counts: Sequence[int],
    *,
    score: str,
    within: int,
    dark: bool = False,
) -> go.Figure:
    """Scores of several models by the length of the source, with intervals.

    Args:
        curves: one a model; points of different models stand a little apart.
        groups: G names of the groups, in tokens.
        counts: ``(G,)`` sentences.
        score: its name, such as ``BLEU``.
        within: how many groups, from the first, lie within the lengths of training; what comes after is
            shaded.
        dark: for a dark page.
    """
    figure = go.Figure()
    places = np.arange(len(groups))
    for index, curve in enumerate(curves):
        colour, dash, symbol = _LOOKS[curve.look]
        moved = places + 0.09 * (index - (len(curves) - 1) / 2)
        figure.add_scatter(
            x=moved,
            y=curve.value,
            customdata=np.stack([curve.low, curve.high, np.asarray(counts, dtype=np.float64)], axis=1),
            error_y={
                "type": "data",
                "symmetric": False,
                "array": curve.high - curve.value,
                "arrayminus": curve.value - curve.low,
                "thickness": 1.4,
                "width": 4,
            },
            mode="lines+markers",
            name=style.escape(curve.name),
            line={"color": colour, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 9},
            hovertemplate=f"{style.escape(curve.name)}<br>{score} %{{y:.2f}}, 95% interval "
            "%{customdata[0]:.2f} to %{customdata[1]:.2f}<br>%{customdata[2]:,.0f} sentences<extra></extra>",
        )
    ticks = [f"{style.escape(name)}<br>n = {count:,}" for name, count in zip(groups, counts, strict=True)]
    figure.update_xaxes(
        style.token_axis(groups),
        title={"text": "tokens of the source, end mark included"},
        ticktext=ticks,
    )
    figure.update_yaxes(title={"text": score}, gridcolor=style.grid(dark), zeroline=False, rangemode="tozero")
    if within < len(groups):
        figure.add_vrect(
            x0=within - 0.5,
            x1=len(groups) - 0.5,
            fillcolor=style.fade(style.COLOURS["pruned"], 0.14),
            line_width=0,
            layer="below",
            annotation={"text": "longer than any in training", "font": {"size": 12}},
            annotation_position="top right",
        )
    return style.arrange(
        figure,
        dark=dark,
        height=380,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"},
    )
