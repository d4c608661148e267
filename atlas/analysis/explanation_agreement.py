"""How far readings of a translation (:mod:`atlas.analysis.explanations`) agree with leaving words out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.explanations import METHODS
from atlas.analysis.rank_correlation import spearman

Numbers = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Agreement:
    """How a reading ranks the words, against leaving each out.

    Attributes:
        method: a key of :data:`METHODS`.
        now: Spearman's rank correlation for the chosen token; NaN where it is not defined.
        mean: the mean of the same over the tokens for which it is defined; NaN if there is none.
        defined: for how many tokens it is.
        same_top: for how many tokens both put the same word first.
        tokens: T.
    """

    method: str
    now: float
    mean: float
    defined: int
    same_top: int
    tokens: int


def agreements(shares: Numbers, token: int) -> tuple[Agreement, ...]:
    """Every reading but the last against the last, which leaves each word out; by absolute share.

    Args:
        shares: ``(M, T, W)``, of the words alone (without the end mark).
        token: the chosen one, counted from 0.
    """
    sizes = np.abs(shares)
    truth = sizes[-1]
    found = []
    for name, rows in zip(METHODS, sizes[:-1], strict=False):
        values = np.array([spearman(row, true) for row, true in zip(rows, truth, strict=True)])
        good = values[np.isfinite(values)]
        top = int((rows.argmax(-1) == truth.argmax(-1)).sum())
        mean = float(good.mean()) if len(good) else float("nan")
        found.append(Agreement(name, float(values[token]), mean, len(good), top, len(rows)))
    return tuple(found)
