"""Why scores are divided by sqrt(d_k): on random vectors, and on the vectors of a trained model.

Vaswani et al. 2017, section 3.2.1, footnote 4: if the components of q and k are independent with mean 0 and
variance 1, then q·k has mean 0 and variance d_k. A softmax over scores of a large spread puts nearly all its
weight on one key, and its Jacobian, through which every gradient of the scores passes, shrinks towards zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.attention_steps import softmax
from atlas.analysis.information import entropy
from atlas.analysis.passes import ForcedPass
from atlas.errors import AtlasError
from atlas.model.config import TransformerConfig
from atlas.model.recorder import Edit, point
from atlas.trace.views import Kind

Doubles = NDArray[np.float64]
Scope = Literal["head", "layer", "all"]

WIDTHS = tuple(2**power for power in range(11))
"""The d_k for which random vectors are drawn: 1 to 1024."""
KEYS = 16
"""Keys that each random query meets."""


def jacobian_norm(weights: Doubles) -> Doubles:
    """Frobenius norm of the Jacobian of a softmax, ``diag(p) - p p^T``, over the last axis.

    In closed form ``sqrt(sum p² - 2 sum p³ + (sum p²)²)``: 0 where one key has all the weight, at most 1/2
    (two equal keys), ``sqrt(N - 1) / N`` for N equal ones.
    """
    squares = (weights**2).sum(axis=-1)
    square_of_norm = squares - 2 * (weights**3).sum(axis=-1) + squares**2
    norm: Doubles = np.sqrt(np.maximum(square_of_norm, 0.0))
    return norm


@dataclass(frozen=True)
class Spread:
    """How concentrated softmaxes are, on average over their rows.

    Attributes:
        entropy: nats.
        largest: the largest weight of a row.
        jacobian: :func:`jacobian_norm`.
        rows: how many were averaged.
    """

    entropy: float
    largest: float
    jacobian: float
    rows: int


def spread(scores: Sequence[Doubles]) -> Spread:
    """Averages over all rows of several arrays of scores ``(..., N)``, -inf where masked."""
    weights = [softmax(array) for array in scores]

    def mean(measure: Callable[[Doubles], Doubles]) -> float:
        return float(np.concatenate([measure(array).ravel() for array in weights]).mean())

    rows = sum(array[..., 0].size for array in weights)
    return Spread(
        mean(lambda p: entropy(p, math.e)), mean(lambda p: p.max(axis=-1)), mean(jacobian_norm), rows
    )


@dataclass(frozen=True, eq=False)
class RandomScores:
    """What random vectors give for each d_k of ``widths``, plain and divided by sqrt(d_k): arrays ``(W,)``.

    ``error`` is the standard error of ``variance`` divided by d_k, so that the true d_k is expected within
    ``variance * (1 ± 2 * error)``.
    """

    widths: NDArray[np.int64]
    variance: Doubles
    scaled_variance: Doubles
    error: Doubles
    entropy: Doubles
    scaled_entropy: Doubles
    jacobian: Doubles
    scaled_jacobian: Doubles


def random_scores(queries: int, seed: int, widths: Sequence[int] = WIDTHS) -> RandomScores:
    """Draw standard normal queries and, for each, :data:`KEYS` standard normal keys, for each width.

    Args:
        queries: how many of them for each width.
        seed: same seed, same draw.
        widths: the d_k.
    """
    generator = np.random.default_rng(seed)
    found = []
    for width in widths:
        query = generator.standard_normal((queries, 1, width), dtype=np.float32)
        keys = generator.standard_normal((queries, KEYS, width), dtype=np.float32)
        dots = (query @ keys.transpose(0, 2, 1))[:, 0].astype(np.float64)
        scaled = dots / math.sqrt(width)
        plain, divided = softmax(dots), softmax(scaled)
        found.append(
            (
                dots.var(),
                scaled.var(),
                variance_error(width, queries),
                entropy(plain, math.e).mean(),
                entropy(divided, math.e).mean(),
                jacobian_norm(plain).mean(),
                jacobian_norm(divided).mean(),
            )
        )
    return RandomScores(np.asarray(widths), *(np.array(column) for column in zip(*found, strict=True)))


def variance_error(width: int, queries: int, keys: int = KEYS) -> float:
    """Relative standard error of the variance of q·k over ``queries`` queries with ``keys`` keys each.

    For normal vectors: given q, the products are normal with variance ``|q|²``, which is the same for the
    keys of one query; ``Var |q|² = 2 d_k`` and ``E |q|⁴ = d_k² + 2 d_k``.
    """
    return math.sqrt((2 / width + (2 + 4 / width) / keys) / queries)


def divisors(head_width: int) -> tuple[float, ...]:
    """Divisors to try: from 1 to 4 sqrt(d_k), each 2^(1/4) times the one before, sqrt(d_k) among them."""
    root = math.sqrt(head_width)
    above = [root * 2 ** (step / 4) for step in range(8, -60, -1)]
    return (1.0, *sorted(divisor for divisor in above if divisor > 1.0 + 1e-9))


def score_points(config: TransformerConfig, scope: Scope, kind: Kind, layer: int) -> list[str]:
    """Names of the points whose scores are divided otherwise: one sub-layer's, or those of all attention."""
    if scope != "all":
        return [point(kind, layer, "scores")]
    layers = config.attention_layers
    return [point(each, index, "scores") for each in layers for index in range(layers[each])]


