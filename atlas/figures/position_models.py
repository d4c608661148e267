"""Pictures of models trained alike but for their positions: scores by length, similarity of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]

KINDS: Final[dict[str, tuple[str, str, str]]] = {
    "sinusoidal": (style.SERIES[0], "solid", "circle"),
    "learned": (style.SERIES[1], "dash", "diamond"),
    "none": (style.SERIES[2], "dot", "square"),
}
"""Kind of positions -> colour, dash and marker of its curve."""
_IN_ORDER: Final = (
    (style.SERIES[0], "solid", "circle"),
    (style.SERIES[1], "dash", "diamond"),
    (style.SERIES[2], "dot", "square"),
    (style.SERIES[3], "dashdot", "x"),
)


@dataclass(frozen=True)
class LengthCurve:
    """One model's scores by length.

    Attributes:
        kind: of positions, or whatever else tells the models apart (then the curves are styled in order).
        value, low, high: ``(G,)``, the score and its interval; NaN where there is no sentence.
        name: in the legend; "positions: KIND" if empty.
    """

    kind: str
    value: Floats
    low: Floats
    high: Floats
    name: str = ""


def scores_by_length(
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
        colour, dash, symbol = KINDS.get(curve.kind, _IN_ORDER[index % len(_IN_ORDER)])
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
            name=style.escape(curve.name or f"positions: {curve.kind}"),
            line={"color": colour, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 9},
            hovertemplate=f"{style.escape(curve.name or curve.kind)}<br>{score} %{{y:.2f}}, 95% interval "
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
