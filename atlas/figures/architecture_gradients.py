"""Charts of gradients by layer: post- against pre-norm, with residual connections and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style

Floats = NDArray[np.float64]

FLOOR = 1e-18
"""Gradients below this stand at the bottom of their chart; their hover says what they are."""
_LEGEND: dict[str, Any] = {
    "legend": {"orientation": "h", "x": 0, "y": 1.1, "yanchor": "bottom", "xanchor": "left"}
}
_NORM_COLOURS = {"post": style.SERIES[1], "pre": style.SERIES[0]}


@dataclass(frozen=True)
class Curve:
    """Gradient norms of one kind of model: ``(L,)`` for the encoder and for the decoder."""

    norm: str
    residual: bool
    encoder: Floats
    decoder: Floats

    @property
    def name(self) -> str:
        """As the legend says it."""
        return f"{self.norm}-norm" + ("" if self.residual else ", no residual")


def gradients(curves: Sequence[Curve], *, dark: bool = False) -> go.Figure:
    """Gradient norm by layer on a logarithmic axis, encoder left and decoder right.

    Args:
        curves: the models to compare; what is below :data:`FLOOR` stands at the bottom, its hover tells.
        dark: for a dark page.
    """
    figure = make_subplots(
        cols=2, shared_yaxes=True, horizontal_spacing=0.04, subplot_titles=("encoder", "decoder")
    )
    lowest = 1.0
    for curve in curves:
        for column, norms in enumerate((curve.encoder, curve.decoder), 1):
            shown = np.maximum(norms, FLOOR)
            lowest = min(lowest, float(shown.min()))
            figure.add_scatter(
                x=np.arange(1, len(norms) + 1),
                y=shown,
                customdata=[f"{norm:.3g}" if norm else "exactly 0 in float64" for norm in norms],
                mode="lines+markers" if len(norms) <= 24 else "lines",
                name=curve.name,
                legendgroup=curve.name,
                showlegend=column == 1,
                line={
                    "color": _NORM_COLOURS[curve.norm],
                    "width": 3 if curve.residual else 2,
                    "dash": "solid" if curve.residual else "dot",
                },
                hovertemplate="layer %{x}<br>gradient norm %{customdata}<extra>" + curve.name + "</extra>",
                row=1,
                col=column,
            )
    layers = max(len(curve.encoder) for curve in curves)
    figure.update_xaxes(_axis("layer (1 is next to the words)", dark, range=[0.5, layers + 0.5]))
    decades = _log_axis(lowest, 10.0)
    figure.update_yaxes(_axis("", dark, **decades))
    figure.update_yaxes(title={"text": "gradient norm, all weights of a layer"}, row=1, col=1)
    return style.arrange(
        figure, dark=dark, height=380, **_LEGEND | {"margin": {"l": 8, "r": 8, "t": 80, "b": 8}}
    )


def depths(
    layers: Sequence[int], series: Mapping[str, tuple[str, str, Floats]], *, dark: bool = False
) -> go.Figure:
    """Gradient norm of a layer against the number of layers, on logarithmic axes.

    Args:
        layers: ``(N,)``, L.
        series: name -> (norm, "first" or "last", norms ``(N,)``).
        dark: for a dark page.
    """
    figure = go.Figure()
    lowest = 1.0
    for name, (norm, which, norms) in series.items():
        shown = np.maximum(norms, FLOOR)
        lowest = min(lowest, float(shown.min()))
        figure.add_scatter(
            x=list(layers),
            y=shown,
            customdata=[f"{value:.3g}" for value in norms],
            mode="lines+markers",
            name=name,
            marker={"size": 9, "symbol": "circle" if which == "last" else "diamond-open"},
            line={"color": _NORM_COLOURS[norm], "width": 2.5, "dash": "solid" if which == "last" else "dash"},
            hovertemplate="%{x} layers<br>gradient norm %{customdata}<extra>"
            + style.escape(name)
            + "</extra>",
        )
    figure.update_xaxes(
        _axis(
            "decoder layers", dark, type="log", tickvals=list(layers), ticktext=[str(one) for one in layers]
        )
    )
    figure.update_yaxes(_axis("gradient norm", dark, **_log_axis(lowest, 10.0)))
    return style.arrange(figure, dark=dark, height=340, **_LEGEND)


def _log_axis(lowest: float, highest: float) -> dict[str, Any]:
    low, high = np.floor(np.log10(lowest)), np.ceil(np.log10(highest))
    return {
        "type": "log",
        "range": [float(low) - 0.3, float(high) + 0.3],
        "dtick": max(1, int((high - low) // 6)),
        "exponentformat": "power",
    }


def _axis(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title},
        "gridcolor": style.grid(dark),
        "zeroline": False,
        "automargin": True,
    } | more
