"""Models trained alike but for their positions: similarity of the rows of their tables, word order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.length_scores import LengthsError

Floats = NDArray[np.floating]


def row_similarities(table: Floats) -> Floats:
    """Cosine of the angle between every two rows of a table ``(P, D)``: float64 ``(P, P)``, from -1 to 1.

    Raises:
        LengthsError: a row of zeros, which has no direction.
    """
    rows = np.asarray(table, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    if not norms.all():
        raise LengthsError("a row of zeros has no direction")
    unit = rows / norms
    return np.clip(unit @ unit.T, -1.0, 1.0)


@dataclass(frozen=True)
class Rows:
    """Rows of a table that training reached, against those that it never used.

    Attributes:
        trained: number of rows that a training sentence can reach; the rest are as they were at the start.
        norm_trained, norm_rest: mean Euclidean norm of the two kinds.
        neighbours_trained, neighbours_rest: mean cosine of rows one position apart, within each kind.
    """

    trained: int
    norm_trained: float
    norm_rest: float
    neighbours_trained: float
    neighbours_rest: float


def compare_rows(table: Floats, trained: int) -> Rows:
    """How the first ``trained`` rows of a table ``(P, D)`` differ from the others.

    Raises:
        LengthsError: fewer than two rows of either kind.
    """
    if not 2 <= trained <= len(table) - 2:
        raise LengthsError(f"{trained} trained rows of {len(table)}: two of each kind are needed")
    norms = np.linalg.norm(np.asarray(table, np.float64), axis=1)
    beside = np.diagonal(row_similarities(table), offset=1)
    return Rows(
        trained=trained,
        norm_trained=float(norms[:trained].mean()),
        norm_rest=float(norms[trained:].mean()),
        neighbours_trained=float(beside[: trained - 1].mean()),
        neighbours_rest=float(beside[trained:].mean()),
    )


def order_between(first: Sequence[int], second: Sequence[int]) -> list[int] | None:
    """The permutation that turns the tokens ``first`` into ``second``: ``order[new place] = old place``.

    Equal tokens keep their order. None if the two are not the same tokens.
    """
    if sorted(first) != sorted(second):
        return None
    places: dict[int, list[int]] = {}
    for place, token in reversed(list(enumerate(first))):
        places.setdefault(token, []).append(place)
    return [places[token].pop() for token in second]
