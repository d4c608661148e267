"""What the pictures of the Training page share: plain axes, a legend above, bars of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

LEGEND: Final[dict[str, Any]] = {
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
}
"""A legend in one row above the picture."""
FIRST: Final = style.SERIES[0]
SECOND: Final = style.SERIES[1]
"""Two colours without a meaning of their own, for two of a kind; they are told apart by place or sign too."""


def axis(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    """A numeric axis with a title, a faint grid and room for its labels; ``more`` as in Plotly."""
    return {
        "title": {"text": title},
        "gridcolor": style.grid(dark),
        "zeroline": False,
        "automargin": True,
    } | more


@dataclass(frozen=True)
class Bars:
    """One number for each token, drawn as bars.

    Attributes:
        name: for the legend.
        values: ``(N,)``.
        colour: ``#rrggbb``.
        notes: ``(N,)`` more lines of the hover, plain text; none when empty.
    """

    name: str
    values: NDArray[np.floating[Any]]
    colour: str
    notes: Sequence[str] = ()


def token_bars(
    labels: Sequence[str],
    groups: Sequence[Bars],
    *,
    unit: str,
    title: str,
    dark: bool = False,
    height: int = 340,
) -> go.Figure:
    """Bars side by side for every token.

    Args:
        labels: ``(N,)`` token labels, not escaped.
        groups: what stands side by side, each with N values.
        unit: of the values, for the hover.
        title: of the upward axis.
        dark: for a dark page.
        height: pixels.

    Raises:
        ValueError: a group that has not one value for each token.
    """
    figure = go.Figure()
    shown = [style.escape(label) for label in labels]
    for group in groups:
        values = [float(value) for value in group.values]
        if len(values) != len(labels) or len(group.notes) not in (0, len(labels)):
            raise ValueError(f"{group.name}: {len(values)} values for {len(labels)} tokens")
        notes = [style.escape(note) for note in group.notes] or [""] * len(labels)
        figure.add_bar(
            x=list(range(len(labels))),
            y=values,
            name=group.name,
            marker={"color": group.colour},
            customdata=[
                [label, f"<br>{note}" if note else ""] for label, note in zip(shown, notes, strict=True)
            ],
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{group.name}: %{{y:.3f}} {unit}%{{customdata[1]}}"
            "<extra></extra>",
        )
    figure.update_xaxes(style.token_axis(labels))
    figure.update_yaxes(axis(title, dark, rangemode="tozero"))
    legend = LEGEND if len(groups) > 1 else {"showlegend": False}
    return style.arrange(figure, dark=dark, height=height, barmode="group", bargap=0.25, **legend)
