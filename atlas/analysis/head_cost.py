"""What attention costs with one head and with many of them: the same multiply-adds, timed on this machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from atlas.errors import AtlasError
from atlas.model.attention import SelfAttention
from atlas.model.seeded import drawn_from

HEADS = (1, 2, 4, 8, 16)
REPEATS = 15


class HeadCostError(AtlasError):
    """A width that cannot be cut into this many heads, or nothing to measure."""


@dataclass(frozen=True)
class Operations:
    """What one self-attention over ``n`` tokens takes.

    Attributes:
        projections: multiply-adds of W^Q, W^K, W^V and W^O: ``4 n D^2``.
        scores: multiply-adds of ``q k^T``: H heads of ``n^2 (D / H)`` are ``n^2 D``.
        sums: of weights times values: ``n^2 D``.
        weights: numbers that pass through softmax: ``H n^2``, the only count that grows with H.
        parameters: of the layer: ``4 D^2 + 4 D``.
    """

    projections: int
    scores: int
    sums: int
    weights: int
    parameters: int

    @property
    def multiply_adds(self) -> int:
        """All of them."""
        return self.projections + self.scores + self.sums


def operations(length: int, width: int, heads: int) -> Operations:
    """Counted head by head.

    Args:
        length: n, in tokens.
        width: D.
        heads: H.

    Raises:
        HeadCostError: a size below 1, or a width that H does not divide.
    """
    if min(length, width, heads) < 1:
        raise HeadCostError("length, width and heads must be at least 1")
    if width % heads:
        raise HeadCostError(f"width {width} cannot be cut into {heads} heads")
    each = width // heads
    return Operations(
        projections=heads * 3 * length * width * each + length * width * width,
        scores=heads * length * length * each,
        sums=heads * length * length * each,
        weights=heads * length * length,
        parameters=heads * 3 * (width * each + each) + width * width + width,
    )


@dataclass(frozen=True)
class HeadTime:
    """How long one self-attention took with H heads.

    Attributes:
        heads: H.
        operations: what it did.
        milliseconds: median over the repeats; fastest and slowest are ``low`` and ``high``.
        softmax: median of the softmax alone, in milliseconds.
    """

    heads: int
    operations: Operations
    milliseconds: float
    low: float
    high: float
    softmax: float


@torch.inference_mode()
def time_heads(
    length: int,
    width: int,
    heads: Sequence[int] = HEADS,
    *,
    repeats: int = REPEATS,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[HeadTime, ...]:
    """Time our self-attention layer, with the softmax written out, on one random sentence.

    The numbers of heads take turns, so that whatever else the machine does meets all of them alike; the first
    round warms up and is not counted. Layers of all H have the same number of weights, drawn alike.

    Args:
        length: n, in tokens.
        width: D.
        heads: the numbers of heads to be compared; each divides D.
        repeats: rounds that count.
        progress: told (rounds done, of how many).

    Raises:
        HeadCostError: a width that cannot be cut, or fewer than 1 repeat.
    """
    if repeats < 1:
        raise HeadCostError(f"at least 1 repeat, not {repeats}")
    counted = {number: operations(length, width, number) for number in heads}
    with drawn_from(0):
        layers = {number: SelfAttention(width, number).eval() for number in heads}
        stream = torch.randn(1, length, width)
        scores = {number: torch.randn(1, number, length, length) for number in heads}
    whole: dict[int, list[float]] = {number: [] for number in heads}
    softmax: dict[int, list[float]] = {number: [] for number in heads}
    for done in range(repeats + 1):
        for number, layer in layers.items():
            start = time.perf_counter()
            layer(stream, None, explicit=True)
            between = time.perf_counter()
            scores[number].softmax(-1)
            end = time.perf_counter()
            if done:
                whole[number].append((between - start) * 1000)
                softmax[number].append((end - between) * 1000)
        if progress:
            progress(done, repeats)
    return tuple(
        HeadTime(
            number,
            counted[number],
            statistics.median(whole[number]),
            min(whole[number]),
            max(whole[number]),
            statistics.median(softmax[number]),
        )
        for number in heads
    )
