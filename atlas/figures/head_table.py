"""One number a head, layers down and heads across."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

Numbers = NDArray[np.floating[Any]]


def head_table(
    values: Numbers,
    *,
    chosen: tuple[int, int] | None = None,
    between: tuple[Numbers, Numbers] | None = None,
    signed: bool = False,
    largest: float = 1.0,
    colour: str = "encoder",
    dark: bool = False,
) -> go.Figure:
    """Draw a number for each head as a cell that also says it.

    Args:
        values: ``(L, H)``; NaN is left empty.
        chosen: (layer, head) from 0, outlined.
        between: low and high ``(L, H)`` of a 95% interval, for the hover.
        signed: around zero, to ±``largest``, instead of from 0.
        largest: the value at the dark end of the scale.
        colour: the meaning whose colour outlines the chosen head.
        dark: for a dark page.

    Returns:
        A figure whose first trace holds the values and whose second writes them.
    """
    layers, heads = values.shape
    hover = "layer %{y} · head %{x}<br>%{z:.3f}"
    if between is not None:
        hover += " (95% interval %{customdata[0]:.3f} to %{customdata[1]:.3f})"
    figure = go.Figure(
        go.Heatmap(
            z=np.asarray(values, dtype=np.float32),
            x=np.arange(1, heads + 1),
            y=np.arange(1, layers + 1),
            zmin=-largest if signed else 0,
            zmax=largest,
            colorscale=style.diverging(dark) if signed else style.sequential(dark),
            customdata=None if between is None else np.stack(between, axis=-1).astype(np.float32),
            xgap=2,
            ygap=2,
            showscale=False,
            hoverongaps=False,
            hovertemplate=hover + "<extra></extra>",
        )
    )
    figure.add_trace(_written(values, figure.data[0]))
    if chosen is not None:
        layer, head = chosen
        figure.add_shape(
            type="rect",
            x0=head + 0.5,
            x1=head + 1.5,
            y0=layer + 0.5,
            y1=layer + 1.5,
            line={"color": style.COLOURS[colour], "width": 3},
        )
    plain = {"tickmode": "linear", "dtick": 1, "showgrid": False, "zeroline": False, "ticks": ""}
    figure.update_xaxes(title={"text": "head", "standoff": 16}, side="top", range=[0.5, heads + 0.5], **plain)
    figure.update_yaxes(title={"text": "layer"}, range=[layers + 0.5, 0.5], **plain)
    return style.arrange(figure, height=40 * layers + 80, dark=dark)


def _written(values: Numbers, cells: go.Heatmap) -> go.Scatter:
    """The values as text in the middle of their cells, each in the colour that stands out most there."""
    places = [place for place in np.ndindex(values.shape) if np.isfinite(values[place])]
    span = cells.zmax - cells.zmin
    shares = [min(max((float(values[place]) - cells.zmin) / span, 0.0), 1.0) for place in places]
    grounds = [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in style.sampled(cells.colorscale, shares)]
    inks = ("#000000", "#ffffff")  # one of them has a contrast of 4.5 with any colour
    return go.Scatter(
        x=[head + 1 for _, head in places],
        y=[layer + 1 for layer, _ in places],
        mode="text",
        text=[f"{values[place]:.2f}".replace("-", "−") for place in places],
        textfont={
            "size": 12,
            "color": [max(inks, key=lambda ink: style.contrast(ink, ground)) for ground in grounds],
        },
        hoverinfo="skip",
        showlegend=False,
    )
