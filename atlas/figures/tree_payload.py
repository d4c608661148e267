"""The tree of a search as plain JSON for the SVG component: the same layout and sentences as the Plotly
figure.

A payload of 1,201 nodes is about 0.3 MB, most of it the sentences of the hovers.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from atlas.figures import style
from atlas.figures.fates import FateTeller
from atlas.figures.tree_layout import lay_out
from atlas.trace import FATES, Trace


def tree_payload(trace: Trace) -> dict[str, Any]:
    """Everything that the component needs to draw, replay and explain the search.

    What is chosen is no part of it: the payload changes only with the search.

    Args:
        trace: the search, N nodes (index = node id), T steps.

    Returns:
        JSON-able: ``steps`` T, ``rows``; lists of N: ``column``, ``row``, ``radius`` (pixels), ``parent``,
        ``token`` (ids), ``fate`` (number), ``alive`` (step), ``label``, ``hover`` (lines joined by newlines);
        ``best`` node ids of the best path, root first; ``captions`` and ``leaders`` (T + 1 lines each);
        ``fates`` (number -> name), ``colours`` and ``meanings`` (name -> CSS colour, words); ``summary``
        (alternative text) and ``identity``, a digest that changes whenever the tree does.
    """
    search = trace.search
    layout = lay_out(trace)
    teller = FateTeller(trace)
    count = len(layout.row)
    digest = hashlib.blake2b(digest_size=8)
    for values in (search.parent, search.token, search.fate, search.rank, search.cumulative, search.score):
        digest.update(np.ascontiguousarray(values).tobytes())
    met = [int((search.fate[1:] == fate).sum()) for fate in range(len(FATES))]
    best = np.flatnonzero(layout.best)
    outcome = f" Best: {trace.text(int(best[-1]))}" if len(best) else " No hypothesis."
    return {
        "identity": digest.hexdigest(),
        "steps": layout.steps,
        "rows": layout.rows,
        "column": layout.column.tolist(),
        "row": layout.row.tolist(),
        "radius": [round(float(radius), 2) for radius in layout.radius],
        "parent": search.parent.tolist(),
        "token": search.token.tolist(),
        "fate": search.fate.tolist(),
        "alive": layout.alive.tolist(),
        "label": list(layout.labels),
        "hover": ["\n".join(teller.hover(node)) for node in range(count)],
        "best": best.tolist(),
        "captions": [teller.caption(step) for step in range(layout.steps + 1)],
        "leaders": [teller.leader(step) for step in range(layout.steps + 1)],
        "fates": list(FATES),
        "colours": {name: style.COLOURS[name] for name in FATES},
        "meanings": {name: style.MEANINGS[name] for name in FATES},
        "summary": (
            f"Search tree: {count - 1} candidates in {layout.steps} steps, "
            + ", ".join(f"{number} {name}" for number, name in zip(met, FATES, strict=True))
            + "."
            + outcome
        ),
    }
