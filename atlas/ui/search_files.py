"""What can be taken away of a search: the picture of its tree, and every candidate with its numbers."""

from __future__ import annotations

import json
from functools import partial

import numpy as np

from atlas.figures.tree import search_tree
from atlas.text.tables import MIME_TYPES, write_table
from atlas.trace import FATES, Trace
from atlas.ui.takeaway import offer_figure
from atlas.ui.theme import is_dark


def offer_search(trace: Trace, node: int, step: int, stem: str) -> None:
    """Offer the tree as it is shown, and its numbers whole.

    Args:
        trace: the search.
        node: the chosen one.
        step: how many steps are shown.
        stem: of the names of the files.
    """
    draw = partial(search_tree, trace, node=node, step=step, replay=False, dark=is_dark())
    numbers = [
        ("CSV", f"{stem}.csv", MIME_TYPES["csv"], partial(_csv, trace)),
        ("JSON", f"{stem}.json", "application/json", partial(_json, trace)),
    ]
    offer_figure(
        "The tree of the search; every candidate with its probability, score and fate", stem, draw, numbers
    )


def search_columns(trace: Trace) -> dict[str, list[object]]:
    """Every candidate, N - 1 rows: all but the root, in the order of the trace.

    Returns:
        ``node`` and ``parent`` (ids; 0 is the root), ``step``, ``rank`` (from 1), ``token`` and its ``id``,
        ``fate``, ``logprob`` of the token and ``total`` of its path (nats), ``score`` after the length
        penalty, ``forced``, and the ``text`` of the path.
    """
    search = trace.search
    nodes = np.arange(1, len(search))
    return {
        "node": nodes.tolist(),
        "parent": search.parent[nodes].tolist(),
        "step": search.step[nodes].tolist(),
        "rank": (search.rank[nodes] + 1).tolist(),
        "token": [trace.labels[node] for node in nodes],
        "id": search.token[nodes].tolist(),
        "fate": [FATES[int(fate)] for fate in search.fate[nodes]],
        "logprob": search.logprob[nodes].tolist(),
        "total": search.cumulative[nodes].tolist(),
        "score": search.score[nodes].tolist(),
        "forced": search.forced[nodes].tolist(),
        "text": [trace.text(int(node)) for node in nodes],
    }


def _csv(trace: Trace) -> bytes:
    return write_table(search_columns(trace), "csv")


def _json(trace: Trace) -> bytes:
    content = {
        "format": "attention-atlas-search",
        "version": 1,
        "source": trace.source,
        "settings": dict(trace.header.settings),
        "columns": search_columns(trace),
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode("utf-8", "backslashreplace")
