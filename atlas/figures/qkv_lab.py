"""The laboratory of the divisor: what sqrt(d_k) does to random vectors and to those of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.qkv import Numbers, caption

Counts = NDArray[np.integer[Any]]

PLAIN, DIVIDED = style.SERIES[1], style.SERIES[0]
_LEGEND = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}


def _points(
    x: Counts, y: Numbers, name: str, colour: str, symbol: str, hover: str, **more: Any
) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x),
        y=np.asarray(y, dtype=np.float64),
        name=name,
        mode="lines+markers",
        line={"color": colour, "width": 2},
        marker={"color": colour, "size": 8, "symbol": symbol},
        hovertemplate=hover + f"<extra>{name}</extra>",
        **more,
    )


def _expected(x: Counts, y: Numbers, name: str, dark: bool, **more: Any) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x),
        y=np.asarray(y, dtype=np.float64),
        name=name,
        mode="lines",
        line={"color": style.fade(style.ink(dark), 0.6), "width": 1.5, "dash": "dot"},
        hoverinfo="skip",
        **more,
    )


def _widths(widths: Counts, dark: bool) -> dict[str, Any]:
    return {
        "type": "log",
        "title": {"text": "d_k: dimensions of q and k"},
        "tickvals": [int(width) for width in widths],
        "gridcolor": style.grid(dark),
    }


def variance_lines(
    widths: Counts, variance: Numbers, scaled: Numbers, error: Numbers, *, dark: bool = False
) -> go.Figure:
    """Variance of q·k against d_k, plain and divided by sqrt(d_k), with the closed forms d_k and 1.

    Args:
        widths: ``(W,)`` d_k.
        variance: ``(W,)``; scaled: ``(W,)``.
        error: ``(W,)`` relative standard error; bars show two of them.
        dark: for a dark page.
    """
    figure = go.Figure(
        [
            _expected(widths, widths.astype(np.float64), "expected: d_k", dark),
            _expected(widths, np.ones(len(widths)), "expected: 1", dark),
        ]
    )
    for name, values, colour, symbol in (
        ("q·k", variance, PLAIN, "circle"),
        ("q·k / √d_k", scaled, DIVIDED, "diamond"),
    ):
        bars = {"type": "data", "array": 2 * error * values, "color": colour, "thickness": 1.5, "width": 4}
        hover = "d_k = %{x}<br>variance %{y:.4g}"
        figure.add_trace(_points(widths, values, name, colour, symbol, hover, error_y=bars))
    figure.update_xaxes(_widths(widths, dark))
    figure.update_yaxes(
        type="log", title={"text": "variance"}, gridcolor=style.grid(dark), dtick=1, exponentformat="none"
    )
    return style.arrange(figure, height=340, dark=dark, legend=_LEGEND, margin=_margin(30))


def softmax_lines(
    widths: Counts,
    entropies: tuple[Numbers, Numbers],
    jacobians: tuple[Numbers, Numbers],
    keys: int,
    *,
    dark: bool = False,
) -> go.Figure:
    """Entropy of the softmax and size of its Jacobian against d_k, plain and divided.

    Args:
        widths: ``(W,)``.
        entropies: nats, ``(W,)`` each: plain, divided.
        jacobians: Frobenius norms, ``(W,)`` each: plain, divided.
        keys: how many keys a query meets; their logarithm is the largest entropy.
        dark: for a dark page.
    """
    figure = go.Figure(_expected(widths, np.full(len(widths), math.log(keys)), f"ln {keys}", dark))
    for place, (pair, unit) in enumerate(((entropies, "nats"), (jacobians, ""))):
        axes = {"xaxis": "x2", "yaxis": "y2"} if place else {}
        for name, values, colour, symbol in (
            ("q·k", pair[0], PLAIN, "circle"),
            ("q·k / √d_k", pair[1], DIVIDED, "diamond"),
        ):
            hover = f"d_k = %{{x}}<br>%{{y:.4f}} {unit}"
            figure.add_trace(
                _points(widths, values, name, colour, symbol, hover, showlegend=not place, **axes)
            )
    ticks = _widths(widths, dark) | {"tickvals": [int(width) for width in widths[::2]]}
    line = {"gridcolor": style.grid(dark), "rangemode": "tozero", "zeroline": False}
    figure.update_layout(
        xaxis=ticks | {"domain": [0, 0.46]},
        xaxis2=ticks | {"domain": [0.54, 1], "anchor": "y2"},
        yaxis=line,
        yaxis2=line | {"anchor": "x2"},
        annotations=[
            caption("entropy of the weights (nats)", style.ink(dark), 0, 1),
            caption("size of softmax's Jacobian", style.ink(dark), 0.54, 1),
        ],
    )
    legend = _LEGEND | {"y": 1.1}
    return style.arrange(figure, height=340, dark=dark, legend=legend, margin=_margin(56))


def divisor_panels(
    divisors: Numbers,
    curves: Sequence[tuple[str, Numbers]],
    *,
    true: float,
    chosen: float,
    dark: bool = False,
) -> go.Figure:
    """What the weights become when the same q·k are divided by another number: a panel a measure.

    Args:
        divisors: ``(W,)``.
        curves: title and ``(W,)`` values of each panel.
        true: sqrt(d_k), marked in each panel.
        chosen: the divisor that is tried; one of ``divisors``.
        dark: for a dark page.
    """
    figure, annotations, shapes, layout = go.Figure(), [], [], {}
    count = len(curves)
    gap = 0.06
    wide = (1 - gap * (count - 1)) / count
    at = int(np.argmin(np.abs(np.asarray(divisors) - chosen)))
    for place, (title, values) in enumerate(curves):
        number = "" if place == 0 else str(place + 1)
        start = place * (wide + gap)
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        hover = "divisor %{x:.2f}<br>" + style.escape(title) + " %{y:.4f}<extra></extra>"
        figure.add_scatter(
            x=np.asarray(divisors),
            y=np.asarray(values),
            mode="lines",
            line={"color": DIVIDED, "width": 2.5},
            hovertemplate=hover,
            **axes,
        )
        figure.add_scatter(
            x=[divisors[at]],
            y=[values[at]],
            mode="markers+text",
            marker={"color": PLAIN, "size": 12},
            text=[f"{values[at]:.3f}"],
            textposition=_beside(values, at),
            hovertemplate=hover,
            **axes,
        )
        shapes.append(
            {
                "type": "line",
                "xref": f"x{number}",
                "yref": f"y{number} domain",
                "x0": true,
                "x1": true,
                "y0": 0,
                "y1": 1,
                "line": {"color": style.fade(style.ink(dark), 0.6), "width": 1.5, "dash": "dot"},
            }
        )
        annotations.append(caption(title, style.ink(dark), start, 1))
        layout[f"xaxis{number}"] = {
            "domain": [start, start + wide],
            "anchor": f"y{number}",
            "title": {"text": "divisor (dotted: √d_k)"},
            "gridcolor": style.grid(dark),
            "zeroline": False,
        }
        top = 1.2 * (float(np.max(values)) or 1.0)
        layout[f"yaxis{number}"] = {
            "anchor": f"x{number}",
            "range": [0, top],
            "gridcolor": style.grid(dark),
            "zeroline": False,
        }
    figure.update_layout(**layout, shapes=shapes, annotations=annotations, showlegend=False)
    return style.arrange(figure, height=280, dark=dark, margin=_margin(30))


def _beside(values: Numbers, at: int) -> str:
    """Where a number stands beside a point so that it touches neither the curve nor the edge."""
    if values[-1] >= values[0]:
        return "top left"
    return "top right" if at < 0.7 * (len(values) - 1) else "bottom left"


def own_variances(
    dots: Numbers, head_width: int, *, chosen: tuple[int, int], dark: bool = False
) -> go.Figure:
    """Variance of q·k of every head on a sentence, in multiples of d_k, which independent components give.

    Args:
        dots: ``(L, H)`` variances.
        head_width: d_k.
        chosen: (layer, head) from 0, marked.
        dark: for a dark page.
    """
    layers, heads = dots.shape
    ratio = np.asarray(dots, dtype=np.float64) / head_width
    number = np.arange(layers * heads)
    colours = [style.fade(style.ink(dark), 0.45)] * len(number)
    colours[chosen[0] * heads + chosen[1]] = PLAIN
    figure = go.Figure(
        go.Scatter(
            x=number + number // heads,
            y=ratio.ravel(),
            mode="markers",
            marker={"color": colours, "size": 11},
            customdata=np.stack([number // heads + 1, number % heads + 1, dots.ravel()], axis=1),
            hovertemplate="layer %{customdata[0]:.0f} · head %{customdata[1]:.0f}<br>variance of q·k "
            "%{customdata[2]:.1f} = %{y:.2f} d_k<extra></extra>",
            showlegend=False,
        )
    )
    figure.add_hline(y=1, line={"color": style.fade(style.ink(dark), 0.6), "dash": "dot", "width": 1.5})
    middles = [layer * (heads + 1) + (heads - 1) / 2 for layer in range(layers)]
    figure.update_xaxes(
        tickvals=middles,
        ticktext=[f"layer {layer + 1}" for layer in range(layers)],
        showgrid=False,
        zeroline=False,
    )
    top = max(float(ratio.max()), 1.0) * 1.5
    low = min(float(ratio[ratio > 0].min(initial=1.0)), 1.0) / 1.5
    figure.update_yaxes(
        type="log",
        range=[math.log10(low), math.log10(top)],
        tickvals=[tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if low <= tick <= top],
        title={"text": "variance of q·k / d_k"},
        gridcolor=style.grid(dark),
    )
    return style.arrange(figure, height=280, dark=dark)


def _margin(top: int) -> dict[str, int]:
    return {"l": 8, "r": 8, "t": top, "b": 8}
