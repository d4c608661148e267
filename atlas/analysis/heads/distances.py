"""How unlike two heads are, and a map on which look-alikes stand together."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.floating]


def _entropy(weights: Tensor) -> Tensor:
    return -(weights * weights.clamp_min(1e-30).log2()).sum(-1)


def divergences(weights: Tensor, queries: Tensor) -> Tensor:
    """Jensen-Shannon divergence between all pairs of heads, summed over queries (Clark et al. 2019, section
    6): ``H((p + q) / 2) - (H(p) + H(q)) / 2``, bits, 0 for equal rows and 1 for rows with no key in common.

    Args:
        weights: ``(B, N, Q, K)`` of N heads that look at the same keys.
        queries: ``(B, Q)``, True where a query counts.

    Returns:
        ``(N, N)``, symmetric, zero on the diagonal.
    """
    rows = weights.transpose(1, 2)[queries].double().cpu()  # (R, N, K)
    own = _entropy(rows).sum(0)
    heads = rows.shape[1]
    found = torch.zeros(heads, heads, dtype=torch.float64)
    for first in range(heads - 1):
        mixed = _entropy((rows[:, first : first + 1] + rows[:, first + 1 :]) / 2).sum(0)
        found[first, first + 1 :] = (mixed - (own[first] + own[first + 1 :]) / 2).clamp_min(0.0)
    return found + found.T


def places(distances: Floats) -> Floats:
    """Classical multidimensional scaling (Torgerson 1952): the plane whose distances are nearest in the sense
    of squared inner products.

    Args:
        distances: ``(N, N)``, symmetric.

    Returns:
        ``(N, 2)``, centred; each axis points so that its largest coordinate is positive.
    """
    number = len(distances)
    centre = np.eye(number) - 1 / number
    inner = -0.5 * centre @ (distances.astype(np.float64) ** 2) @ centre
    values, vectors = np.linalg.eigh(inner)
    axes = np.zeros((number, 2))
    for axis, place in enumerate(np.argsort(values)[::-1][:2]):
        column = vectors[:, place] * np.sqrt(max(values[place], 0.0))
        axes[:, axis] = column * np.sign(column[np.abs(column).argmax()] or 1.0)
    return axes
