"""Entropy, cross-entropy and divergence as lengths of codes, and what label smoothing makes of a target.

Shannon 1948, "A Mathematical Theory of Communication"; Kullback and Leibler 1951; Huffman 1952. A
distribution is an array ``(K,)`` of numbers from 0 to 1 that sum to 1. Everything is computed in float64;
lengths are in bits unless ``base`` says otherwise (``math.e`` gives nats; 1 nat is 1.4427 bits).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.errors import AtlasError

Distribution = NDArray[np.float64]


class DistributionError(AtlasError):
    """Numbers that are no distribution, or two distributions that cannot be compared."""


def normalise(weights: Sequence[float] | NDArray[Any]) -> Distribution:
    """Weights ``(K,)`` of at least 0 -> the distribution in proportion to them.

    Raises:
        DistributionError: a weight below 0 or not finite, or no weight above 0.
    """
    values = np.asarray(weights, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0).any():
        raise DistributionError("weights must be a row of finite numbers of at least 0")
    total = float(values.sum())
    if total <= 0:
        raise DistributionError("all weights are 0: at least one must be above")
    return np.asarray(values / total)


def surprise(q: Distribution, base: float = 2.0) -> NDArray[np.float64]:
    """``-log q``: the length of each outcome's code in a code made for ``q``; infinite where ``q`` is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(q) / math.log(base) + 0.0)


def entropy(p: NDArray[Any], base: float = 2.0) -> NDArray[np.float64]:
    r""":math:`H(p) = -\sum_k p_k \log p_k`, with :math:`0 \log 0 = 0`: the least mean length of any code.

    Args:
        p: ``(..., K)``.
        base: 2 for bits, e for nats.

    Returns:
        ``(...)``.
    """
    values = np.asarray(p, dtype=np.float64)
    logs = np.log(np.where(values > 0, values, 1.0))
    return np.asarray(-(values * logs).sum(-1) / math.log(base) + 0.0)


def cross_entropy(p: Distribution, q: Distribution, base: float = 2.0) -> float:
    r""":math:`H(p, q) = -\sum_k p_k \log q_k`: the mean length when ``p`` speaks and the code was made for
    ``q``.

    Infinite when ``q`` gives no room to something that ``p`` says.

    Raises:
        DistributionError: the two have not the same outcomes.
    """
    if p.shape != q.shape:
        raise DistributionError(f"two distributions of {len(p)} and {len(q)} outcomes cannot be compared")
    said = p > 0
    return float((p[said] * surprise(q[said], base)).sum())


def divergence(p: Distribution, q: Distribution, base: float = 2.0) -> float:
    r""":math:`D(p \| q) = \sum_k p_k \log (p_k / q_k)`, at least 0: what the wrong code costs on top.

    Computed from the ratios, not as a difference of the two entropies.

    Raises:
        DistributionError: the two have not the same outcomes.
    """
    if p.shape != q.shape:
        raise DistributionError(f"two distributions of {len(p)} and {len(q)} outcomes cannot be compared")
    said = p > 0
    if (q[said] == 0).any():
        return math.inf
    return float((p[said] * np.log(p[said] / q[said])).sum() / math.log(base))


def perplexity(length: float, base: float = 2.0) -> float:
    """``base ** length``: among how many equally likely choices one would need a code of that length.

    Infinite where it would be larger than a float can hold.
    """
    try:
        return base**length
    except OverflowError:
        return math.inf


def shannon_lengths(q: Distribution) -> NDArray[np.float64]:
    """Whole bits of Shannon's code, ``ceil(-log2 q)``; infinite where ``q`` is 0.

    They satisfy Kraft's inequality, so a code in which no word begins another exists, and its mean length is
    below ``H(q) + 1``.
    """
    exact = surprise(q)
    return np.asarray(np.ceil(exact - 1e-12) + 0.0)


