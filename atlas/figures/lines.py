"""One head as lines between words: queries on the left, keys on the right, a line as strong as its weight.

The "head view" of Vig 2019, "A Multiscale Visualization of Attention in the Transformer Model" (section 3.1),
built on Jones 2017. :func:`head_lines` draws it with Plotly; :func:`lines_payload` feeds the same numbers to
the SVG component of the app, where hovering a word lights its lines with no round trip.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.heatmap import KINDS, HeadMap

_WHOLE: Final = 64 * 64
"""Up to so many cells, every weight travels to the component, so that its slider needs no round trip."""

_MOST_LINES: Final = 4096
"""Of a larger map at most so many lines travel, the strongest: more are a grey wall, and slow."""

_BINS: Final = 10
"""Lines are drawn in so many classes of strength, one Plotly trace each: a trace a line would be
thousands."""


def _visible(head: HeadMap, threshold: float) -> np.ndarray[Any, Any]:
    """int (N, 2): the (query, key) pairs whose weight reaches the threshold and is not 0."""
    weights = np.nan_to_num(head.weights)
    return np.argwhere((weights >= threshold) & (weights > 0))


def head_lines(
    head: HeadMap, *, threshold: float = 0.05, dark: bool = False, height: int | None = None
) -> go.Figure:
    """Lines from each query to the keys it attends to; weights under the threshold are left out.

    Args:
        head: the (Q, K) weights and labels.
        threshold: the smallest weight that is drawn, 0 to 1.
        dark: for a dark page.
        height: pixels; by default it grows with the longer side.

    Returns:
        A figure of at most 10 line traces, one a class of strength, and two columns of labels.

    Raises:
        ValueError: a threshold outside 0..1.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must lie in 0..1, not {threshold:g}")
    weights = np.nan_to_num(head.weights)
    figure = go.Figure()
    pairs = _visible(head, threshold)
    classes = np.minimum((weights[tuple(pairs.T)] * _BINS).astype(int), _BINS - 1)
    for strength in range(_BINS):
        chosen = pairs[classes == strength]
        if not len(chosen):
            continue
        figure.add_trace(
            go.Scatter(
                x=np.tile([0.0, 1.0, np.nan], len(chosen)),
                y=np.column_stack([chosen, np.full(len(chosen), np.nan)]).ravel(),
                mode="lines",
                line={
                    "color": style.fade(style.COLOURS[head.kind], 0.15 + 0.85 * (strength + 0.5) / _BINS),
                    "width": 0.8 + 3.2 * (strength + 0.5) / _BINS,
                },
                hoverinfo="skip",
                showlegend=False,
            )
        )
    for labels, place, anchor, colour in (
        (head.queries, -0.02, "right", style.text_colour("query", dark)),
        (head.keys, 1.02, "left", style.text_colour("key", dark)),
    ):
        for row, label in enumerate(labels):
            figure.add_annotation(
                x=place,
                y=row,
                text=style.escape(label),
                xanchor=anchor,
                showarrow=False,
                font={"color": colour},
            )
    longest = max(len(head.queries), len(head.keys), 1)
    hidden = {"showgrid": False, "zeroline": False, "showticklabels": False}
    figure.update_xaxes(range=[-0.6, 1.6], **hidden)
    figure.update_yaxes(range=[longest - 0.5, -0.5], **hidden)
    size = height if height is not None else min(max(24 * longest + 60, 200), 1200)
    title = f"{head.name} · weights from {threshold:g}" if head.name else None
    return style.arrange(figure, title=title, height=size, dark=dark)


def lines_payload(
    head: HeadMap, *, threshold: float = 0.05, chosen: Sequence[int] = (), selectable: bool = True
) -> dict[str, Any]:
    """What the SVG component needs to draw the same lines; JSON-able.

    Of a map of more than 4,096 cells only the weights that are drawn travel: those that reach the threshold,
    and of them the 4,096 strongest. How many positive weights stayed behind is told.

    Args:
        head: the (Q, K) weights and labels.
        threshold: the smallest weight drawn at first; the component's slider moves it.
        chosen: 0-based rows of the selected query words.
        selectable: whether a click on a query word selects it.

    Returns:
        ``weights`` (base64 of little-endian float32; all in C order, empty rows as 0, or one for each of
        ``cells``), ``cells`` (None, or base64 of little-endian uint32 places ``query * K + key``),
        ``left_out`` (positive weights that were not sent), ``queries`` and ``keys`` (labels, not escaped: the
        component writes them as text), ``empty`` (rows without any visible weight), ``threshold``,
        ``chosen``, ``label`` for screen readers, and ``colours`` of query, key and line.

    Raises:
        ValueError: a threshold outside 0..1.
    """
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must lie in 0..1, not {threshold:g}")
    weights = np.nan_to_num(head.weights).astype("<f4").ravel()
    cells, left_out = None, 0
    if weights.size > _WHOLE:
        cells = _strongest(weights, threshold)
        left_out = int(np.count_nonzero(weights)) - len(cells)
        weights = weights[cells]
    return {
        "weights": _packed(weights),
        "cells": None if cells is None else _packed(cells.astype("<u4")),
        "left_out": left_out,
        "queries": list(head.queries),
        "keys": list(head.keys),
        "empty": np.flatnonzero(head.empty).tolist(),
        "threshold": float(threshold),
        "chosen": [int(row) for row in chosen],
        "selectable": selectable,
        "label": f"{KINDS[head.kind]}, {head.name}: lines from queries (left) to keys (right)",
        "colours": {
            "query": style.COLOURS["query"],
            "key": style.COLOURS["key"],
            "line": style.COLOURS[head.kind],
        },
    }


def _strongest(weights: NDArray[np.float32], threshold: float) -> NDArray[np.int64]:
    """int (N,): places of the weights that reach the threshold and are not 0, the strongest, in order."""
    places = np.flatnonzero((weights >= threshold) & (weights > 0))
    if len(places) > _MOST_LINES:
        order = np.argsort(-weights[places], kind="stable")
        places = np.sort(places[order[:_MOST_LINES]])
    return places


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")
