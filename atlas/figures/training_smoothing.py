"""Pictures of label smoothing: the target, the least loss, and two models that learned with it and
without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style
from atlas.figures.training import FIRST, LEGEND, SECOND, axis

Floats = NDArray[np.floating[Any]]
_SHOWN = 12


def target_bars(right: float, other: float, classes: int, *, dark: bool = False) -> go.Figure:
    """The smoothed target: one right class and ``classes - 1`` others, of which at most 11 are drawn.

    Args:
        right: probability of the right class.
        other: probability of each other class.
        classes: K.
        dark: for a dark page.
    """
    count = min(classes, _SHOWN)
    values = [right] + [other] * (count - 1)
    figure = go.Figure(
        go.Bar(
            x=list(range(count)),
            y=values,
            marker={"color": [style.COLOURS["kept"]] + [style.COLOURS["pruned"]] * (count - 1)},
            text=[f"{value:.3g}" for value in values],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x}: probability %{y:.6g}<extra></extra>",
        )
    )
    names = ["right", *(f"other {number}" for number in range(1, count))]
    if classes > count:
        names[-1] = f"… {classes - count + 1:,} more"
    figure.update_xaxes(style.token_axis(names, tickangle=-40 if count > 6 else 0))
    figure.update_yaxes(axis("probability in the target", dark, range=[0, 1.12]))
    return style.arrange(figure, dark=dark, height=320, showlegend=False)


def least_loss(
    alphas: Floats, floors: Sequence[tuple[str, Floats]], *, alpha: float, dark: bool = False
) -> go.Figure:
    """The least cross-entropy that a smoothed target allows, against how much is spread.

    Args:
        alphas: ``(N,)``.
        floors: name and ``(N,)`` nats of each line.
        alpha: the one chosen, drawn as a level.
        dark: for a dark page.
    """
    figure = go.Figure()
    for number, (name, values) in enumerate(floors):
        figure.add_scatter(
            x=alphas,
            y=values,
            mode="lines",
            name=name,
            line={"color": style.SERIES[number], "width": 2.5, "dash": "solid" if number == 0 else "dash"},
            hovertemplate=f"{name}<br>α %{{x:.3f}}<br>at least %{{y:.4f}} nats<extra></extra>",
        )
    figure.add_vline(x=alpha, line={"color": style.ink(dark), "width": 1, "dash": "dot"})
    figure.update_xaxes(axis("α, the share that is spread", dark))
    figure.update_yaxes(axis("least cross-entropy (nats)", dark, rangemode="tozero"))
    return style.arrange(figure, dark=dark, height=320, **LEGEND)


def reliability_diagram(
    counts: NDArray[np.integer[Any]], confidence: Floats, accuracy: Floats, *, colour: str, dark: bool = False
) -> go.Figure:
    """How often a model is right when it is so sure (Guo et al. 2017, figure 1), and how often it is so sure.

    Args:
        counts: ``(bins,)`` predictions.
        confidence: ``(bins,)`` mean confidence of each bin.
        accuracy: ``(bins,)`` share of right ones.
        colour: of the bars.
        dark: for a dark page.
    """
    bins = len(counts)
    middles = (np.arange(bins) + 0.5) / bins
    filled = np.asarray(counts) > 0
    rows = np.stack([counts, confidence, accuracy - confidence], axis=1)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.74, 0.26], vertical_spacing=0.05)
    figure.add_bar(
        x=middles[filled],
        y=np.asarray(accuracy, dtype=np.float64)[filled],
        width=0.94 / bins,
        customdata=rows[filled],
        marker={"color": style.fade(colour, 0.75)},
        name="right predictions",
        hovertemplate="mean confidence %{customdata[1]:.3f}<br>right %{y:.3f} (%{customdata[2]:+.3f})"
        "<br>%{customdata[0]:,.0f} tokens<extra></extra>",
        row=1,
        col=1,
    )
    figure.add_scatter(
        x=np.asarray(confidence)[filled],
        y=np.asarray(confidence)[filled],
        mode="markers",
        marker={"color": style.ink(dark), "size": 7, "symbol": "line-ew-open", "line": {"width": 2}},
        name="mean confidence",
        hoverinfo="skip",
        row=1,
        col=1,
    )
    figure.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": style.ink(dark), "width": 1, "dash": "dot"},
        name="as right as it is sure",
        hoverinfo="skip",
        row=1,
        col=1,
    )
    figure.add_bar(
        x=middles,
        y=np.asarray(counts) / max(int(np.sum(counts)), 1),
        width=0.94 / bins,
        marker={"color": style.COLOURS["pruned"]},
        showlegend=False,
        hovertemplate="%{y:.1%} of the tokens<extra></extra>",
        row=2,
        col=1,
    )
    figure.update_xaxes(axis("", dark, range=[0, 1]), row=1)
    figure.update_xaxes(axis("confidence: probability of the likeliest token", dark, range=[0, 1]), row=2)
    figure.update_yaxes(axis("right", dark, range=[0, 1]), row=1)
    figure.update_yaxes(axis("tokens", dark, tickformat=".0%"), row=2)
    return style.arrange(figure, dark=dark, height=430, **LEGEND)


def two_histograms(
    edges: Floats, first: Floats, second: Floats, *, names: tuple[str, str], title: str, dark: bool = False
) -> go.Figure:
    """Shares of tokens of two models over the same bins, as steps.

    Args:
        edges: ``(N + 1,)``.
        first, second: ``(N,)`` counts.
        names: of the two.
        title: of the axis, with its unit.
        dark: for a dark page.
    """
    figure = go.Figure()
    middles = (edges[1:] + edges[:-1]) / 2
    for values, name, colour in ((first, names[0], FIRST), (second, names[1], SECOND)):
        figure.add_scatter(
            x=middles,
            y=np.asarray(values) / max(float(np.sum(values)), 1.0),
            mode="lines",
            line={"color": colour, "width": 2, "shape": "hvh"},
            fill="tozeroy",
            fillcolor=style.fade(colour, 0.18),
            name=name,
            hovertemplate=f"{name}<br>about %{{x:.2f}}: %{{y:.1%}} of the tokens<extra></extra>",
        )
    figure.update_xaxes(axis(title, dark))
    figure.update_yaxes(axis("tokens", dark, tickformat=".0%", rangemode="tozero"))
    return style.arrange(figure, dark=dark, height=280, **LEGEND)


def gradient_strips(
    groups: Sequence[tuple[str, Floats, str]], *, clip: float | None, dark: bool = False
) -> go.Figure:
    """Gradient norms of many batches: a point a batch, a box around the middle half, on a logarithmic axis.

    Args:
        groups: name, ``(N,)`` norms and colour of each.
        clip: the norm beyond which training scaled gradients down, drawn as a level; none where it did not.
        dark: for a dark page.
    """
    figure = go.Figure()
    for place, (name, norms, colour) in enumerate(groups):
        figure.add_box(
            x=[place] * len(norms),
            y=np.asarray(norms, dtype=np.float64),
            name=name,
            boxpoints="all",
            jitter=0.5,
            pointpos=0,
            marker={"color": colour, "size": 5},
            line={"color": colour, "width": 1.5},
            fillcolor=style.fade(colour, 0.12),
            hovertemplate=f"{name}<br>norm %{{y:.3f}}<extra></extra>",
            showlegend=False,
        )
    title = "gradient norm of a batch"
    if clip is not None:
        figure.add_hline(y=clip, line={"color": style.ink(dark), "width": 1, "dash": "dot"})
        title = f"{title}, clipped above {clip:g}"
    names = [style.escape(name).replace(", ", "<br>") for name, _, _ in groups]
    figure.update_xaxes(style.token_axis(names, ticktext=names, tickangle=0))
    figure.update_yaxes(axis(title, dark, rangemode="tozero"))
    return style.arrange(figure, dark=dark, height=320)
