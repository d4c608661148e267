"""Pictures of the laboratory: how sure the model is now, where attention moved, a row before and after."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from atlas.figures import style
from atlas.figures.heatmap import KINDS

Numbers = NDArray[np.floating[Any]]
_ROW: Final = 26
_SLANTED_FROM: Final = 12
_LABELLED: Final = 12


def logprob_change(
    labels: Sequence[str], before: Numbers, after: Numbers, *, dark: bool = False
) -> go.Figure:
    """How the log-probability of each token of one translation changed: a bar a token.

    Args:
        labels: T tokens, not escaped.
        before: ``(T,)``, nats, as trained.
        after: ``(T,)``, nats, changed.
        dark: for a dark page.

    Raises:
        ValueError: not a number a label.
    """
    _same_length(labels, before, after)
    change = np.asarray(after - before)
    scale = style.diverging(dark)
    figure = go.Figure(
        go.Bar(
            x=np.arange(len(labels)),
            y=change,
            marker={"color": [scale[-1][1] if value >= 0 else scale[0][1] for value in change]},
            customdata=np.stack([before, after], -1),
            hovertemplate=(
                "<b>%{x}</b><br>change %{y:+.3f} nats<br>as trained: log p %{customdata[0]:.3f}"
                "<br>changed: log p %{customdata[1]:.3f}<extra></extra>"
            ),
        )
    )
    figure.update_xaxes(style.token_axis(labels, tickangle=-45 if len(labels) > _SLANTED_FROM else 0))
    figure.update_yaxes(
        title="change of log p (nats)",
        zeroline=True,
        zerolinecolor=style.ink(dark),
        gridcolor=style.grid(dark),
    )
    return style.arrange(figure, height=260, dark=dark, showlegend=False)


def row_bars(
    labels: Sequence[str], before: Numbers, after: Numbers, *, kind: str, dark: bool = False
) -> go.Figure:
    """One row of attention as trained and changed: two bars a key.

    Args:
        labels: K keys, not escaped.
        before: ``(K,)``, weights as trained.
        after: ``(K,)``, weights now.
        kind: encoder, decoder or cross; it gives the colour.
        dark: for a dark page.

    Raises:
        ValueError: not a number a label.
    """
    _same_length(labels, before, after)
    figure = go.Figure()
    colours = {"as trained": style.COLOURS["pruned"], "changed": style.COLOURS[kind]}
    for (name, colour), weights in zip(colours.items(), (before, after), strict=True):
        figure.add_trace(
            go.Bar(
                name=name,
                x=np.arange(len(labels)),
                y=weights,
                marker={"color": colour},
                hovertemplate=f"<b>%{{x}}</b><br>{name}: %{{y:.4f}}<extra></extra>",
            )
        )
    figure.update_xaxes(style.token_axis(labels, tickangle=-45 if len(labels) > _SLANTED_FROM else 0))
    figure.update_yaxes(title="weight", range=[0, 1.02], gridcolor=style.grid(dark))
    return style.arrange(
        figure,
        height=250,
        dark=dark,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
    )


def moved_maps(
    moved: Mapping[str, Numbers],
    *,
    changed: Collection[tuple[str, int, int]] = (),
    dark: bool = False,
) -> go.Figure:
    """The share of attention that moved, layer by head, a map for each kind, all on one scale.

    Args:
        moved: kind -> ``(L, H)``, 0..1.
        changed: (kind, layer, head), counted from 0: heads that were changed by hand get a frame.
        dark: for a dark page.
    """
    kinds = list(moved)
    top = max((float(values.max()) for values in moved.values()), default=0.0)
    figure = make_subplots(
        1, len(kinds), subplot_titles=[KINDS[kind] for kind in kinds], horizontal_spacing=0.06
    )
    for column, kind in enumerate(kinds, 1):
        values = np.asarray(moved[kind])
        layers, heads = values.shape
        figure.add_trace(
            go.Heatmap(
                z=values,
                zmin=0.0,
                zmax=top or 1.0,
                colorscale=style.sequential(dark),
                xgap=2,
                ygap=2,
                texttemplate="%{z:.0%}" if heads <= _LABELLED else None,
                textfont={"size": 10},
                hovertemplate="layer %{y} · head %{x}<br>%{z:.2%} of its attention moved<extra></extra>",
                showscale=column == len(kinds),
                colorbar={"thickness": 10, "outlinewidth": 0, "tickformat": ".0%", "nticks": 4},
            ),
            1,
            column,
        )
        frames = [(layer, head) for frame, layer, head in changed if frame == kind]
        for layer, head in frames:
            figure.add_shape(
                type="rect",
                x0=head - 0.46,
                x1=head + 0.46,
                y0=layer - 0.46,
                y1=layer + 0.46,
                line={"color": style.COLOURS["query"], "width": 3},
                row=1,
                col=column,
            )
        numbers = [str(head + 1) for head in range(heads)]
        names = [str(layer + 1) for layer in range(layers)]
        figure.update_xaxes(style.token_axis(numbers, title="head"), row=1, col=column)
        figure.update_yaxes(
            style.token_axis(names, title="layer" if column == 1 else None, range=[layers - 0.5, -0.5]),
            row=1,
            col=column,
        )
    deepest = max((len(values) for values in moved.values()), default=1)
    return style.arrange(
        figure, height=_ROW * deepest + 110, dark=dark, margin={"l": 8, "r": 8, "t": 34, "b": 8}
    )


def _same_length(labels: Sequence[str], *series: Numbers) -> None:
    for numbers in series:
        if np.shape(numbers) != (len(labels),):
            raise ValueError(f"{len(labels)} labels and numbers of shape {np.shape(numbers)}")
