"""Charts of parameters and of the cost of heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from atlas.figures import style

_PARTS: dict[str, tuple[str, float]] = {
    "embedding": ("", 0.75),
    "positions": ("", 0.5),
    "encoder attention": (style.COLOURS["encoder"], 1.0),
    "encoder feed-forward": (style.COLOURS["encoder"], 0.55),
    "attention": (style.COLOURS["encoder"], 1.0),
    "feed-forward": (style.COLOURS["encoder"], 0.55),
    "decoder self-attention": (style.COLOURS["decoder"], 1.0),
    "cross-attention": (style.COLOURS["cross"], 1.0),
    "decoder feed-forward": (style.COLOURS["decoder"], 0.55),
    "router": (style.SERIES[1], 1.0),
    "biases and norms": (style.COLOURS["pruned"], 0.6),
}
"""Colour ("" for ink) and opacity of each part: attention strong, feed-forward pale, in its side's colour."""
_LEGEND: dict[str, Any] = {
    "legend": {
        "orientation": "h",
        "x": 0,
        "y": 1.04,
        "yanchor": "bottom",
        "xanchor": "left",
        "traceorder": "normal",
    }
}


def parameter_bars(rows: Mapping[str, Mapping[str, int]], *, dark: bool = False) -> go.Figure:
    """Where parameters are: one bar a row, cut by part.

    Args:
        rows: name of a bar -> part -> parameters; parts as in ``analysis.parameters.shares``.
        dark: for a dark page.
    """
    names = list(rows)
    parts = [part for part in _PARTS if any(row.get(part) for row in rows.values())]
    figure = go.Figure()
    for part in parts:
        counts = [row.get(part, 0) for row in rows.values()]
        share = [
            f"{100 * count / max(sum(row.values()), 1):.1f}"
            for count, row in zip(counts, rows.values(), strict=True)
        ]
        colour, opacity = _PARTS[part]
        figure.add_bar(
            x=counts,
            y=list(range(len(names))),
            customdata=share,
            orientation="h",
            name=part,
            marker={
                "color": style.fade(colour or style.ink(dark), opacity),
                "line": {"color": style.background(dark), "width": 1},
            },
            hovertemplate=f"{part}<br>%{{x:,}} parameters, %{{customdata}} %<extra></extra>",
        )
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[style.escape(name) for name in names],
        autorange="reversed",
        showgrid=False,
        automargin=True,
    )
    figure.update_xaxes(_axis("parameters", dark))
    height = 118 + 46 * len(names)
    return style.arrange(figure, dark=dark, height=height, barmode="stack", bargap=0.35, **_LEGEND)


def growth(
    widths: Sequence[int],
    layers: Sequence[int],
    embedding: Sequence[int],
    *,
    width: int,
    dark: bool = False,
) -> go.Figure:
    """Parameters against the width on logarithmic axes: layers rise with its square, embeddings with itself.

    Args:
        widths: ``(N,)``, d in rising order; ``width`` and its double are among them.
        layers: ``(N,)``, matrices of the layers; embedding: ``(N,)``, V·d.
        width: the d that is chosen, marked together with its double.
        dark: for a dark page.
    """
    total = np.asarray(layers, dtype=np.float64) + np.asarray(embedding, dtype=np.float64)
    figure = go.Figure()
    lines = (
        ("layers", layers, style.COLOURS["encoder"], "solid"),
        ("embedding", embedding, style.COLOURS["pruned"], "dash"),
        ("together", total, style.ink(dark), "solid"),
    )
    for name, values, colour, dash in lines:
        figure.add_scatter(
            x=list(widths),
            y=np.asarray(values, dtype=np.float64),
            mode="lines",
            name=name,
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate=f"{name}<br>d = %{{x:,}}<br>%{{y:,.0f}} parameters<extra></extra>",
        )
    for name, at in (("d", width), ("2d", 2 * width)):
        figure.add_scatter(
            x=[at],
            y=[float(total[list(widths).index(at)])],
            mode="markers+text",
            text=[name],
            textposition="top left",
            marker={"size": 11, "color": style.SERIES[1]},
            textfont={"color": style.ink(dark)},
            showlegend=False,
            hovertemplate=f"{name} = %{{x:,}}<br>%{{y:,.0f}} parameters<extra></extra>",
        )
    figure.update_xaxes(_axis("width d", dark, type="log", dtick=1, minor={"showgrid": False}))
    figure.update_yaxes(_axis("parameters", dark, type="log", dtick=1, exponentformat="B"))
    return style.arrange(figure, dark=dark, height=330, **_LEGEND)


def head_times(
    heads: Sequence[int],
    milliseconds: Sequence[float],
    low: Sequence[float],
    softmax: Sequence[float],
    *,
    dark: bool = False,
) -> go.Figure:
    """What one attention layer took with each number of heads.

    Args:
        heads: ``(N,)``; milliseconds, low: ``(N,)``, median and fastest of the repeats.
        softmax: ``(N,)``, median of the softmax alone.
        dark: for a dark page.
    """
    places = list(range(len(heads)))
    figure = go.Figure()
    whole = np.asarray(milliseconds, dtype=np.float64)
    figure.add_bar(
        x=places,
        y=whole,
        name="the layer, median",
        marker={"color": style.COLOURS["encoder"]},
        width=0.55,
        customdata=[f"{number} head{'s' * (number > 1)}" for number in heads],
        hovertemplate="%{customdata}<br>%{y:.3f} ms<extra>median</extra>",
    )
    for name, values, symbol in (
        ("fastest repeat", low, "line-ew"),
        ("softmax alone, median", softmax, "diamond"),
    ):
        colour = style.ink(dark) if symbol == "line-ew" else style.COLOURS["cross"]
        figure.add_scatter(
            x=places,
            y=np.asarray(values, dtype=np.float64),
            mode="markers",
            name=name,
            marker={
                "symbol": symbol,
                "size": 20 if symbol == "line-ew" else 10,
                "color": colour,
                "line": {"width": 3 if symbol == "line-ew" else 1, "color": colour},
            },
            hovertemplate=f"%{{y:.3f}} ms<extra>{name}</extra>",
        )
    ticks = [f"{number}" for number in heads]
    figure.update_xaxes(_axis("heads", dark, tickvals=places, ticktext=ticks, showgrid=False))
    figure.update_yaxes(_axis("milliseconds", dark, rangemode="tozero"))
    return style.arrange(figure, dark=dark, height=320, **_LEGEND)


def _axis(title: str, dark: bool, **more: Any) -> dict[str, Any]:
    return {
        "title": {"text": title},
        "gridcolor": style.grid(dark),
        "zeroline": False,
        "automargin": True,
    } | more
