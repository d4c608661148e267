"""One picture's numbers: which attention, layer and head, pieces or words, and the maths that was used."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from atlas.trace import words
from atlas.trace.cells import neutral
from atlas.trace.errors import TraceError
from atlas.trace.pieces import Token
from atlas.trace.trace import Trace
from atlas.trace.words import Group

Kind = Literal["encoder", "decoder", "cross"]
Unit = Literal["pieces", "words"]
Rows = Literal["input", "output"]
Head = int | Literal["mean", "max"]

_ROW_TEXT = {
    ("encoder", "input"): "A row is a source token, a column a source token it looks at.",
    ("decoder", "input"): "A row is the target token being read, a column a target token it looks at.",
    (
        "decoder",
        "output",
    ): "A row is the target token being predicted, a column a target token read before it.",
    ("cross", "input"): "A row is the target token being read, a column a source token it looks at.",
    (
        "cross",
        "output",
    ): "A row is the target token being predicted, a column a source token looked at for it.",
}
_WORDS_TEXT = "Words: weights are summed over a word's keys and averaged over its queries."
_HIDDEN_TEXT = (
    "Special tokens are hidden and each row divided by what is left; a row with nothing left is empty."
)


@dataclass(frozen=True, eq=False)
class View:
    """Attention as a picture shows it.

    Attributes:
        kind: which attention.
        unit: ``"pieces"`` or ``"words"``.
        special: whether special tokens are shown.
        rows: what a row of decoder or cross-attention is called by: the token read or the token predicted.
        layers: the layers held, counted from 0.
        heads: the heads held, counted from 0, or ``("mean",)`` or ``("max",)``.
        weights: (..., Q, K) float32; layer and head axes only where all were asked for. Empty rows are NaN.
        scores: the same before softmax (-inf where masked), ``None`` when not recorded, and for words, mean
            and maximum, which have none.
        queries, keys: Q and K groups: labels, spans, words and member tokens.
        note: the maths used, in words, for the reader of the picture.
        sums_to_one: whether rows that are not empty sum to 1.
    """

    kind: Kind
    unit: Unit
    special: bool
    rows: Rows
    layers: tuple[int, ...]
    heads: tuple[Head, ...]
    weights: NDArray[np.float32]
    scores: NDArray[np.float32] | None
    queries: tuple[Group, ...]
    keys: tuple[Group, ...]
    note: str
    sums_to_one: bool

    @property
    def query_labels(self) -> tuple[str, ...]:
        """Q labels, top to bottom; the same one may come twice."""
        return tuple(group.label for group in self.queries)

    @property
    def key_labels(self) -> tuple[str, ...]:
        """K labels, left to right; the same one may come twice."""
        return tuple(group.label for group in self.keys)

    def to_csv(self) -> str:
        """One line a cell; layers, heads and indices count from 0; empty rows and masked scores are blank.

        A label that a spreadsheet would run as a formula begins with an apostrophe.
        """
        weights = self._numbers(self.weights)
        scores = None if self.scores is None else self._numbers(self.scores)
        queries, keys = tuple(map(neutral, self.query_labels)), tuple(map(neutral, self.key_labels))
        columns = ["layer", "head", "query_index", "query", "key_index", "key", "weight"]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*columns, "score"] if scores is not None else columns)
        for place in np.ndindex(len(self.layers), len(self.heads), len(self.queries), len(self.keys)):
            layer, head, query, key = place
            names = [self.layers[layer], self.heads[head], query, queries[query], key, keys[key]]
            writer.writerow([*names, weights[place], *([] if scores is None else [scores[place]])])
        return file.getvalue()

    def to_json(self) -> str:
        """One object; weights and scores are nested (layer, head, query, key), null where empty or masked."""
        content = {
            "format": "attention-atlas-view", "version": 1,
            "kind": self.kind, "unit": self.unit, "rows": self.rows, "special_tokens_shown": self.special,
            "layers": self.layers, "heads": self.heads, "note": self.note,
            "queries": self.query_labels, "keys": self.key_labels,
            "weights": self._numbers(self.weights).tolist(),
            "scores": None if self.scores is None else self._numbers(self.scores).tolist(),
        }  # fmt: skip
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    def _numbers(self, points: NDArray[np.float32]) -> NDArray[np.object_]:
        """(layer, head, Q, K) shortest decimals that read back as the same float32, or ``None``."""
        decimals: NDArray[Any] = points.astype("U").astype(np.float64).astype(object)
        decimals[~np.isfinite(points)] = None
        shape = (len(self.layers), len(self.heads), len(self.queries), len(self.keys))
        return decimals.reshape(shape)


def view(
    trace: Trace,
    kind: Kind,
    *,
    layer: int | None = None,
    head: Head | None = None,
    unit: Unit = "pieces",
    special: bool = True,
    rows: Rows = "output",
    node: int | None = None,
) -> View:
    """The numbers of one picture.

    The order of the steps: special tokens are hidden, pieces merged into words (keys, then queries), heads
    combined. So the mean map is the mean of the maps that are shown head by head.

    Args:
        trace: where from.
        kind: ``"encoder"``, ``"decoder"`` or ``"cross"``.
        layer: counted from 0; ``None`` keeps all on an axis of their own.
        head: counted from 0, or ``"mean"`` or ``"max"`` over the heads; ``None`` keeps all on an axis of
            their own.
        unit: pieces or words.
        special: whether special tokens are shown.
        rows: what a row of decoder or cross-attention is called by, and grouped into words by: the token that
            was read (input) or the one that was predicted (output). The encoder's are read.
        node: end of the path to look at; ``None`` is the best hypothesis. The encoder does not depend on it.

    Raises:
        TraceError: no such kind, layer, head or node, or rows that were not kept.
    """
    for name, value, allowed in (("kind", kind, Kind), ("unit", unit, Unit), ("rows", rows, Rows)):
        if value not in get_args(allowed):
            raise TraceError(f"{name} is {value!r}, not one of {', '.join(get_args(allowed))}")
    if kind == "encoder":
        rows = "input"
    if kind not in trace.kinds:
        raise TraceError(f"this model has no {kind} attention")
    side = _side(trace, kind, rows, node)
    weights, scores = side.weights, side.scores
    layers = _chosen("layer", layer, weights.shape[0], kind)
    combined: Literal["mean", "max"] | None = head if head in ("mean", "max") else None
    heads = _chosen("head", None if combined else head, weights.shape[1], kind)
    weights = _part(weights, layers, heads)
    scores = None if scores is None or combined or unit == "words" else _part(scores, layers, heads)
    queries, keys = _groups(side.queries, side.query_text, unit), _groups(side.keys, side.key_text, unit)
    note = [_ROW_TEXT[kind, rows]]
    if not special:
        hidden = [token.special for token in side.queries], [token.special for token in side.keys]
        weights = words.hide_special(weights, *hidden)
        scores = None if scores is None else words.select(scores, *hidden)
        queries, keys = _shown(queries), _shown(keys)
        note.append(_HIDDEN_TEXT)
    if unit == "words":
        weights = words.merge_queries(words.merge_keys(weights, _places(keys)), _places(queries))
        note.append(_WORDS_TEXT)
    if combined == "mean":
        weights = words.mean_heads(weights)
        note.append(f"Mean over {len(heads)} heads.")
    elif combined == "max":
        weights = words.max_heads(weights)
        note.append(f"Maximum over {len(heads)} heads: rows do not sum to 1.")
    if combined is None and head is not None:
        weights, scores = weights[:, 0], None if scores is None else scores[:, 0]
    if layer is not None:
        weights, scores = weights[0], None if scores is None else scores[0]
    return View(
        kind=kind,
        unit=unit,
        special=special,
        rows=rows,
        layers=layers,
        heads=(combined,) if combined else heads,
        weights=weights,
        scores=scores,
        queries=queries,
        keys=keys,
        note=" ".join(note),
        sums_to_one=combined != "max",
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """Maps (L, H, Q, K) of one kind with the tokens of both sides."""

    weights: NDArray[np.float32]
    scores: NDArray[np.float32] | None
    queries: tuple[Token, ...]
    query_text: str
    keys: tuple[Token, ...]
    key_text: str


def _side(trace: Trace, kind: Kind, rows: Rows, node: int | None) -> _Side:
    source, text = trace.source_tokens, trace.source
    if kind == "encoder":
        return _Side(trace.encoder, trace.extras.get("encoder.scores"), source, text, source, text)
    path = trace.path(node)
    queries = path.inputs if rows == "input" else path.outputs
    if kind == "cross":
        return _Side(path.cross, path.cross_scores, queries, path.text, source, text)
    return _Side(path.decoder, path.decoder_scores, queries, path.text, path.inputs, path.text)


def _chosen(name: str, number: Any, count: int, kind: Kind) -> tuple[int, ...]:
    """The one asked for, or all."""
    if number is None:
        return tuple(range(count))
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < count:
        raise TraceError(f"{name} is {number!r}; {kind} attention has {name}s 0 to {count - 1}")
    return (number,)


def _part(maps: NDArray[np.float32], layers: tuple[int, ...], heads: tuple[int, ...]) -> NDArray[np.float32]:
    """(layers, heads, Q, K) of (L, H, Q, K), as a view: one or all of each, 33 MB of 512 tokens."""
    return maps[layers[0] : layers[-1] + 1, heads[0] : heads[-1] + 1]


def _groups(tokens: Sequence[Token], text: str, unit: Unit) -> tuple[Group, ...]:
    return words.word_groups(tokens, text) if unit == "words" else words.piece_groups(tokens)


def _shown(groups: Sequence[Group]) -> tuple[Group, ...]:
    return tuple(group for group in groups if not group.special)


def _places(groups: Sequence[Group]) -> list[list[int]]:
    """Member indices counted among the tokens that are shown."""
    members = [member for group in groups for member in group.members]
    place = {member: index for index, member in enumerate(members)}
    return [[place[member] for member in group.members] for group in groups]