def scale_edits(
    config: TransformerConfig, scope: Scope, kind: Kind, layer: int, head: int, divisor: float
) -> Mapping[str, Edit]:
    """Edits for :meth:`atlas.engine.Engine.trace` that divide q·k by ``divisor`` and not by sqrt(d_k).

    Args:
        scope: one head, all heads of its sub-layer, or all attention of the model.
        kind, layer, head: which one; layer and head counted from 0. Ignored as far as the scope is wider.
        divisor: above 0. A masked score stays -inf.

    Raises:
        AtlasError: a divisor that is not above 0.
    """
    if not divisor > 0:
        raise AtlasError(f"scores are divided by a number above 0, not by {divisor:g}")
    factor = math.sqrt(config.head_width) / divisor

    def everywhere(scores: Tensor) -> Tensor:
        return scores * factor

    def one_head(scores: Tensor) -> Tensor:
        changed = scores.clone()
        changed[:, head] *= factor
        return changed

    edit = one_head if scope == "head" else everywhere
    return dict.fromkeys(score_points(config, scope, kind, layer), edit)


def scope_scores(
    passed: ForcedPass, config: TransformerConfig, scope: Scope, kind: Kind, layer: int, head: int
) -> list[Doubles]:
    """q·k before any division, of everything in a scope: arrays ``(..., N)``, -inf where masked."""
    root = math.sqrt(config.head_width)
    arrays = [passed[name].astype(np.float64) * root for name in score_points(config, scope, kind, layer)]
    return [array[head] for array in arrays] if scope == "head" else arrays


@dataclass(frozen=True, eq=False)
class DivisorCurves:
    """:class:`Spread` for each of ``divisors``: arrays ``(W,)``, and how many rows were averaged."""

    divisors: Doubles
    entropy: Doubles
    largest: Doubles
    jacobian: Doubles
    rows: int


def divisor_curves(products: Sequence[Doubles], tried: Sequence[float]) -> DivisorCurves:
    """What dividing the same q·k by other numbers does to the softmax.

    Args:
        products: q·k, ``(..., N)`` each, -inf where masked.
        tried: the divisors.
    """
    found = [spread([array / divisor for array in products]) for divisor in tried]
    return DivisorCurves(
        np.array(tried),
        np.array([one.entropy for one in found]),
        np.array([one.largest for one in found]),
        np.array([one.jacobian for one in found]),
        found[0].rows,
    )


@dataclass(frozen=True, eq=False)
class OwnVariance:
    """How the vectors of a trained model compare with independent components of variance 1.

    Attributes:
        dots: ``(L, H)`` variance of q·k over all visible pairs of the sentence.
        queries: ``(L, H)`` variance of a component of q over the words, averaged over the K components.
        keys: ``(L, H)`` the same of k.
        head_width: d_k, which ``dots`` would be near.
    """

    dots: Doubles
    queries: Doubles
    keys: Doubles
    head_width: int


def own_variance(passed: ForcedPass, config: TransformerConfig, kind: Kind) -> OwnVariance:
    """Variances of q, k and q·k of every head of one kind, on one sentence."""
    found = []
    for layer in range(config.attention_layers[kind]):
        q, k, scores = (passed[point(kind, layer, what)].astype(np.float64) for what in ("q", "k", "scores"))
        seen = np.isfinite(scores[0])
        dots = q @ k.transpose(0, 2, 1)
        found.append((dots[:, seen].var(axis=-1), q.var(axis=1).mean(axis=-1), k.var(axis=1).mean(axis=-1)))
    dots_, queries, keys = (np.array(column) for column in zip(*found, strict=True))
    return OwnVariance(dots_, queries, keys, config.head_width)
