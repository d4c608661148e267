"""How many multiply-adds it takes to generate, exactly, with a cache of keys and values and without.

Counted are the matrix products, one multiply-add for each product of two numbers that is added up (two
floating-point operations). What they leave out (biases, softmax, normalisation, activation, the look-up of
embeddings) grows with the same powers of the length and is far smaller.

One pass of a decoder layer over ``t`` new tokens, with ``n`` keys to look at and a source of ``S`` tokens::

    projections    t (4 D^2 + 2 D^2)   W^Q, W^K, W^V, W^O of self-attention, W^Q and W^O of cross-attention
    attention      2 t n D             scores and weighted sums: every query meets every key
    cross          2 t S D             the same against the source
    feed-forward   2 t D F
    source         2 S D^2             W^K, W^V of the source: once with a cache, in every pass without

and ``D V`` for the logits after the last token. With a cache ``t = 1`` and ``n`` grows; without one
``t = n = 1, 2, ... N``: attention is then ``2 D`` times the sum of squares ``N (N + 1) (2 N + 1) / 6``, which
grows with the third power of the length, and the rest with the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from atlas.errors import AtlasError
from atlas.model.config import TransformerConfig


class OperationsError(AtlasError):
    """A length that nothing can be counted or fitted for."""


@dataclass(frozen=True)
class Operations:
    """Multiply-adds by part.

    Attributes:
        attention: scores and weighted sums of the decoder's self-attention.
        projections: W^Q, W^K, W^V, W^O of the target's tokens.
        feed_forward: both matrices.
        cross: scores and weighted sums against the source.
        source: keys and values of the source.
        vocabulary: logits.
    """

    attention: int = 0
    projections: int = 0
    feed_forward: int = 0
    cross: int = 0
    source: int = 0
    vocabulary: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(value for _, value in self)

    @property
    def rest(self) -> int:
        """All but self-attention's scores and weighted sums."""
        return self.total - self.attention

    def __iter__(self) -> Iterator[tuple[str, int]]:
        """Name and number of each part."""
        for item in fields(self):
            yield item.name, getattr(self, item.name)

    def __add__(self, other: Operations) -> Operations:
        return Operations(*(mine + theirs for (_, mine), (_, theirs) in zip(self, other, strict=True)))


def decoder_pass(
    config: TransformerConfig, tokens: int, keys: int, source: int, *, read_source: bool
) -> Operations:
    """One pass of the decoder that ends in the logits after its last token.

    Args:
        tokens: t, new target tokens.
        keys: n, target tokens that they may look at, themselves included.
        source: S, tokens of the source, end mark included.
        read_source: whether the source's keys and values are computed in this pass.
    """
    layers, width = config.decoder_layers, config.width
    return Operations(
        attention=layers * 2 * tokens * keys * width,
        projections=layers * 6 * tokens * width**2,
        feed_forward=layers * 2 * tokens * width * config.ffn,
        cross=layers * 2 * tokens * source * width,
        source=layers * 2 * source * width**2 if read_source else 0,
        vocabulary=width * config.vocabulary,
    )


def steps(config: TransformerConfig, length: int, source: int, *, cached: bool) -> list[Operations]:
    """The N passes that generate N tokens, one after the other.

    Raises:
        OperationsError: a length below 1.
    """
    if length < 1:
        raise OperationsError(f"a text has at least 1 token, not {length}")
    return [
        decoder_pass(config, 1, place, source, read_source=place == 1)
        if cached
        else decoder_pass(config, place, place, source, read_source=True)
        for place in range(1, length + 1)
    ]


def generation(config: TransformerConfig, length: int, source: int, *, cached: bool) -> Operations:
    """All of what it takes to generate N tokens: :func:`steps`, added up.

    Raises:
        OperationsError: a length below 1.
    """
    return sum(steps(config, length, source, cached=cached), Operations())


def overtaking_length(config: TransformerConfig, source: int) -> float:
    """The context, in tokens, at which self-attention costs as much as everything else in one cached step."""
    one = decoder_pass(config, 1, 0, source, read_source=False)
    return one.rest / (2 * config.decoder_layers * config.width)


def exponent(lengths: ArrayLike, values: ArrayLike) -> float:
    """The power ``p`` of the best fit ``value ~ length^p``: the slope of a line through the logarithms (least
    squares).

    Raises:
        OperationsError: fewer than two different lengths, or something that has no logarithm.
    """
    x, y = np.asarray(lengths, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(set(x.tolist())) < 2:
        raise OperationsError("an exponent needs values at two different lengths or more")
    if (x <= 0).any() or (y <= 0).any():
        raise OperationsError("an exponent needs lengths and values above 0")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def doubling_lengths(longest: int, first: int = 8) -> list[int]:
    """``8, 16, 32, ...`` up to ``longest``, which is the last one."""
    lengths = [first]
    while 2 * lengths[-1] < longest:
        lengths.append(2 * lengths[-1])
    return [length for length in lengths if length < longest] + [longest]
