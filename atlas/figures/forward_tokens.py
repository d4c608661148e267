"""Tokens with a number each, as bars: scores, logits, probabilities and what is cut of them, draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Floats = NDArray[np.floating[Any]]
_LEGEND: dict[str, Any] = {
    "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "xanchor": "left"}
}
_ROW = 24


def token_bars(
    labels: Sequence[str],
    values: Floats,
    quantity: str,
    *,
    hovers: Sequence[str] = (),
    colour: str = style.SERIES[0],
    dark: bool = False,
) -> go.Figure:
    """One bar a token, the first on top, its number at its end.

    Args:
        labels: ``(N,)``, not escaped.
        values: ``(N,)``.
        quantity: what the numbers are, with their unit, for the axis.
        hovers: ``(N,)``, more words about each, not escaped.
        colour: of the bars.
        dark: for a dark page.

    Raises:
        ValueError: not a label a value.
    """
    if len(labels) != len(values) or (hovers and len(hovers) != len(values)):
        raise ValueError(f"{len(values)} bars have {len(labels)} labels and {len(hovers)} hovers")
    names = [style.escape(label) for label in labels]
    more = [f"<br>{style.escape(hover)}" for hover in hovers] or [""] * len(names)
    figure = go.Figure(
        go.Bar(
            x=np.asarray(values, dtype=np.float64),
            y=np.arange(len(names)),
            orientation="h",
            marker={"color": colour},
            text=[f"{value:.3g}" for value in values],
            textposition="outside",
            cliponaxis=False,
            customdata=list(zip(names, more, strict=True)),
            hovertemplate="<b>%{customdata[0]}</b><br>"
            + style.escape(quantity)
            + " %{x:.4f}%{customdata[1]}<extra></extra>",
        )
    )
    figure.update_xaxes(_numbers(quantity, dark))
    figure.update_yaxes(_names(labels))
    return style.arrange(figure, dark=dark, height=_ROW * len(names) + 64, margin=_margin(8))


def candidate_bars(
    labels: Sequence[str],
    own: Floats,
    after: Floats,
    *,
    words: str,
    chosen: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """The likeliest next tokens before and after the temperature and the cuts; those that were cut in grey.

    Args:
        labels: ``(N,)``, not escaped.
        own: ``(N,)``, probability that the model gives.
        after: ``(N,)``, probability that the token is drawn with; exactly 0 for one that was cut.
        words: what ``after`` is, for the legend.
        chosen: the row of the token that was chosen.
        dark: for a dark page.

    Returns:
        A figure with the traces ``own`` and ``after``; a token that was cut is grey in both.
    """
    names = [style.escape(label) for label in labels]
    cut = np.asarray(after) == 0
    kept, grey = style.COLOURS["decoder"], style.COLOURS["pruned"]
    solid = [grey if gone else kept for gone in cut]
    fates = ["cut: cannot be drawn" if gone else "can be drawn" for gone in cut]
    figure = go.Figure()
    series = (
        ("the model's own (T = 1)", own, [style.fade(colour, 0.35) for colour in solid]),
        (words, after, solid),
    )
    for name, values, colours in series:
        figure.add_bar(
            x=np.asarray(values, dtype=np.float64),
            y=np.arange(len(names)),
            orientation="h",
            name=name,
            marker={"color": colours, "line": {"color": solid, "width": 1}},
            customdata=list(zip(names, fates, strict=True)),
            hovertemplate=f"<b>%{{customdata[0]}}</b><br>{style.escape(name)}: %{{x:.4f}}"
            "<br>%{customdata[1]}<extra></extra>",
            # Colours are by token; the legend shows the two strengths.
            showlegend=False,
        )
    for name, opacity in (("the model's own (T = 1)", 0.35), (words, 1.0)):
        figure.add_scatter(**_key(name, style.fade(kept, opacity), kept))
    if cut.any():
        figure.add_scatter(**_key("cannot be drawn", grey, grey))
    figure.update_xaxes(_numbers("probability", dark), rangemode="tozero")
    figure.update_yaxes(_names(labels, chosen))
    return style.arrange(
        figure,
        dark=dark,
        height=_ROW * len(names) + 100,
        margin=_margin(36),
        barmode="group",
        bargap=0.25,
        **_LEGEND,
    )


def draw_bars(
    labels: Sequence[str], probability: Floats, frequency: Floats, draws: int, *, dark: bool = False
) -> go.Figure:
    """How often each token was drawn against its probability, with two standard errors about it.

    Args:
        labels: ``(N,)``, not escaped.
        probability: ``(N,)``, what is drawn from.
        frequency: ``(N,)``, share of the draws.
        draws: how many; the standard error of a share is ``sqrt(p (1 - p) / draws)``.
        dark: for a dark page.
    """
    names = [style.escape(label) for label in labels]
    expected = np.asarray(probability, dtype=np.float64)
    error = 2 * np.sqrt(expected * (1 - expected) / draws)
    figure = go.Figure()
    figure.add_bar(
        x=np.asarray(frequency, dtype=np.float64),
        y=np.arange(len(names)),
        orientation="h",
        name=f"share of {draws:,} draws",
        marker={"color": style.fade(style.COLOURS["decoder"], 0.55)},
        customdata=names,
        hovertemplate="<b>%{customdata}</b><br>drawn %{x:.4f} of the time<extra></extra>",
    )
    figure.add_scatter(
        x=expected,
        y=np.arange(len(names)),
        mode="markers",
        name="probability ± 2 standard errors",
        marker={"color": style.ink(dark), "size": 8, "symbol": "line-ns", "line": {"width": 2}},
        error_x={"type": "data", "array": error, "color": style.ink(dark), "thickness": 1.2, "width": 4},
        customdata=names,
        hovertemplate="<b>%{customdata}</b><br>probability %{x:.4f}<extra></extra>",
    )
    figure.update_xaxes(_numbers("share", dark), rangemode="tozero")
    figure.update_yaxes(_names(labels))
    return style.arrange(figure, dark=dark, height=_ROW * len(names) + 100, margin=_margin(36), **_LEGEND)


def _margin(top: int) -> dict[str, int]:
    return {"l": 8, "r": 48, "t": top, "b": 8}


def _key(name: str, colour: str, edge: str) -> dict[str, Any]:
    """An entry of the legend alone."""
    return {
        "x": [None],
        "y": [None],
        "mode": "markers",
        "name": name,
        "marker": {"color": colour, "size": 11, "symbol": "square", "line": {"color": edge, "width": 1}},
    }


def _numbers(title: str, dark: bool) -> dict[str, Any]:
    return {
        "title": {"text": style.escape(title), "standoff": 4},
        "gridcolor": style.grid(dark),
        "zeroline": False,
        "automargin": True,
    }


def _names(labels: Sequence[str], chosen: int | None = None) -> dict[str, Any]:
    axis = style.token_axis(labels, every=1, range=[len(labels) - 0.5, -0.5])
    if chosen is not None:
        axis["ticktext"] = [
            f"<b>▸ {text}</b>" if row == chosen else text for row, text in enumerate(axis["ticktext"])
        ]
    return axis