def huffman_code(q: Distribution) -> tuple[str, ...]:
    """The shortest prefix code for ``q`` (Huffman 1952): a word of 0s and 1s for each outcome.

    Ties go to the outcome that comes first, so the same ``q`` always has the same code. An outcome that never
    comes has a word too. One outcome alone has the empty word.
    """
    heap: list[tuple[float, int, tuple[int, ...]]] = [
        (float(value), place, (place,)) for place, value in enumerate(q)
    ]
    heapq.heapify(heap)
    words = [""] * len(q)
    while len(heap) > 1:
        rare, common = heapq.heappop(heap), heapq.heappop(heap)
        for digit, (_, _, members) in (("1", rare), ("0", common)):
            for member in members:
                words[member] = digit + words[member]
        members = common[2] + rare[2]
        heapq.heappush(heap, (rare[0] + common[0], min(members), members))
    return tuple(words)


def smoothed_target(alpha: float, classes: int) -> tuple[float, float]:
    r"""The two numbers of a smoothed target (Szegedy et al. 2016, section 7): of the right class and of
    any other.

    :math:`y_k^{LS} = (1 - \alpha) y_k + \alpha / K`: the right one keeps its own share of what is spread,
    so it gets :math:`1 - \alpha + \alpha / K`, not :math:`1 - \alpha`.

    Args:
        alpha: share that is spread evenly, from 0 to 1.
        classes: K, at least 1.

    Raises:
        DistributionError: a value out of range.
    """
    if not 0 <= alpha <= 1 or classes < 1:
        raise DistributionError(
            f"smoothing spreads a share from 0 to 1 over at least 1 class, not {alpha:g} over {classes}"
        )
    return 1 - alpha + alpha / classes, alpha / classes


def smoothing_floor(alpha: float, classes: int, base: float = math.e) -> float:
    """The least cross-entropy that a smoothed target allows: its own entropy, reached when the model says
    exactly the target.

    Raises:
        DistributionError: a value out of range.
    """
    right, other = smoothed_target(alpha, classes)
    total = -right * math.log(right) if right > 0 else 0.0
    if other > 0:
        total -= (classes - 1) * other * math.log(other)
    return total / math.log(base) + 0.0


def best_logit_gap(alpha: float, classes: int) -> float:
    """By how much the right logit exceeds every other one at that least loss: the log of the target's ratio.

    Infinite without smoothing (and with one class, where there is no other): the loss then always asks for
    more.

    Raises:
        DistributionError: a value out of range.
    """
    right, other = smoothed_target(alpha, classes)
    return math.log(right / other) if other > 0 and classes > 1 else math.inf


@dataclass(frozen=True)
class Uncertainty:
    """How open each next token was, T of them.

    Attributes:
        entropy: float64 ``(T,)`` nats, of the whole next-token distribution.
        surprise: float64 ``(T,)`` nats, ``-log`` probability of the token that came.
        likeliest: int ``(T, n)`` ids of the likeliest tokens, likeliest first.
        probabilities: float64 ``(T, n)`` of those.
    """

    entropy: NDArray[np.float64]
    surprise: NDArray[np.float64]
    likeliest: NDArray[np.int64]
    probabilities: NDArray[np.float64]


def uncertainty(logits: NDArray[Any], tokens: Sequence[int], shown: int = 3) -> Uncertainty:
    """Entropy of every next-token distribution, and the surprise of what came.

    Args:
        logits: ``(T, V)``.
        tokens: ``(T,)`` ids that came.
        shown: n, how many of the likeliest tokens are named.
    """
    scores = np.asarray(logits, dtype=np.float64)
    scores = scores - scores.max(-1, keepdims=True)
    logs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    chances = np.exp(logs)
    order = np.argsort(-logs, axis=-1, kind="stable")[:, :shown]
    return Uncertainty(
        entropy(chances, math.e),
        -logs[np.arange(len(tokens)), list(tokens)],
        order,
        np.take_along_axis(chances, order, -1),
    )
