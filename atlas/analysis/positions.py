"""Numbers about position encodings: wavelengths, dot products, rotations, and the shuffled-words experiment.

A *table* is an array ``(P, D)``: one row a position, added to the embedding of the token that stands there.
Functions here take whatever table a model really uses, sinusoidal (Vaswani et al. 2017, section 3.5) or
learned, and never change it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.errors import AtlasError
from atlas.model.positions import sinusoidal_table

Floats = NDArray[np.floating]
Encode = Callable[[Sequence[int], Floats | None], Floats]
"""``(token ids (S,), source positions (P, D) or None for the model's own) -> encoder outputs (S, D)``."""


class PositionsError(AtlasError):
    """A table, a shift or an order that does not fit."""


def published_table(length: int, width: int) -> Floats:
    """The sinusoidal table as published (Vaswani et al. 2017, section 3.5), float64 ``(length, width)``.

    ``PE(pos, 2i) = sin(pos / 10000^(2i/D))``, ``PE(pos, 2i+1) = cos(pos / 10000^(2i/D))``.
    """
    _even(width)
    return sinusoidal_table(length, width, dtype=torch.float64).numpy()


def frequencies(width: int) -> Floats:
    """Angle in radians that each pair of dimensions turns per position: ``10000^(-2i/D)``, ``(D/2,)``."""
    _even(width)
    return 10000.0 ** (-np.arange(0, width, 2) / width)


def wavelengths(width: int) -> Floats:
    """Positions until each dimension repeats: ``2π · 10000^(2i/D)``, ``(D,)``; 2i and 2i+1 share one."""
    return np.repeat(2 * np.pi / frequencies(width), 2)


def rotation(shift: int, width: int) -> Floats:
    """The matrix ``M_k`` with ``PE(pos + k) = M_k · PE(pos)`` for every ``pos``, float64 ``(D, D)``.

    Block-diagonal: with ``ω_i = 10000^(-2i/D)`` the block of dimensions ``2i, 2i+1`` is
    ``[[cos ω_i k, sin ω_i k], [-sin ω_i k, cos ω_i k]]``, the addition theorems of sine and cosine. It
    depends on the shift ``k`` alone, and its transpose is the matrix of ``-k``.
    """
    angle = frequencies(width) * shift
    matrix = np.zeros((width, width))
    even = np.arange(0, width, 2)
    matrix[even, even] = matrix[even + 1, even + 1] = np.cos(angle)
    matrix[even, even + 1] = np.sin(angle)
    matrix[even + 1, even] = -np.sin(angle)
    return matrix


@dataclass(frozen=True)
class Residual:
    """How far ``M_k · PE(pos)`` is from ``PE(pos + k)``.

    ``largest`` is the largest absolute difference, at ``position`` and ``dimension``; ``positions`` says how
    many values of ``pos`` were compared and ``scale`` is the largest absolute entry of the table.
    """

    shift: int
    largest: float
    position: int
    dimension: int
    positions: int
    scale: float


def rotation_residual(table: Floats, shift: int) -> Residual:
    """Compare ``M_k · PE(pos)`` with ``PE(pos + k)`` for every position of a table ``(P, D)`` that has both.

    Zero up to rounding for the sinusoidal table; not for a learned one, which nothing forces to turn.

    Raises:
        PositionsError: a shift that leaves no position to compare, or an odd width.
    """
    length, width = _table(table).shape
    if abs(shift) >= length:
        raise PositionsError(f"a shift of {shift} positions leaves nothing to compare in a table of {length}")
    start, stop = max(0, -shift), min(length, length - shift)
    difference = np.abs(table[start:stop] @ rotation(shift, width).T - table[start + shift : stop + shift])
    position, dimension = np.unravel_index(int(difference.argmax()), difference.shape)
    return Residual(
        shift=shift,
        largest=float(difference.max()),
        position=start + int(position),
        dimension=int(dimension),
        positions=stop - start,
        scale=float(np.abs(table).max()),
    )


@dataclass(frozen=True)
class DistanceProfile:
    """Dot products ``PE(pos) · PE(pos + k)`` by signed distance ``k``: arrays ``(2·furthest+1,)``.

    ``mean``, ``low`` and ``high`` are over all positions that have a partner at that distance. The sinusoidal
    table has ``low == high`` up to rounding: the product is ``Σ_i cos(ω_i k)`` wherever one stands.
    """

    distance: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats


def distance_profile(table: Floats, furthest: int | None = None) -> DistanceProfile:
    """Dot product of position vectors against their distance, for a table ``(P, D)``.

    Raises:
        PositionsError: ``furthest`` below 0, or no smaller than the table is long.
    """
    length = len(_table(table))
    furthest = length - 1 if furthest is None else furthest
    if not 0 <= furthest < length:
        raise PositionsError(f"the furthest distance must be from 0 to {length - 1}, not {furthest}")
    products = np.asarray(table, dtype=np.float64)
    products = products @ products.T
    diagonals = [np.diagonal(products, k) for k in range(-furthest, furthest + 1)]
    return DistanceProfile(
        distance=np.arange(-furthest, furthest + 1),
        mean=np.array([d.mean() for d in diagonals]),
        low=np.array([d.min() for d in diagonals]),
        high=np.array([d.max() for d in diagonals]),
    )


def zeroed(table: Floats) -> Floats:
    """A table ``(P, D)`` of zeros: no position differs from another."""
    return np.zeros_like(_table(table))


def shifted(table: Floats, shift: int, length: int) -> Floats:
    """Rows ``shift … shift+length-1`` of a table ``(P, D)``, ``(length, D)``: a sentence begun at ``shift``.

    Raises:
        PositionsError: a negative shift, or a table that ends before the sentence would.
    """
    if shift < 0:
        raise PositionsError(f"the shift must be at least 0 positions, not {shift}")
    if shift + length > len(_table(table)):
        raise PositionsError(
            f"a sentence of {length} tokens from position {shift} needs {shift + length} positions, "
            f"the table has {len(table)}"
        )
    return table[shift : shift + length].copy()


def shuffled_order(words: Sequence[str], seed: int) -> list[int]:
    """A random order of words that reads differently from the original wherever two words differ.

    Args:
        words: the sentence's words.
        seed: same seed, same order.

    Returns:
        ``order`` with ``order[new place] = old place``; the identity if all words are the same.
    """
    identity = list(range(len(words)))
    if len(set(words)) < 2:
        return identity
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(len(words)).tolist()
        if [words[i] for i in order] != list(words):
            return order


def token_order(sizes: Sequence[int], order: Sequence[int]) -> list[int]:
    """The order of tokens that moves whole words: a word's pieces stay together, the end mark stays last.

    Args:
        sizes: number of pieces of each word, ``(W,)``.
        order: ``(W,)``, ``order[new place] = old place`` of words.

    Returns:
        ``(sum(sizes) + 1,)``, ``[new place] = old place`` of tokens.
    """
    first = np.cumsum([0, *sizes]).tolist()
    return [first[word] + piece for word in order for piece in range(sizes[word])] + [first[-1]]


@dataclass(frozen=True)
class ShuffleResult:
    """The encoder read a sentence and the same tokens in another order.

    ``order`` is ``(S,)`` with ``order[new place] = old place``. ``with_positions`` and ``without_positions``
    are ``(S,)``: for each token of the shuffled sentence the largest absolute difference, over the D numbers
    of its vector, between its two encoder outputs. ``scale`` is the largest absolute number in the original.
    """

    order: tuple[int, ...]
    with_positions: Floats
    without_positions: Floats
    scale: float

    @property
    def largest_with(self) -> float:
        """Largest difference while the encoder knows positions."""
        return float(self.with_positions.max())

    @property
    def largest_without(self) -> float:
        """Largest difference while every position reads as zero: rounding only."""
        return float(self.without_positions.max())


def shuffle_experiment(encode: Encode, ids: Sequence[int], order: Sequence[int], width: int) -> ShuffleResult:
    """Encode tokens in order and shuffled, with the model's positions and with zeros in their place.

    Self-attention, layer normalisation and the feed-forward network treat tokens as a set: without positions
    ``encode(ids[order]) == encode(ids)[order]`` (permutation equivariance); positions break it.

    Args:
        encode: runs the encoder.
        ids: token ids ``(S,)``, special tokens included.
        order: a permutation of ``0 … S-1``: ``order[new place] = old place``.
        width: D.

    Raises:
        PositionsError: ``order`` is not a permutation of the tokens.
    """
    if sorted(order) != list(range(len(ids))):
        raise PositionsError(f"the order must name each of the {len(ids)} tokens once")
    moved = [ids[i] for i in order]
    none = np.zeros((len(ids), width), dtype=np.float32)
    known, blind = encode(ids, None), encode(ids, none)
    index = np.asarray(order)
    return ShuffleResult(
        order=tuple(order),
        with_positions=np.abs(encode(moved, None) - known[index]).max(axis=1),
        without_positions=np.abs(encode(moved, none) - blind[index]).max(axis=1),
        scale=float(np.abs(known).max()),
    )


def _table(table: Floats) -> Floats:
    if table.ndim != 2 or 0 in table.shape:
        raise PositionsError(
            f"a position table is (positions, width) and not empty, this one has shape {table.shape}"
        )
    return table


def _even(width: int) -> None:
    if width < 2 or width % 2:
        raise PositionsError(f"sinusoidal positions need an even width of at least 2, not {width}")
