"""The validator: every promise of the schema, and one line that names what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.trace.errors import TraceError
from atlas.trace.pieces import Token, label_tokens
from atlas.trace.schema import READABLE, Fate, Header, Search
from atlas.trace.trace import Trace

ROW_TOLERANCE = 1e-4  # float32 softmax over a few hundred keys
SUM_TOLERANCE = 1e-4  # float32 log-probabilities added up in another order
SOFTMAX_TOLERANCE = 1e-3

#: Extra points and their shapes: E passes, L layers (of the part named), H heads, S source, T target, K head
#: width, P residual points, V vocabulary. K, P and V are whatever the array has.
EXTRA_SHAPES = {
    "encoder.scores": "LHSS", "decoder.scores": "ELHT", "cross.scores": "ELHS",
    "encoder.q": "LHSK", "encoder.k": "LHSK", "encoder.v": "LHSK",
    "decoder.q": "ELHK", "decoder.k": "ELHK", "decoder.v": "ELHK",
    "cross.q": "ELHK", "cross.k": "LHSK", "cross.v": "LHSK",
    "encoder.residual_norm": "PS", "decoder.residual_norm": "EP", "logits": "EV",
}  # fmt: skip

_SEARCH_TYPES = {
    "parent": "int32", "token": "int32", "logprob": "float64", "cumulative": "float64", "score": "float64",
    "step": "int32", "rank": "int32", "fate": "int8", "forced": "bool", "expanded": "int32",
    "cross": "float32", "decoder": "float32", "top_ids": "int32", "top_logprobs": "float32",
}  # fmt: skip


def validate(trace: Trace) -> None:
    """Check every promise of the schema.

    Raises:
        TraceError: one line naming the field that is wrong and how.
    """
    _check_header(trace.header)
    _check_source(trace)
    _check_types(trace.search)
    _check_tree(trace.search)
    _check_vocabulary(trace)
    _check_fates(trace)
    _check_passes(trace)
    _check_hypotheses(trace)
    _check_extras(trace)


def require(condition: object, message: str) -> None:
    """Raise a :class:`TraceError` with ``message`` unless ``condition`` holds."""
    if not condition:
        raise TraceError(message)


def _check_header(header: Header) -> None:
    require(
        header.schema_version in READABLE,
        f"header.schema_version is {header.schema_version!r}, not one of {', '.join(map(str, READABLE))}",
    )
    for name in ("package_version", "model_name", "model_hash", "source_language", "target_language"):
        require(isinstance(getattr(header, name), str), f"header.{name} is not text")
    require(isinstance(header.settings, dict), "header.settings is not a dictionary")


def _check_source(trace: Trace) -> None:
    tokens = trace.source_tokens
    require(isinstance(trace.source, str), "source is not text")
    require(len(tokens) > 0, "source_tokens is empty")
    for index, token in enumerate(tokens):
        name = f"source_tokens[{index}]"
        _check_token(token, name)
        span_right = 0 <= token.start <= token.end <= len(trace.source)
        require(span_right, f"{name} spans {token.start}..{token.end} of {len(trace.source)} characters")
        if token.special:
            require(
                token.start == token.end and token.word == -1, f"{name} is special but has a span or a word"
            )
        else:
            require(
                token.text == trace.source[token.start : token.end], f"{name}.text is not what its span holds"
            )
            require(token.word >= 0, f"{name}.word is negative")
    places = [token.start for token in tokens]
    require(places == sorted(places), "source_tokens are not in reading order")
    words = [token.word for token in tokens if not token.special]
    require(words == sorted(words), "source_tokens: their words are not in reading order")
    count = len(tokens)
    _check_array("encoder", trace.encoder, "float32", (None, None, count, count))
    _check_rows("encoder", trace.encoder)


def _check_token(token: Token, name: str) -> None:
    for field, kind in (("id", int), ("start", int), ("end", int), ("word", int), ("special", bool)):
        require(type(getattr(token, field)) is kind, f"{name}.{field} is not of type {kind.__name__}")
    for field in ("piece", "text", "label"):
        require(isinstance(getattr(token, field), str), f"{name}.{field} is not text")


def _check_types(search: Search) -> None:
    nodes, passes = _length("search.parent", search.parent), _length("search.cross", search.cross)
    require(nodes > 0, "search.parent is empty: there is no root")
    for name, kind in _SEARCH_TYPES.items():
        points = getattr(search, name)
        shape: tuple[int | None, ...]
        if name in ("cross", "decoder"):
            shape = (passes, None, None, None)
        elif name.startswith("top_"):
            shape = (passes, None)
        else:
            shape = (nodes,)
        _check_array(f"search.{name}", points, kind, shape)
    require(
        search.top_ids.shape == search.top_logprobs.shape, "search.top_ids and top_logprobs differ in shape"
    )


def _check_tree(search: Search) -> None:
    parent, step = search.parent, search.step
    require(parent[0] == -1 and step[0] == 0, "search.parent[0] or step[0]: node 0 is not the root")
    require(search.cumulative[0] == 0 and search.logprob[0] == 0, "search.logprob[0]: the root's is not 0")
    later = np.arange(1, len(search))
    _require_nodes((parent[1:] >= 0) & (parent[1:] < later), "parent", "does not precede its child")
    _require_nodes(step[1:] == step[parent[1:]] + 1, "step", "is not one more than its parent's")
    for name in ("logprob", "cumulative", "score"):
        _require_nodes(np.isfinite(getattr(search, name)[1:]), name, "is not finite")
    _require_nodes(search.logprob[1:] <= SUM_TOLERANCE, "logprob", "is above 0")
    added = search.cumulative[parent[1:]] + search.logprob[1:]
    close = np.abs(search.cumulative[1:] - added) <= SUM_TOLERANCE
    _require_nodes(close, "cumulative", "is not its parent's plus its own log-probability")
    _require_nodes(search.rank[1:] >= 0, "rank", "is negative")
    pairs = set(zip(parent.tolist(), search.token.tolist(), strict=True))
    require(len(pairs) == len(search), "search.token: two children of one node have the same token")


def _check_vocabulary(trace: Trace) -> None:
    require(all(type(number) is int for number in trace.special_ids), "special_ids are not whole numbers")
    require(
        type(trace.end_id) is int and trace.end_id in trace.special_ids, "end_id is not one of special_ids"
    )
    used = set(np.unique(trace.search.token).tolist()) | set(np.unique(trace.search.top_ids).tolist())
    for number in sorted(used):
        piece = trace.vocabulary.get(number)
        require(isinstance(piece, str), f"vocabulary has no piece for id {number}")
        label_tokens(None, [str(piece)], [number], trace.special_ids)


def _check_fates(trace: Trace) -> None:
    search = trace.search
    known = np.isin(search.fate, [int(fate) for fate in Fate])
    _require_nodes(known[1:], "fate", "is not one of 0..3")
    require(search.fate[0] == Fate.KEPT, "search.fate[0]: the root's is not kept")
    ends = search.token == trace.end_id
    _require_nodes((search.fate != Fate.FINISHED)[1:] | ends[1:], "fate", "is finished without the end mark")
    open_end = ends & np.isin(search.fate, [Fate.KEPT, Fate.CUT])
    _require_nodes(~open_end[1:], "fate", "has the end mark but is neither finished nor pruned")
    _require_nodes(search.fate[search.parent[1:]] == Fate.KEPT, "fate", "has a parent that was not kept")


def _check_passes(trace: Trace) -> None:
    search, passes = trace.search, len(trace.search.cross)
    require(
        trace.rows_kept in ("all", "n-best"), f"rows_kept is {trace.rows_kept!r}, neither 'all' nor 'n-best'"
    )
    readers = np.flatnonzero(search.expanded >= 0)
    rows = search.expanded[readers]
    require((search.expanded >= -1).all(), "search.expanded is below -1")
    require(
        np.array_equal(np.sort(rows), np.arange(passes)),
        "search.expanded does not name each pass exactly once",
    )
    if trace.rows_kept == "all":
        _require_nodes(search.expanded[search.parent[1:]] >= 0, "expanded", "has a parent that no pass read")
    _check_array("search.cross", search.cross, "float32", (passes, None, None, len(trace.source_tokens)))
    both = search.cross.shape[1:3], search.decoder.shape[1:3]
    require(
        both[0] == both[1] or 0 in both[0] or 0 in both[1],
        f"search.decoder has {both[1]} layers and heads, search.cross {both[0]}",
    )
    reach = search.decoder.shape[-1]
    visible = np.zeros((passes, reach), bool)
    visible[rows] = np.arange(reach) <= search.step[readers][:, None]
    require(passes == 0 or search.step[readers].max() < reach, f"search.decoder has only {reach} keys")
    _check_rows("search.cross", search.cross)
    _check_rows("search.decoder", search.decoder)
    hidden = ~np.broadcast_to(visible[:, None, None, :], search.decoder.shape)
    require(not search.decoder[hidden].any(), "search.decoder looks at tokens that are not on its path")
    logprobs = search.top_logprobs
    falling = (logprobs[:, 1:] <= logprobs[:, :-1]).all() and not np.isnan(logprobs).any()
    require(
        falling and (logprobs <= SUM_TOLERANCE).all(), "search.top_logprobs are not falling log-probabilities"
    )


def _check_hypotheses(trace: Trace) -> None:
    _check_array("hypotheses", trace.hypotheses, "int32", (None,))
    nodes = trace.hypotheses
    require(len(nodes) > 0, "hypotheses is empty")
    require(
        ((nodes > 0) & (nodes < len(trace.search))).all(), "hypotheses names a node that is not in the search"
    )
    require(len(set(nodes.tolist())) == len(nodes), "hypotheses names a node twice")
    ended = np.isin(trace.search.fate[nodes], [Fate.FINISHED, Fate.CUT])
    require(ended.all(), "hypotheses names a node that is neither finished nor cut")
    for node in nodes.tolist():
        rows = trace.search.expanded[trace.ancestors(node)[:-1]]
        require((rows >= 0).all(), f"search.expanded: the rows of hypothesis {node} are missing")


def _check_extras(trace: Trace) -> None:
    search, source = trace.search, len(trace.source_tokens)
    passes, layers, heads, reach = search.decoder.shape
    for name, points in trace.extras.items():
        require(name in EXTRA_SHAPES, f"extras holds {name!r}, which is no named point")
        sizes = {"E": passes, "L": layers, "H": heads, "S": source, "T": reach}
        if name.startswith("encoder."):
            sizes |= {"L": trace.encoder.shape[0], "H": trace.encoder.shape[1]}
        if name.startswith("cross."):
            sizes |= {"L": search.cross.shape[1], "H": search.cross.shape[2]}
        shape = tuple(sizes.get(letter) for letter in EXTRA_SHAPES[name])
        _check_array(f"extras.{name}", points, "float32", shape)
        require(not np.isnan(points).any(), f"extras.{name} holds NaN")
    for name, weights in (("encoder", trace.encoder), ("decoder", search.decoder), ("cross", search.cross)):
        scores = trace.extras.get(f"{name}.scores")
        if scores is not None and scores.size:
            _check_scores(f"extras.{name}.scores", scores, weights)


def _check_scores(name: str, scores: NDArray[np.float32], weights: NDArray[np.float32]) -> None:
    best = scores.max(-1, keepdims=True)
    require(np.isfinite(best).all(), f"{name} has a row without a finite score")
    powers = np.exp(scores - best)
    worst = np.abs(powers / powers.sum(-1, keepdims=True) - weights).max()
    require(worst <= SOFTMAX_TOLERANCE, f"{name}: their softmax differs from the weights by {worst:.3g}")


def _length(name: str, points: object) -> int:
    require(isinstance(points, np.ndarray) and points.ndim > 0, f"{name} is not an array")
    assert isinstance(points, np.ndarray)
    return len(points)


def _check_array(name: str, points: Any, kind: str, shape: Sequence[int | None]) -> None:
    """Type and shape; ``None`` in ``shape`` is any size."""
    require(isinstance(points, np.ndarray), f"{name} is not an array")
    require(points.dtype == np.dtype(kind), f"{name} has type {points.dtype}, not {kind}")
    fits = points.ndim == len(shape) and all(
        want in (None, have) for want, have in zip(shape, points.shape, strict=True)
    )
    wanted = ", ".join("any" if size is None else str(size) for size in shape)
    require(fits, f"{name} has shape {points.shape}, not ({wanted})")


def _check_rows(name: str, weights: NDArray[np.float32]) -> None:
    """Every row is a probability distribution over its keys."""
    require(np.isfinite(weights).all(), f"{name} holds NaN or infinite weights")
    require((weights >= 0).all(), f"{name} holds negative weights")
    gap = np.abs(weights.sum(-1, dtype=np.float64) - 1)
    require(
        (gap <= ROW_TOLERANCE).all(), f"{name} has a row that sums to 1 only within {gap.max(initial=0):.3g}"
    )


def _require_nodes(holds: NDArray[np.bool_], field: str, complaint: str) -> None:
    """``holds`` has one value for each node but the root."""
    if not holds.all():
        node = int(np.argmin(holds)) + 1
        raise TraceError(f"search.{field}: node {node} {complaint}")
