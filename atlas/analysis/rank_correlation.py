"""Rank correlation (Spearman 1904), ties averaged, in NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating[Any]]


def average_ranks(values: Numbers) -> NDArray[np.float64]:
    """Rank of every value, 1 the smallest; equal values share the mean of the ranks they take up.

    Args:
        values: ``(N,)``, finite.
    """
    _, place, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2.0)[place]
    return ranks


def spearman(first: Numbers, second: Numbers) -> float:
    """The correlation of the ranks of two series, -1 to 1: Pearson's r of :func:`average_ranks`.

    Args:
        first: ``(N,)``, finite.
        second: ``(N,)``, finite.

    Returns:
        NaN where it is not defined: fewer than two values, or a series whose values are all equal.

    Raises:
        ValueError: series of different length, or a number that is not finite.
    """
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"two series of one length are compared, not {first.shape} and {second.shape}")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("ranks need finite numbers")
    if len(first) < 2:
        return float("nan")
    left, right = (ranks - ranks.mean() for ranks in (average_ranks(first), average_ranks(second)))
    scale = np.sqrt((left @ left) * (right @ right))
    return float(left @ right / scale) if scale > 0 else float("nan")


def spearman_matrix(rows: Numbers) -> NDArray[np.float64]:
    """Every row against every row: ``(M, N)`` -> ``(M, M)``, symmetric; NaN as in :func:`spearman`."""
    return np.array([[spearman(one, other) for other in rows] for one in rows]).reshape(len(rows), len(rows))
