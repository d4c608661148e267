"""Smaller pictures of large maps: a square stands for a block of cells and shows the largest of them.

Max pooling and not the mean: a head that looks at one token in 512 is a thin line of strong cells, which a
mean would wash out. Every strong cell is still seen, and the largest weight of a picture stays the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def block(length: int, most: int) -> int:
    """How many neighbours share a place so that ``length`` of them need at most ``most`` places.

    Raises:
        ValueError: no place at all.
    """
    if most < 1:
        raise ValueError(f"at least one place is needed, not {most}")
    return max(1, -(-length // most))


def pool_max(array: NDArray[np.floating[Any]], most: int, axis: int = -1) -> NDArray[np.floating[Any]]:
    """The largest of each block of neighbours along an axis; the last block may be shorter.

    Args:
        array: any shape; NaN counts as nothing, a block of NaN alone is NaN.
        most: places left along the axis, at most.
        axis: to be pooled.

    Returns:
        the same axes, with ``ceil(length / block)`` places along ``axis``; the array itself where it fits.
    """
    moved = np.moveaxis(array, axis, 0)
    size = block(len(moved), most)
    if size == 1:
        return array
    pooled = moved[::size].copy()
    for offset in range(1, size):
        others = moved[offset::size]
        np.fmax(pooled[: len(others)], others, out=pooled[: len(others)])
    return np.moveaxis(pooled, 0, axis)
