"""The schema of a trace: header, tokens, attention of three kinds, and the whole search.

Shapes: ``L`` layers (of the encoder or of the decoder: the two depths may differ), ``H`` heads, ``S`` source
length, ``T`` target length, ``N`` nodes of the search, ``E`` passes (nodes that were read), ``K`` head width,
``V`` vocabulary. Attention is float32 ``(layer, head, query, key)``, taken before dropout, padding removed;
every row sums to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from atlas.trace.pieces import Token

SCHEMA_VERSION = 2
"""Of traces that are made now: kinds of attention that a model lacks have no layers."""
READABLE = (1, 2)
"""Versions that can be read: in the first, every kind of attention had layers."""


class Fate(IntEnum):
    """What became of a candidate: lived on, ended a hypothesis, fell out of the beam, or met the limit."""

    KEPT = 0
    FINISHED = 1
    PRUNED = 2
    CUT = 3


FATES = tuple(fate.name.lower() for fate in Fate)


@dataclass(frozen=True)
class Header:
    """Where a trace comes from; ``settings`` (method, beam, penalty, alpha...) holds JSON values only."""

    schema_version: int
    package_version: str
    model_name: str
    model_hash: str
    source_language: str
    target_language: str
    settings: Mapping[str, object]


@dataclass(frozen=True, eq=False)
class Search:
    """Every candidate of the search, a struct of arrays indexed by node id.

    Node 0 is the root: the start token, parent -1, step 0. Parents precede children. Rows of attention belong
    to the pass that *read* a node and predicted its children, so all children share one row, pruned ones too.

    Attributes:
        parent: (N,) int32 node ids.
        token: (N,) int32 target ids.
        logprob: (N,) float64, log-probability (nats) of the token given its path; 0 for the root.
        cumulative: (N,) float64, sum of ``logprob`` along the path.
        score: (N,) float64, ``cumulative`` after the length penalty: what candidates are compared by.
        step: (N,) int32, number of tokens generated up to this node.
        rank: (N,) int32, place among all candidates of its step, 0 the best.
        fate: (N,) int8, a :class:`Fate`.
        forced: (N,) bool, whether the user, not the model, chose the token.
        expanded: (N,) int32, row of the pass that read this node, -1 if none did (or if its row was not
            kept).
        cross: (E, L, H, S) float32, attention of each pass over the source.
        decoder: (E, L, H, T) float32, attention of each pass over its own path, the root first; beyond it
            exactly 0.
        top_ids: (E, 10) int32, the likeliest next tokens of each pass, likeliest first.
        top_logprobs: (E, 10) float32, their log-probabilities.
    """

    parent: NDArray[np.int32]
    token: NDArray[np.int32]
    logprob: NDArray[np.float64]
    cumulative: NDArray[np.float64]
    score: NDArray[np.float64]
    step: NDArray[np.int32]
    rank: NDArray[np.int32]
    fate: NDArray[np.int8]
    forced: NDArray[np.bool_]
    expanded: NDArray[np.int32]
    cross: NDArray[np.float32]
    decoder: NDArray[np.float32]
    top_ids: NDArray[np.int32]
    top_logprobs: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.parent)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Ids of each node's children, in ascending order."""
        lists: list[list[int]] = [[] for _ in range(len(self))]
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:
                lists[parent].append(node)
        return tuple(map(tuple, lists))


@dataclass(frozen=True, eq=False)
class Path:
    """One hypothesis, complete or not, assembled from its own parents (never from a beam slot).

    Row ``t`` of the attention reads ``inputs[t]`` and predicts ``outputs[t]``, the token of ``nodes[t]``.

    Attributes:
        nodes: (T,) node ids, the root left out.
        rows: (T,) row of the pass that predicted each node.
        inputs, outputs: T tokens each, with spans in ``text``.
        text: what the path spells.
        logprobs: (T,) float64, nats.
        cross: (L, H, T, S) float32.
        decoder: (L, H, T, T) float32, exactly 0 above the diagonal.
        cross_scores, decoder_scores: the same before softmax (-inf above the diagonal), ``None`` if not
            recorded.
    """

    nodes: NDArray[np.int32]
    rows: NDArray[np.int32]
    inputs: tuple[Token, ...]
    outputs: tuple[Token, ...]
    text: str
    logprobs: NDArray[np.float64]
    cross: NDArray[np.float32]
    decoder: NDArray[np.float32]
    cross_scores: NDArray[np.float32] | None
    decoder_scores: NDArray[np.float32] | None
