"""What the exported page holds: everything that its script needs to draw a trace, and the numbers.

Attention is written as uint16, 65535 for a weight of 1, so each number is off by less than 1e-5; the page
shows four decimals. That and gzip make two fifths of the float32 of a trace. Every pass of the search is
held, so the attention of pruned nodes can be looked at as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.figures import style
from atlas.figures.attention import row_name
from atlas.figures.heatmap import KINDS
from atlas.figures.mosaic import SCALES, colour_tables
from atlas.figures.tree_payload import tree_payload
from atlas.trace import Trace
from atlas.trace.pieces import piece_bytes

FULL = 65535
"""What a weight of 1 is written as."""


def page_arrays(trace: Trace) -> dict[str, NDArray[np.uint16]]:
    """The attention of each kind that the model has.

    Returns:
        ``encoder`` (L, H, S, S), ``cross`` (E, L, H, S) and ``decoder`` (E, L, H, T) as little-endian uint16:
        ``weight * FULL``, rounded.
    """
    points = {"encoder": trace.encoder, "cross": trace.search.cross, "decoder": trace.search.decoder}
    return {kind: np.rint(points[kind].astype(np.float64) * FULL).astype("<u2") for kind in trace.kinds}


def page_data(trace: Trace) -> dict[str, Any]:
    """Everything besides the numbers of attention; JSON-able.

    Returns:
        ``source`` (S labels); ``kinds``, a list in the order of the pages with name, title, colour, layers,
        heads, width (keys of an array) and ``rows`` (the title of the query axis); ``tree`` (see
        :func:`atlas.figures.tree_payload.tree_payload`); ``expanded`` (a row of the arrays for each node, or
        -1); ``hypotheses`` (nodes, best first); ``relabelled`` (see :func:`relabelled`); and the looks:
        ``colours``, ``tables`` of the canvas, ``looks`` of the heatmap in both themes.
    """
    shapes = {
        "encoder": trace.encoder.shape[:2] + trace.encoder.shape[-1:],
        "cross": trace.search.cross.shape[1:],
        "decoder": trace.search.decoder.shape[1:],
    }
    return {
        "source": [token.label for token in trace.source_tokens],
        "kinds": [_kind(kind, shapes[kind]) for kind in KINDS if kind in trace.kinds],
        "tree": tree_payload(trace),
        "expanded": trace.search.expanded.tolist(),
        "hypotheses": trace.hypotheses.tolist(),
        "relabelled": {str(node): places for node, places in relabelled(trace).items()},
        "colours": {side: style.COLOURS[side] for side in ("query", "key")},
        "tables": colour_tables(),
        "looks": {name: _look(dark) for name, dark in (("light", False), ("dark", True))},
    }


def relabelled(trace: Trace) -> Mapping[int, list[list[Any]]]:
    """Where a token is called otherwise on a longer path than as the last of its own.

    A piece that holds a part of a character is called by its bytes until the rest of the character follows.

    Returns:
        For each node on whose path that happens: ``[place on the path from the root, label]`` pairs.
    """
    search = trace.search
    broken = {number for number, piece in trace.vocabulary.items() if _is_broken(piece)}
    met = np.zeros(len(search), dtype=bool)
    for node in range(1, len(search)):
        met[node] = met[search.parent[node]] or int(search.token[node]) in broken
    found: dict[int, list[list[Any]]] = {}
    for node in np.flatnonzero(met).tolist():
        labels = [token.label for token in trace.target_tokens(node)]
        others = [
            [place, label]
            for place, (label, member) in enumerate(zip(labels, trace.ancestors(node), strict=True))
            if label != trace.labels[member]
        ]
        if others:
            found[node] = others
    return found


def _is_broken(piece: str) -> bool:
    try:
        piece_bytes(piece).decode()
    except UnicodeDecodeError:
        return True
    return False


def _kind(kind: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    layers, heads, width = shape
    return {
        "name": kind,
        "title": KINDS[kind],
        "colour": style.COLOURS[kind],
        "layers": layers,
        "heads": heads,
        "width": width,
        "rows": row_name(kind, "output"),
        "scales": SCALES,
    }


def _look(dark: bool) -> dict[str, Any]:
    return {
        "scale": style.sequential(dark),
        "ink": style.ink(dark),
        "background": style.background(dark),
        "flat": style.fade(style.ink(dark), 0.06),
        "query": style.text_colour("query", dark),
        "key": style.text_colour("key", dark),
    }
