"""Pictures of how far apart the closest two positions are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating]
_LEGEND: dict[str, Any] = {
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
}
_MOST_POINTS = 600


def distance_by_length(
    curves: Sequence[tuple[str, Floats, NDArray[np.integer], NDArray[np.integer]]],
    *,
    length: int,
    dark: bool = False,
) -> go.Figure:
    """The smallest distance between any two positions as a table grows, both axes logarithmic.

    Args:
        curves: name, smallest distance among the first n rows for n from 2 ``(P - 1,)``, and the pair that
            attains it, ``(P - 1,)`` each. Two equal rows (distance 0) end a curve, since its axis has no 0.
            A long curve is thinned; every change of its value stays.
        length: n that is looked at, drawn as a line.
        dark: for a dark page.
    """
    figure = go.Figure()
    for index, (name, smallest, first, second) in enumerate(curves):
        kept = _kept(smallest)
        figure.add_scatter(
            x=kept + 2,
            y=np.where(smallest[kept] > 0, smallest[kept], np.nan),
            customdata=np.stack([first[kept], second[kept]], axis=1),
            mode="lines",
            name=style.escape(name),
            line={
                "color": style.SERIES[index % len(style.SERIES)],
                "width": 2,
                "shape": "hv",
                "dash": ("solid", "dash", "dot")[index % 3],
            },
            hovertemplate="among the first %{x:,} positions<br>smallest distance %{y:.4g}"
            "<br>between %{customdata[0]:,} and %{customdata[1]:,}<extra></extra>",
        )
    figure.add_vline(x=length, line={"color": style.ink(dark), "width": 1, "dash": "dot"})
    figure.update_xaxes(_axis("positions (log scale)", dark, type="log", dtick=1, exponentformat="none"))
    positive = np.concatenate([smallest[smallest > 0] for _, smallest, _, _ in curves])
    lowest, highest = (float(f(positive, initial=1.0)) for f in (np.min, np.max))
    figure.update_yaxes(
        _axis("smallest distance (log scale)", dark, type="log", dtick=1, exponentformat="power"),
        range=[np.log10(lowest) - 0.5, np.log10(highest) + 0.5],
    )
    return style.arrange(figure, dark=dark, height=340, **_LEGEND)


def distance_by_width(
    widths: Sequence[int],
    smallest: Floats,
    shifts: NDArray[np.integer],
    *,
    length: int,
    width: int,
    dark: bool = False,
) -> go.Figure:
    """The smallest distance between any two sinusoidal positions by width, both axes logarithmic.

    Args:
        widths: W widths D.
        smallest: ``(W,)``.
        shifts: ``(W,)``, how many positions apart the closest two are.
        length: positions compared, for the hover.
        width: of the loaded model, marked; one that is not among ``widths`` is not.
        dark: for a dark page.
    """
    own = [i for i, one in enumerate(widths) if one == width]
    figure = go.Figure()
    figure.add_scatter(
        x=list(widths),
        y=smallest,
        customdata=shifts,
        mode="lines+markers",
        name="published formula",
        line={"color": style.SERIES[0], "width": 2},
        marker={"size": 7},
        hovertemplate=f"width %{{x}}, {length:,} positions<br>smallest distance %{{y:.4g}}"
        "<br>%{customdata:,} positions apart<extra></extra>",
    )
    if own:
        figure.add_scatter(
            x=[widths[i] for i in own],
            y=[smallest[i] for i in own],
            mode="markers",
            name=f"this model's width, {width}",
            marker={"size": 15, "symbol": "circle-open", "color": style.SERIES[1], "line": {"width": 3}},
            hoverinfo="skip",
        )
    figure.update_xaxes(
        _axis("width D (log scale)", dark, type="log")
        | {"tickvals": list(widths), "ticktext": [str(one) for one in widths]}
    )
    figure.update_yaxes(_axis("smallest distance (log scale)", dark, type="log", exponentformat="power"))
    return style.arrange(figure, dark=dark, height=340, **_LEGEND)


def _kept(values: Floats) -> NDArray[np.int64]:
    """Indices to draw: every change, and enough between them, evenly on a logarithmic axis."""
    changes = np.flatnonzero(np.diff(values)) + 1
    spaced = np.geomspace(1, len(values), _MOST_POINTS).astype(np.int64) - 1
    return np.unique(np.concatenate([changes, spaced, [len(values) - 1]]))


def _axis(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title},
        "gridcolor": style.grid(dark),
        "zeroline": False,
        "automargin": True,
    } | more
