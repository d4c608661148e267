"""Pictures of a model that was trained without the causal mask, beside the one that was trained with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating[Any]]

COLOURS: Final = {"without": style.COLOURS["finished"], "baseline": style.COLOURS["decoder"]}
"""One colour for each of the two models, in all their pictures."""
NAMES: Final = {"without": "no mask", "baseline": "mask"}
_LEGEND: Final = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}


def loss_curves(histories: Mapping[str, Mapping[str, Floats]], *, dark: bool = False) -> go.Figure:
    """Training and development loss of both models against the number of updates.

    Args:
        histories: ``without`` and ``baseline``, each with ``step``, ``train_loss`` and ``development_loss``
            (nats a token) as arrays ``(N,)``.
        dark: for a dark page.
    """
    figure = go.Figure()
    for which, history in histories.items():
        for column, words, dash in (
            ("train_loss", "training", "solid"),
            ("development_loss", "development", "dot"),
        ):
            figure.add_scatter(
                x=np.asarray(history["step"], dtype=np.float64),
                y=np.asarray(history[column], dtype=np.float64),
                mode="lines+markers",
                name=f"{NAMES[which]}, {words}",
                line={"color": COLOURS[which], "width": 2.5, "dash": dash},
                marker={"size": 5, "symbol": "circle" if which == "baseline" else "diamond"},
                hovertemplate=f"{NAMES[which]}, {words}<br>%{{x:,}} updates<br>%{{y:.3f}} nats a token"
                "<extra></extra>",
            )
    figure.update_xaxes(
        title={"text": "updates"},
        gridcolor=style.grid(dark),
        zeroline=False,
        automargin=True,
        rangemode="tozero",
    )
    figure.update_yaxes(
        title={"text": "loss (nats a token)"}, gridcolor=style.grid(dark), zerolinecolor=style.ink(dark),
        rangemode="tozero", automargin=True,
    )  # fmt: skip
    return style.arrange(figure, dark=dark, height=360, legend=_LEGEND)


def shares(labels: Sequence[str], values: Mapping[str, Sequence[float]], *, dark: bool = False) -> go.Figure:
    """Bars side by side for both models.

    Args:
        labels: what each of the G groups is, our own words.
        values: ``without`` and ``baseline``, G shares from 0 to 1 each.
        dark: for a dark page.
    """
    figure = go.Figure()
    for which, numbers in values.items():
        figure.add_bar(
            x=np.arange(len(labels)),
            y=np.asarray(numbers, dtype=np.float64),
            name=NAMES[which],
            marker={"color": COLOURS[which], "pattern": {"shape": "/" if which == "without" else ""}},
            text=[f"{number:.1%}" for number in numbers],
            textposition="outside",
            cliponaxis=False,
            hovertemplate=f"{NAMES[which]}<br>%{{x}}<br>%{{y:.2%}}<extra></extra>",
        )
    figure.update_xaxes(**style.token_axis(labels))
    figure.update_yaxes(
        title={"text": "share of tokens"}, range=[0, 1.12], tickformat=".0%", gridcolor=style.grid(dark),
        automargin=True,
    )  # fmt: skip
    return style.arrange(figure, dark=dark, height=360, barmode="group", bargap=0.35, legend=_LEGEND)
