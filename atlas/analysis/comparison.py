"""How far what was computed again is from what a model did."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Check(NamedTuple):
    """How far what was computed again is from what the model did.

    Attributes:
        largest: the largest absolute difference.
        scale: the largest absolute number compared, for judging the difference.
        numbers: how many were compared.
    """

    largest: float
    scale: float
    numbers: int


def compare(
    ours: NDArray[np.floating], recorded: NDArray[np.floating], where: NDArray[np.bool_] | None = None
) -> Check:
    """The largest absolute difference of two arrays of one shape.

    Equal infinities differ by 0; an infinity that the other lacks, and anything that is not a number, differs
    by infinity.

    Args:
        where: broadcastable to the shape: which numbers are compared; all by default.
    """
    if ours.shape != recorded.shape:
        raise ValueError(f"shapes {ours.shape} and {recorded.shape} cannot be compared")
    first, second = ours.astype(np.float64), recorded.astype(np.float64)
    with np.errstate(invalid="ignore"):
        apart = np.where(first == second, 0.0, np.abs(first - second))
    apart = np.where(np.isnan(apart), np.inf, apart)
    if where is not None:
        chosen = np.broadcast_to(where, apart.shape)
        apart, first = apart[chosen], first[chosen]
    finite = np.abs(first[np.isfinite(first)])
    return Check(float(apart.max(initial=0.0)), float(finite.max(initial=0.0)), apart.size)
