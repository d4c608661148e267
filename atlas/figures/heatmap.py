"""One head as a heatmap: the key runs across, the query down.

Scaled dot-product attention (Vaswani et al. 2017, "Attention Is All You Need", equation 1) gives, for each
query
``i``, one weight for each key ``j``::

    A[i, j] = softmax_j(q_i . k_j / sqrt(K))

A :class:`HeadMap` holds those weights with the labels of both sides; :func:`heatmap` draws it. ``Q`` is the
number of queries, ``K`` here the number of keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

KINDS: Final[dict[str, str]] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}
"""The three kinds of attention and their full names."""

_FEW: Final = 40
"""Up to so many tokens a side every tick is labelled.

Beyond, cells lie on a second pair of axes, unseen, that has every label for the hover: a hover reads its
labels from ticks, and a text a cell would be the largest part of the picture."""


WEIGHTS: Final = "weights of attention"
"""What the trace of a heatmap says in ``meta`` when its colours are weights from 0 to at most 1."""


@dataclass(frozen=True)
class HeadMap:
    """The attention of one head (or of several summarised heads), ready to be drawn.

    Attributes:
        weights: float (Q, K), each row a distribution over the keys; a row of NaN is empty (its whole weight
            was on hidden tokens).
        queries: the Q labels of the rows, in order, not escaped.
        keys: the K labels of the columns, in order, not escaped.
        scores: float (Q, K), what went into the softmax, -inf where masked; None where there is no such
            number (merged words, a mean over heads, a trace that did not keep them).
        masked: bool (Q, K), cells that this query must not see; None where nothing is masked.
        kind: a key of :data:`KINDS`.
        name: what the picture is called, such as "layer 3 · head 5".
        rows: what a row stands for, such as "query (token read)".
    """

    weights: NDArray[np.floating[Any]]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    scores: NDArray[np.floating[Any]] | None = None
    masked: NDArray[np.bool_] | None = None
    kind: str = "encoder"
    name: str = ""
    rows: str = "query"

    def __post_init__(self) -> None:
        """Check that every array has the shape that the labels promise.

        Raises:
            ValueError: naming the field and both shapes.
        """
        expected = (len(self.queries), len(self.keys))
        for field in ("weights", "scores", "masked"):
            array = getattr(self, field)
            if array is not None and array.shape != expected:
                raise ValueError(f"{field} must be (queries, keys) = {expected}, not {array.shape}")
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        finite = self.weights[np.isfinite(self.weights)]
        if finite.size and (finite.min() < 0 or finite.max() > 1 + 1e-4):
            raise ValueError(f"weights must lie in 0..1, not {finite.min():g}..{finite.max():g}")

    def _repr_html_(self) -> str:
        """What a notebook shows: see :func:`atlas.figures.notebook.head_html`."""
        from atlas.figures.notebook import head_html

        return head_html(self)

    @property
    def peak(self) -> float:
        """The largest weight; 0 when every row is empty."""
        return float(np.nanmax(self.weights)) if np.isfinite(self.weights).any() else 0.0

    @property
    def empty(self) -> NDArray[np.bool_]:
        """bool (Q,): rows whose whole weight was on hidden tokens."""
        return np.isnan(self.weights).all(axis=1) if self.weights.size else np.zeros(len(self.queries), bool)

    @property
    def ranks(self) -> NDArray[np.int64]:
        """int (Q, K): 1 for the key that this query attends to most, and so on; equal weights share a
        rank."""
        weights = np.nan_to_num(self.weights)
        ordered = np.sort(weights, axis=1)
        behind = [
            np.searchsorted(row, values, side="right") for row, values in zip(ordered, weights, strict=True)
        ]
        return weights.shape[1] - np.array(behind, dtype=np.int64).reshape(weights.shape) + 1


def _hover(head: HeadMap) -> str:
    score = "<br>score before softmax %{customdata:.3f}" if head.scores is not None else ""
    rank = f"rank %{{text}} of {len(head.keys)}"
    return f"<b>%{{y}} → %{{x}}</b><br>weight %{{z:.4f}}{score}<br>{rank}<extra></extra>"


def _axis(labels: Sequence[str], most: int = _FEW, **more: Any) -> dict[str, Any]:
    """Ticks that fit half a page: smaller from 25 labels on, and at most ``most`` of them from 41 on."""
    size = 13 if len(labels) <= 24 else 10
    return style.token_axis(
        labels, every=1 if len(labels) <= _FEW else -(-len(labels) // most), tickfont={"size": size}, **more
    )


def _overlay(cells: NDArray[np.bool_], message: str, colour: str) -> go.Heatmap:
    """A flat layer over some cells whose hover is one constant sentence."""
    return go.Heatmap(
        z=np.where(cells, np.float32(0), np.float32("nan")),
        colorscale=[[0, colour], [1, colour]],
        showscale=False,
        hoverongaps=False,
        hovertemplate=f"<b>%{{y}} → %{{x}}</b><br>{message}<extra></extra>",
    )


def _name_every_cell(figure: go.Figure, head: HeadMap) -> None:
    """Move the cells to the second pair of axes, which follows the first and has a label for every token."""
    figure.update_traces(xaxis="x2", yaxis="y2")
    # Plotly draws an axis only where some trace lies on it.
    figure.add_trace(go.Scatter(x=[0], y=[0], mode="markers", opacity=0, hoverinfo="skip", showlegend=False))
    unseen = {"showticklabels": False, "ticks": "", "automargin": False}
    figure.update_layout(
        xaxis2=style.token_axis(head.keys, every=1, matches="x", overlaying="x", anchor="y2", **unseen),
        yaxis2=style.token_axis(head.queries, every=1, matches="y", overlaying="y", anchor="x2", **unseen)
        | {"range": [max(len(head.queries), 1) - 0.5, -0.5]},
    )


def heatmap(
    head: HeadMap,
    *,
    top: float | None = None,
    chosen: Sequence[int] = (),
    dark: bool = False,
    height: int | None = None,
) -> go.Figure:
    """Draw one head: a numeric cell for each (query, key), labelled with text on both axes.

    Hovering tells weight, score before the softmax (where there is one) and rank within the row. Masked cells
    are drawn flat and say so; so do empty rows.

    Args:
        head: what to draw, (Q, K).
        top: the weight at the end of the colour scale; by default the head's own largest.
        chosen: rows to be marked, such as the query words selected on a page.
        dark: for a dark page.
        height: pixels; by default it grows with Q up to about 1000.

    Returns:
        A figure whose first trace holds all weights in ``z``.
    """
    rows, columns = head.weights.shape
    scores = None
    if head.scores is not None:
        scores = np.where(np.isfinite(head.scores), head.scores, np.nan).astype(np.float32)
    end = top if top is not None else head.peak
    figure = go.Figure(
        go.Heatmap(
            z=head.weights.astype(np.float32),
            # Two flat arrays: of one with a last axis the browser would make an array for each cell.
            text=head.ranks.astype(np.uint16),
            customdata=scores,
            zmin=0.0,
            zmax=end if end > 0 else 1.0,
            meta=WEIGHTS,
            colorscale=style.sequential(dark),
            hovertemplate=_hover(head),
            hoverongaps=False,
            xgap=1 if columns <= _FEW else 0,
            ygap=1 if rows <= _FEW else 0,
            colorbar={"thickness": 10, "outlinewidth": 0, "title": {"text": "weight", "side": "right"}},
        )
    )
    flat = style.fade(style.ink(dark), 0.06)
    if head.masked is not None and head.masked.any():
        figure.add_trace(_overlay(head.masked, "masked: a later token; the weight is exactly 0", flat))
    if head.empty.any():
        cells = np.broadcast_to(head.empty[:, None], head.weights.shape)
        figure.add_trace(_overlay(cells, "empty: all its weight was on hidden tokens", flat))
    for row in chosen:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=columns - 0.5,
            y0=row - 0.5,
            y1=row + 0.5,
            line_color=style.COLOURS["query"],
        )
    slanted = columns > 6
    figure.update_xaxes(
        **_axis(head.keys, _FEW // 2, side="top", tickangle=-60 if slanted else 0, automargin=False),
        title={"text": "key", "font": {"color": style.text_colour("key", dark)}, "standoff": 4},
    )
    figure.update_yaxes(
        **_axis(head.queries, range=[max(rows, 1) - 0.5, -0.5]),
        title={"text": style.escape(head.rows), "font": {"color": style.text_colour("query", dark)}},
    )
    if max(rows, columns) > _FEW:
        _name_every_cell(figure, head)
    labels_height = 8 * max(map(len, head.keys), default=0) + 8 if slanted else 18
    above = (34 if head.name else 0) + min(labels_height, 220) + 40
    size = height if height is not None else min(max(24 * rows + 24, 160), 800) + above
    margin = {"l": 8, "r": 8, "t": above, "b": 8}
    return style.arrange(figure, title=head.name or None, height=size, dark=dark, margin=margin)
