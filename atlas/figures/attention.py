"""From a trace to what the pictures of heads draw: one head, or all heads of a kind.

::

    head = head_map(trace, "cross", layer=2, head=4)          # counted from 0, or "mean" or "max"
    heatmap(head).show()
    heads_mosaic(head_grid(trace, "encoder"), scale="shared").show()
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.figures.heatmap import HeadMap
from atlas.figures.mosaic import HeadGrid
from atlas.trace import Trace
from atlas.trace.views import Head, Kind, Rows, Unit, View, view

ROWS: dict[str, str] = {"input": "token read", "output": "token predicted"}
"""The two conventions of naming a row of decoder or cross-attention, in the words that pictures use."""


def head_name(layer: int, head: Head) -> str:
    """What people call a head: counted from 1, "layer 3 · head 5" or "layer 3 · mean over heads"."""
    return f"layer {layer + 1} · " + (f"head {head + 1}" if isinstance(head, int) else f"{head} over heads")


def row_name(kind: Kind, rows: Rows) -> str:
    """The title of the query axis, which names the row convention where there are two."""
    return "query" if kind == "encoder" else f"query ({ROWS[rows]})"


def masked_cells(shown: View) -> NDArray[np.bool_] | None:
    """bool (Q, K): cells of decoder self-attention that the causal mask hides; None for the other kinds.

    Row ``t`` sees tokens 0..t. A cell of words is masked when every pair of their pieces is.
    """
    if shown.kind != "decoder":
        return None
    last = np.array([max(group.members) for group in shown.queries], dtype=int)
    first = np.array([min(group.members) for group in shown.keys], dtype=int)
    return first[None, :] > last[:, None]


def as_map(shown: View) -> HeadMap:
    """A view of one layer and one head (or mean, or maximum) as a picture's numbers.

    Raises:
        ValueError: the view holds several heads or layers.
    """
    if shown.weights.ndim != 2:
        raise ValueError(
            f"a picture of one head needs one layer and one head, not {shown.weights.shape[:-2]}"
        )
    return HeadMap(
        weights=shown.weights,
        queries=shown.query_labels,
        keys=shown.key_labels,
        scores=shown.scores,
        masked=masked_cells(shown),
        kind=shown.kind,
        name=head_name(shown.layers[0], shown.heads[0]),
        rows=row_name(shown.kind, shown.rows),
    )


def head_map(trace: Trace, kind: Kind, *, layer: int, head: Head, **shown: Any) -> HeadMap:
    """One head of a trace; ``shown`` as in :func:`atlas.trace.views.view` (unit, special, rows, node).

    Raises:
        TraceError: no such layer, head or node.
    """
    return as_map(view(trace, kind, layer=layer, head=head, **shown))


def head_grid(
    trace: Trace,
    kind: Kind,
    *,
    unit: Unit = "pieces",
    special: bool = True,
    rows: Rows = "output",
    node: int | None = None,
) -> HeadGrid:
    """All heads of a kind, with the mean and the maximum over heads of each layer; arguments as in ``view``.

    Raises:
        TraceError: no such node, or its attention was not kept.
    """
    each, mean, maximum = (
        view(trace, kind, head=head, unit=unit, special=special, rows=rows, node=node)
        for head in (None, "mean", "max")
    )
    return HeadGrid(each.weights, mean.weights, maximum.weights, each.query_labels, each.key_labels, kind)


def disagreement(first: HeadMap, second: HeadMap) -> float | None:
    r"""How differently two heads divide the attention of the same queries over the same keys, 0 to 1.

    The total variation distance of two rows, averaged over the rows that are empty in neither:

    .. math:: \frac{1}{|Q|} \sum_i \frac{1}{2} \sum_j |A_{ij} - B_{ij}|

    Returns:
        0 for equal maps, 1 for maps that share no weight; None where the labels differ or no row can be
        compared.
    """
    if (first.queries, first.keys) != (second.queries, second.keys):
        return None
    apart = 0.5 * np.abs(first.weights.astype(float) - second.weights).sum(axis=1)
    return float(apart[np.isfinite(apart)].mean()) if np.isfinite(apart).any() else None
