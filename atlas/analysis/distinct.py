"""Is every position's vector different from every other's? The closest two rows of a table, by its length.

Distances are Euclidean. A table is ``(P, D)`` as in :mod:`atlas.analysis.positions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.positions import PositionsError, frequencies

Floats = NDArray[np.floating]
_BLOCK = 256
"""Rows compared at once: memory is ``_BLOCK * P`` numbers, however long the table."""
_SAME = 1e-9
"""Distances that differ by less than this part are the same; the pair found first is named."""


@dataclass(frozen=True)
class Closest:
    """The closest two rows among the first n of a table, for every n.

    Attributes:
        distance: float64 ``(P - 1,)``; entry ``n - 2`` is the smallest distance among rows 0 to n-1.
        first, second: ``(P - 1,)``, the pair that attains it, ``first < second``.
    """

    distance: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def among(self, length: int) -> tuple[float, int, int]:
        """Smallest distance among the first ``length`` rows, from 2, and its pair."""
        return (
            float(self.distance[length - 2]),
            int(self.first[length - 2]),
            int(self.second[length - 2]),
        )


def closest_rows(table: Floats) -> Closest:
    """Compare every two rows of a table, block by block.

    Candidates are found by ``|a|² + |b|² - 2 a·b`` in float64; the distance that is kept is that of the
    difference itself, so that cancellation cannot make it zero.

    Raises:
        PositionsError: fewer than two rows.
    """
    if table.ndim != 2 or len(table) < 2:
        raise PositionsError(f"two positions are needed to compare, this table has shape {table.shape}")
    rows = np.ascontiguousarray(table, dtype=np.float64)
    squares = np.einsum("pd,pd->p", rows, rows)
    partner = np.zeros(len(rows), dtype=np.int64)
    for start in range(0, len(rows), _BLOCK):
        stop = min(start + _BLOCK, len(rows))
        apart = squares[None, :stop] - 2 * (rows[start:stop] @ rows[:stop].T)
        later = np.arange(stop)[None, :] >= np.arange(start, stop)[:, None]
        apart[later] = np.inf
        partner[start:stop] = apart.argmin(axis=1)
    nearest = np.sqrt(np.square(rows[1:] - rows[partner[1:]]).sum(axis=1))
    places, best = np.zeros(len(nearest), dtype=np.int64), 0
    for place, distance in enumerate(nearest):
        if distance < nearest[best] * (1 - _SAME):
            best = place
        places[place] = best
    return Closest(nearest[places], partner[1:][places], places + 1)


def shift_distances(length: int, width: int) -> Floats:
    """Distance of two sinusoidal encodings k positions apart, for k from 1: float64 ``(length - 1,)``.

    .. math:: |PE_p - PE_{p+k}|^2 = \\sum_i 2 - 2\\cos(\\omega_i k) = \\sum_i 4\\sin^2(\\omega_i k / 2)

    wherever p stands. It is 0 for no whole number k: the first pair turns by k radians, and a whole number is
    never a multiple of 2π.

    Raises:
        PositionsError: an odd width, or a length below 2.
    """
    if length < 2:
        raise PositionsError(f"two positions are needed to compare, not {length}")
    total = np.zeros(length - 1)
    shifts = np.arange(1, length)
    for frequency in frequencies(width):
        total += 4 * np.sin(frequency * shifts / 2) ** 2
    return np.sqrt(total)


def smallest_by_width(length: int, widths: Sequence[int]) -> tuple[Floats, NDArray[np.int64]]:
    """Smallest distance among the first ``length`` sinusoidal encodings, for several widths.

    Returns:
        The distances ``(W,)``, and the shift k between the two positions that attain each.

    Raises:
        PositionsError: an odd width, or a length below 2.
    """
    apart = [shift_distances(length, width) for width in widths]
    return np.array([d.min() for d in apart]), np.array([int(d.argmin()) + 1 for d in apart])
