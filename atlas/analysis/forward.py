"""The forward pass as a walk: which stages a model has, in its own order, and what each does to the stream.

A *stage* is one step from text to the next token. Most are a step of the residual stream: a few vectors of
one position, from the stream that comes in to the stream that goes out. What lies between depends on where
the model normalises (Vaswani et al. 2017, section 3.1; Xiong et al. 2020, figure 1)::

    pre:   stream -> LayerNorm -> sub-layer -> stream + change
    post:  stream -> sub-layer -> stream + change -> LayerNorm
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.passes import ForcedPass
from atlas.errors import AtlasError
from atlas.model.config import TransformerConfig

Side = Literal["encoder", "decoder"]
Kind = Literal[
    "characters",
    "pieces",
    "ids",
    "read",
    "embedding",
    "positions",
    "self",
    "cross",
    "ffn",
    "norm",
    "logits",
    "softmax",
    "cut",
    "choice",
]
Operation = Literal["embedding", "scaled", "position", "stream", "norm", "attention", "ffn", "sum"]
Floats = NDArray[np.floating[Any]]

WANTED = (
    *("looked_up", "scaled", "embedded", "memory", "output"),
    *("input", "hidden", "change", "sum", "residual"),
)
"""The kinds of recorded point that the walk reads."""

_CHANGES = ("position", "attention", "ffn")


class ForwardError(AtlasError):
    """A stage or a position that a pass does not have."""


@dataclass(frozen=True)
class Row:
    """One vector of a stage: what made it, and the recorded points it is read from.

    ``point`` is a name as in :class:`~atlas.model.recorder.Recorder`; with ``less`` the vector is the
    difference of the two points.
    """

    operation: Operation
    point: str
    less: str = ""


@dataclass(frozen=True)
class Stage:
    """One step of the walk.

    Attributes:
        kind: what happens.
        side: whose text and vectors it is about.
        layer: counted from 0; -1 outside the layers.
        rows: the vectors in the order in which they are computed, from the stream that comes in to the one
            that goes out; none for a stage without vectors.
    """

    kind: Kind
    side: Side
    layer: int = -1
    rows: tuple[Row, ...] = ()


def stages(config: TransformerConfig) -> tuple[Stage, ...]:
    """Every stage of a pass in the order of this model, from characters to the choice of the next token."""
    return (
        Stage("characters", "encoder"),
        Stage("pieces", "encoder"),
        Stage("ids", "encoder"),
        *_side("encoder", config.encoder_layers, ("self", "ffn"), config),
        Stage("read", "decoder"),
        *_side("decoder", config.decoder_layers, ("self", "cross", "ffn"), config),
        Stage("logits", "decoder"),
        Stage("softmax", "decoder"),
        Stage("cut", "decoder"),
        Stage("choice", "decoder"),
    )


def _side(side: Side, layers: int, blocks: tuple[Kind, ...], config: TransformerConfig) -> Iterator[Stage]:
    looked_up, scaled = Row("embedding", f"{side}.looked_up"), Row("scaled", f"{side}.scaled")
    yield Stage("embedding", side, rows=(looked_up, scaled))
    stream = f"{side}.embedded"
    if config.positions != "none":
        rows = (scaled, Row("position", stream, less=scaled.point), Row("sum", stream))
        yield Stage("positions", side, rows=rows)
    pre = config.norm == "pre"
    for layer in range(layers):
        for block in blocks:
            name = f"{side}.{layer}.{block}"
            change = Row("ffn" if block == "ffn" else "attention", f"{name}.change")
            after = f"{name}.residual"
            within = (
                (Row("norm", f"{name}.input"), change, Row("sum", after))
                if pre
                else (change, Row("sum", f"{name}.sum"), Row("norm", after))
            )
            yield Stage(block, side, layer, (Row("stream", stream), *within))
            stream = after
    if pre:
        point = "encoder.memory" if side == "encoder" else "decoder.output"
        yield Stage("norm", side, rows=(Row("stream", stream), Row("norm", point)))


@dataclass(frozen=True)
class Measured:
    """The vectors of a stage at one position, and what the stage did to the stream.

    Attributes:
        vectors: ``(N, D)``, a row each of the stage.
        norms, means: ``(N,)``, Euclidean norm and mean over the D numbers of each.
        shape: of the whole array that a row is taken from: tokens, D.
        ratio: norm of the change over the norm of the stream before it. The change is what a sub-layer or a
            position adds; elsewhere the difference between the last vector and the first.
        cosine: between the stream that comes in and the one that goes out.
    """

    vectors: Floats
    norms: Floats
    means: Floats
    shape: tuple[int, int]
    ratio: float
    cosine: float


def measured(done: ForcedPass, stage: Stage, position: int) -> Measured:
    """What a stage of a pass did at one position.

    Args:
        done: a pass that kept the points of :data:`WANTED`.
        stage: one with vectors.
        position: of a token of the stage's side, counted from 0.

    Raises:
        ForwardError: a stage without vectors, or a position that is not there.
    """
    if not stage.rows:
        raise ForwardError(f"the stage {stage.kind!r} has no vectors")
    whole = done[stage.rows[0].point]
    if not 0 <= position < len(whole):
        raise ForwardError(f"position {position} is not in 0..{len(whole) - 1} of the {stage.side}")
    vectors = np.stack([_vector(done, row, position) for row in stage.rows])
    before, after = vectors[0].astype(np.float64), vectors[-1].astype(np.float64)
    change = after - before
    for row, vector in zip(stage.rows, vectors, strict=True):
        if row.operation in _CHANGES:
            change = vector.astype(np.float64)
    return Measured(
        vectors=vectors,
        norms=np.linalg.norm(vectors, axis=1),
        means=vectors.mean(axis=1),
        shape=(whole.shape[0], whole.shape[1]),
        ratio=_over(float(np.linalg.norm(change)), float(np.linalg.norm(before))),
        cosine=_over(float(before @ after), float(np.linalg.norm(before) * np.linalg.norm(after))),
    )


def _vector(done: ForcedPass, row: Row, position: int) -> Floats:
    vector = done[row.point][position]
    return vector - done[row.less][position] if row.less else vector


def _over(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


@dataclass(frozen=True)
class Overview:
    """The stream of two chosen tokens, one of each side, over all stages that have vectors: arrays ``(N,)``.

    Attributes:
        stage: index of each in the stages of the model.
        norm: of the stream that goes out.
        ratio, cosine: as in :class:`Measured`; NaN at the embedding, where the stream begins.
    """

    stage: NDArray[np.int64]
    norm: Floats
    ratio: Floats
    cosine: Floats


def overview(done: ForcedPass, walk: tuple[Stage, ...], positions: dict[Side, int]) -> Overview:
    """Measure every stage with vectors at the chosen position of its side.

    Raises:
        ForwardError: a position that is not there.
    """
    places = [place for place, stage in enumerate(walk) if stage.rows]
    found = [measured(done, walk[place], positions[walk[place].side]) for place in places]
    begins = [walk[place].kind == "embedding" for place in places]
    return Overview(
        stage=np.array(places),
        norm=np.array([one.norms[-1] for one in found]),
        ratio=np.where(begins, np.nan, [one.ratio for one in found]),
        cosine=np.where(begins, np.nan, [one.cosine for one in found]),
    )
