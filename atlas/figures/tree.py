"""The tree of a whole beam search as a Plotly figure, with its replay.

The figure for notebooks and exports; the page shows its SVG twin, fed by
:func:`atlas.figures.tree_payload.tree_payload` from the same :class:`~atlas.figures.tree_layout.TreeLayout`.
Fate is told twice, by colour and by shape: kept solid disc, finished ringed disc, pruned grey disc, cut
square. Area grows with the probability of the token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.fates import FateTeller
from atlas.figures.tree_layout import TreeLayout, lay_out
from atlas.trace import FATES, Fate, Trace

_ROW_PIXELS = 30
_HEIGHT_RANGE = (320, 680)
_FRAME_MS = 500


@dataclass(frozen=True)
class _Marks:
    """One Plotly trace of the tree: the nodes it draws, in order of step, and how it looks."""

    nodes: NDArray[np.int64]
    edges: bool
    look: dict[str, Any]

    def points(
        self, layout: TreeLayout, parent: NDArray[np.int32], step: int
    ) -> dict[str, NDArray[np.float32]]:
        """``x`` and ``y`` of what exists after ``step`` steps; an edge is parent, child, gap."""
        nodes = self.nodes[: int(np.searchsorted(layout.column[self.nodes], step, side="right"))]
        if not self.edges:
            return {"x": layout.column[nodes].astype(np.float32), "y": layout.row[nodes].astype(np.float32)}
        gap = np.full(len(nodes), np.nan, dtype=np.float32)
        return {
            axis: np.stack([place[parent[nodes]], place[nodes], gap], axis=1).astype(np.float32).ravel()
            for axis, place in (("x", layout.column), ("y", layout.row))
        }


def search_tree(
    trace: Trace, *, node: int | None = None, step: int | None = None, replay: bool = True, dark: bool = False
) -> go.Figure:
    """The tree of the whole search: a column a step, rank down, colour by fate, size by probability.

    The path of the best hypothesis is drawn thick and its tokens stand on its nodes. With ``replay`` the
    figure carries one frame a step, a slider and a play button, all of which run in the browser.

    Args:
        trace: the search to draw, N nodes, T steps.
        node: node id to ring, or None.
        step: how many steps to show at first (0..T); None shows all.
        replay: add the frames (0.7 MB for N = 601, T = 30; without them 0.2 MB).
        dark: for a dark page.

    Returns:
        A figure with the traces: edges to pruned nodes, other edges, the best path; one trace for each fate
        that occurs (``name`` is the fate, ``customdata`` the node id); the tokens of the best path; the ring,
        if any.

    Raises:
        ValueError: ``node`` or ``step`` is outside the search.
    """
    layout = lay_out(trace)
    shown = layout.steps if step is None else step
    if not 0 <= shown <= layout.steps:
        raise ValueError(f"step {shown} is outside the search: it has steps 0 to {layout.steps}")
    if node is not None and not 0 <= node < len(layout.row):
        raise ValueError(f"node {node} is outside the search: it has nodes 0 to {len(layout.row) - 1}")
    marks = _edges(trace, layout, dark) + _nodes(trace, layout, dark)
    parent = trace.search.parent
    figure = go.Figure([mark.look | mark.points(layout, parent, shown) for mark in marks])
    if node is not None:
        figure.add_trace(_ring(layout, node, dark))
    if replay:
        _add_replay(figure, marks, layout, parent, shown)
    return style.arrange(
        figure,
        height=int(np.clip(layout.rows * _ROW_PIXELS + (150 if replay else 70), *_HEIGHT_RANGE)),
        dark=dark,
        xaxis={
            "title": {"text": "step"},
            "range": [-0.6, layout.steps + 0.6],
            "dtick": 1 if layout.steps <= 24 else 5,
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"visible": False, "range": [layout.rows - 0.4, -1.0]},
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
        dragmode="pan",
        hovermode="closest",
    )


def _edges(trace: Trace, layout: TreeLayout, dark: bool) -> list[_Marks]:
    child = np.arange(1, len(layout.row))
    child = child[np.argsort(layout.column[child], kind="stable")]
    pruned, best = trace.search.fate[child] == Fate.PRUNED, layout.best[child]
    return [
        _Marks(
            nodes=child[chosen],
            edges=True,
            look={
                "type": "scatter",
                "mode": "lines",
                "line": {"color": colour, "width": width},
                "name": name,
                "hoverinfo": "skip",
                "showlegend": name == "best",
            },
        )
        for name, chosen, colour, width in (
            ("to pruned", pruned & ~best, style.fade(style.COLOURS["pruned"], 0.45), 1),
            ("to kept", ~pruned & ~best, style.fade(style.COLOURS["kept"], 0.7), 1.5),
            ("best", best, style.ink(dark), 3),
        )
    ]


def _nodes(trace: Trace, layout: TreeLayout, dark: bool) -> list[_Marks]:
    teller = FateTeller(trace)
    order = np.argsort(layout.column, kind="stable")
    marks = []
    for fate, name in enumerate(FATES):
        nodes = order[trace.search.fate[order] == fate]
        if len(nodes) == 0:
            continue
        look = {
            "type": "scatter",
            "mode": "markers",
            "name": style.MEANINGS[name],
            "customdata": nodes,
            "hovertext": ["<br>".join(map(style.escape, teller.hover(int(node)))) for node in nodes],
            "hoverinfo": "text",
            "marker": {
                "symbol": "square" if fate == Fate.CUT else "circle",
                "size": 2 * layout.radius[nodes],
                "color": style.COLOURS[name],
                "opacity": 0.65 if fate == Fate.PRUNED else 1.0,
                "line": {"color": style.ink(dark), "width": 2 if fate == Fate.FINISHED else 0},
            },
        }
        marks.append(_Marks(nodes=nodes, edges=False, look=look))
    named = order[layout.best[order]]
    tokens = {
        "type": "scatter",
        "mode": "markers+text",  # unseen discs as large as the nodes, which the tokens stand above
        "marker": {"size": 2 * layout.radius[named], "opacity": 0},
        "text": [style.escape(layout.labels[node]) for node in named],
        "textposition": "top center",
        "textfont": {"color": style.ink(dark), "size": 13},
        "hoverinfo": "skip",
        "showlegend": False,
        "cliponaxis": False,
    }
    return [*marks, _Marks(nodes=named, edges=False, look=tokens)]


def _ring(layout: TreeLayout, node: int, dark: bool) -> go.Scatter:
    return go.Scatter(
        x=[int(layout.column[node])],
        y=[int(layout.row[node])],
        mode="markers",
        marker={
            "symbol": "circle-open",
            "size": 2 * float(layout.radius[node]) + 10,
            "color": style.ink(dark),
            "line": {"width": 2},
        },
        hoverinfo="skip",
        showlegend=False,
    )


def _add_replay(
    figure: go.Figure, marks: list[_Marks], layout: TreeLayout, parent: NDArray[np.int32], shown: int
) -> None:
    """One frame a step, a slider over them and a play button."""
    places = list(range(len(marks)))
    figure.frames = [
        go.Frame(
            name=str(step),
            traces=places,
            data=[{"type": "scatter", **mark.points(layout, parent, step)} for mark in marks],
        )
        for step in range(layout.steps + 1)
    ]
    at_once = {"mode": "immediate", "transition": {"duration": 0}}
    figure.update_layout(
        sliders=[
            {
                "active": shown,
                "currentvalue": {"prefix": "step "},
                "steps": [
                    {
                        "label": str(step),
                        "method": "animate",
                        "args": [[str(step)], at_once | {"frame": {"duration": 0, "redraw": False}}],
                    }
                    for step in range(layout.steps + 1)
                ],
            }
        ],
        updatemenus=[
            {
                "type": "buttons",
                "direction": "right",
                "x": 0,
                "y": -0.3,
                "xanchor": "left",
                "showactive": False,
                "buttons": [
                    {
                        "label": "▶ play",
                        "method": "animate",
                        "args": [None, at_once | {"frame": {"duration": _FRAME_MS, "redraw": False}}],
                    },
                    {"label": "❚❚ pause", "method": "animate", "args": [[None], at_once]},
                ],
            }
        ],
    )
