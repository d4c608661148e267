"""Where every node of a search stands in the picture of its tree.

One column a step, rank down: a node's place says at which step it was a candidate and how it compared with
the other candidates of that step. Columns and rows are counted, not measured, so that any renderer (Plotly,
the SVG component) chooses its own pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.figures.fates import last_alive, last_step
from atlas.trace import Trace

RADIUS = (2.5, 9.0)
"""Radius in pixels of a node of probability 0 and of probability 1; in between the excess *area* is
proportional to the probability (radius goes with its square root), as the eye compares areas."""


@dataclass(frozen=True)
class TreeLayout:
    """The drawn tree; index = node id, as in the trace.

    Attributes:
        column: int32 (N,), the step (0 for the root).
        row: int32 (N,), place among the candidates of the step, best first from 0.
        radius: float32 (N,), pixels.
        alive: int32 (N,), last step at which a hypothesis in play goes through the node.
        best: bool (N,), on the path of the best hypothesis.
        labels: N token labels, not escaped.
        steps: number of steps T (columns are 0..T).
        rows: number of rows of the tallest column.
    """

    column: NDArray[np.int32]
    row: NDArray[np.int32]
    radius: NDArray[np.float32]
    alive: NDArray[np.int32]
    best: NDArray[np.bool_]
    labels: tuple[str, ...]
    steps: int
    rows: int

    def __post_init__(self) -> None:
        count = len(self.column)
        for name in ("row", "radius", "alive", "best", "labels"):
            if len(getattr(self, name)) != count:
                raise ValueError(
                    f"TreeLayout.{name} has {len(getattr(self, name))} entries for {count} nodes"
                )
        places = set(zip(self.column.tolist(), self.row.tolist(), strict=True))
        if len(places) != count:
            raise ValueError(f"{count - len(places)} nodes of the tree lie on top of others")


def radii(logprobs: NDArray[np.floating]) -> NDArray[np.float32]:
    """Radius of each node from its token's log-probability: float32, same shape, within :data:`RADIUS`."""
    low, high = RADIUS
    return (low + (high - low) * np.sqrt(np.exp(np.minimum(logprobs, 0.0)))).astype(np.float32)


def lay_out(trace: Trace) -> TreeLayout:
    """Lay the search of ``trace`` out.

    Ranks may have gaps (only recorded candidates have nodes) or ties (several forced tokens): rows are the
    dense order by rank, then by node id.

    Args:
        trace: a trace with at least one hypothesis or none (then no node is ``best``).

    Returns:
        The layout; no two nodes share a place.
    """
    search = trace.search
    row = np.zeros(len(search.parent), dtype=np.int32)
    steps = last_step(trace)
    for step in range(1, steps + 1):
        nodes = np.flatnonzero(search.step == step)
        row[nodes[np.lexsort((nodes, search.rank[nodes]))]] = np.arange(len(nodes))
    best = np.zeros(len(row), dtype=np.bool_)
    if len(trace.hypotheses):
        best[trace.ancestors(int(trace.hypotheses[0]))] = True
    return TreeLayout(
        column=search.step.astype(np.int32),
        row=row,
        radius=radii(search.logprob),
        alive=last_alive(trace),
        best=best,
        labels=trace.labels,
        steps=steps,
        rows=int(row.max(initial=0)) + 1,
    )
