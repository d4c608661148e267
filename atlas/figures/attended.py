"""What some chosen query words attend to, summed: a bar a key, and the same words in every head.

For chosen queries ``C`` the bar of key ``j`` is ``sum over i in C of A[i, j]``, so the bars of one head add
up to the number of chosen words (fewer when some of their rows are empty). Nothing is renormalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.heatmap import HeadMap
from atlas.figures.mosaic import HeadGrid, plain_axis, thin_lines
from atlas.figures.pooling import block, pool_max

_BARS = 40
"""Bars in one head of :func:`head_bars`, at most: a head is about as many pixels wide."""


def summed(weights: NDArray[np.floating[Any]], chosen: Sequence[int]) -> NDArray[np.float32]:
    """Sum the rows of the chosen queries; an empty row adds nothing.

    Args:
        weights: (..., Q, K).
        chosen: 0-based rows.

    Returns:
        float32 (..., K).

    Raises:
        ValueError: no query is chosen, or one that does not exist.
    """
    rows = np.asarray(chosen, dtype=int)
    if not rows.size:
        raise ValueError("choose at least one query word")
    if rows.min() < 0 or rows.max() >= weights.shape[-2]:
        raise ValueError(f"query words must lie in 0..{weights.shape[-2] - 1}, not {list(chosen)}")
    total: NDArray[np.float32] = np.nan_to_num(weights[..., rows, :]).sum(axis=-2).astype(np.float32)
    return total


def _highest(totals: NDArray[np.floating[Any]], together: int) -> NDArray[np.int64]:
    """int (..., bars): which of the ``together`` neighbouring keys of a bar (of K in all) is the highest."""
    starts = range(0, totals.shape[-1], together)
    found = [start + totals[..., start : start + together].argmax(axis=-1) for start in starts]
    return np.stack(found, axis=-1) if found else np.zeros((*totals.shape[:-1], 0), np.int64)


def key_bars(
    head: HeadMap, grid: HeadGrid, chosen: Sequence[int], *, dark: bool = False, height: int | None = None
) -> go.Figure:
    """A bar a key: what the chosen words attend to in one head, beside the mean over all heads of all layers.

    Args:
        head: the chosen head, (Q, K).
        grid: every head of its kind, with the same Q and K.
        chosen: 0-based rows of the query words.
        dark: for a dark page.
        height: pixels.

    Returns:
        A figure with two bar traces of K bars each.

    Raises:
        ValueError: see :func:`summed`.
    """
    places = np.arange(len(head.keys))
    everywhere = summed(grid.weights, chosen).mean(axis=(0, 1))
    figure = go.Figure()
    for name, values, colour in (
        (head.name or "this head", summed(head.weights, chosen), style.COLOURS[head.kind]),
        ("mean over all heads", everywhere, style.fade(style.ink(dark), 0.35)),
    ):
        figure.add_trace(
            go.Bar(
                x=places,
                y=values,
                name=style.escape(name),
                marker={"color": colour, "line": {"width": 0}},
                hovertemplate="<b>%{x}</b><br>summed weight %{y:.4f}",
            )
        )
    figure.update_xaxes(**style.token_axis(head.keys), title={"text": "key"})
    figure.update_yaxes(title="summed weight", rangemode="tozero", gridcolor=style.grid(dark), zeroline=False)
    return style.arrange(
        figure,
        height=height or 260,
        dark=dark,
        barmode="group",
        bargap=0.25,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hovermode="x",
    )


def head_bars(
    grid: HeadGrid,
    chosen: Sequence[int],
    *,
    highlight: tuple[int, int] | None = None,
    dark: bool = False,
    height: int | None = None,
) -> go.Figure:
    """The same words in every head: for each head a small bar chart with a bar a key, all on one height
    scale.

    Of more than 40 keys, neighbours share a bar, which is as high as the highest of them; the hover tells
    that one.

    Args:
        grid: L layers of H heads.
        chosen: 0-based rows of the query words.
        highlight: 0-based (layer, head) drawn in the colour of the kind; the others are grey.
        dark: for a dark page.
        height: pixels; by default 70 a layer.

    Returns:
        A figure whose first two traces have a bar for each layer, head and key, in this order
        (``customdata``: the sum, layer and head), those of the highlighted head in the second; layer 1 is at
        the top.

    Raises:
        ValueError: see :func:`summed`.
    """
    single = summed(grid.weights, chosen)
    together = block(len(grid.keys), _BARS)
    totals = pool_max(single, _BARS)
    layers, heads, keys = totals.shape
    step, floor = keys + max(1.0, keys * 0.15), 1.25
    end = float(totals.max(initial=0.0)) or 1.0
    places = np.argwhere(np.ones(totals.shape, bool))
    labels = [style.escape(label) for label in grid.keys]
    here = np.zeros(totals.shape, bool)
    if highlight is not None and highlight[1] < heads:
        here[highlight] = True
    highest = _highest(single, together)
    figure = go.Figure()
    # A trace a colour: Plotly would want one colour for each bar, and numbers with a scale it draws black.
    for those, colour in ((~here, style.fade(style.ink(dark), 0.42)), (here, style.COLOURS[grid.kind])):
        at = places[those.ravel()]
        figure.add_trace(
            go.Bar(
                x=(at[:, 1] * step + at[:, 2]).astype(np.float32),
                y=totals[those] / end,
                base=((layers - 1 - at[:, 0]) * floor).astype(np.float32),
                width=1.0 if keys > 24 else 0.85,
                marker={"color": colour, "line": {"width": 0}},
                customdata=np.column_stack([totals[those], at[:, :2] + 1]).astype(np.float32),
                hovertext=[labels[key] for key in highest[those].tolist()],
                hovertemplate="layer %{customdata[1]:d} · head %{customdata[2]:d}<br><b>%{hovertext}</b><br>"
                "summed weight %{customdata[0]:.4f}<extra></extra>",
                showlegend=False,
            )
        )
    left, bottom = np.meshgrid(np.arange(heads) * step - 0.5, np.arange(layers) * floor)
    gap = np.full_like(left, np.nan)
    ground = np.stack([left, left + keys, gap], axis=-1), np.stack([bottom, bottom, gap], axis=-1)
    figure.add_trace(thin_lines(*ground, style.fade(style.ink(dark), 0.3)))
    across = [column * step + (keys - 1) / 2 for column in range(heads)]
    down = [(layers - 1 - row) * floor + 0.5 for row in range(layers)]
    title = "head: in each a bar a key, in order"
    if together > 1:
        title = f"head: in each a bar for {together} keys, in order, as high as the highest of them"
    figure.update_xaxes(plain_axis(title, across, range(1, heads + 1), [-1, heads * step]))
    figure.update_yaxes(plain_axis("layer", down, range(1, layers + 1), [-0.1, layers * floor]))
    title = f"The same words in every head (highest bar {end:.2f})"
    return style.arrange(figure, title=title, height=height or 90 + 70 * layers, dark=dark, barmode="overlay")
