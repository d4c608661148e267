"""Histories of training runs: ``history.csv`` of a bundle as columns, and a check of what it says."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from atlas.errors import AtlasError

COLUMNS = (
    "step",
    "epoch",
    "target_tokens",
    "minutes",
    "learning_rate",
    "train_loss",
    "train_perplexity",
    "development_loss",
    "development_perplexity",
    "bleu",
    "chrf",
)
"""What a run of ours writes at every evaluation; losses in nats a token."""
PERPLEXITIES = (("train_loss", "train_perplexity"), ("development_loss", "development_perplexity"))
"""Pairs of columns of which the second is exp of the first."""


class HistoryError(AtlasError):
    """A history that cannot be drawn; the line says whose, and why."""


@dataclass(frozen=True)
class History:
    """What one run said about itself.

    Attributes:
        name: of the bundle.
        columns: float64 ``(N,)`` each, by name; only those of :data:`COLUMNS` that the file has. A number
            that the run did not take is NaN.
    """

    name: str
    columns: Mapping[str, NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.columns["step"])

    def pairs(self, across: str, up: str) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """Two columns without the rows in which either has no number; None where one is missing."""
        if across not in self.columns or up not in self.columns:
            return None
        x, y = self.columns[across], self.columns[up]
        known = np.isfinite(x) & np.isfinite(y)
        return x[known], y[known]


def read_history(name: str, text: str) -> History:
    """Read the text of a ``history.csv``. Columns that are not ours are left out, missing ones stay missing.

    Args:
        name: of the bundle, for messages and legends.
        text: CSV with a header; an empty field is a number that was not taken.

    Raises:
        HistoryError: no rows, no column ``step``, a field that is no number, or steps that do not rise.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2:
        raise HistoryError(f"{name}: its history has no rows")
    header = [field.strip() for field in rows[0]]
    if "step" not in header:
        raise HistoryError(f"{name}: its history has no column 'step'")
    columns: dict[str, NDArray[np.float64]] = {}
    for place, column in enumerate(header):
        if column in COLUMNS:
            values = [_number(name, column, line, row, place) for line, row in enumerate(rows[1:], 2)]
            columns[column] = np.array(values)
    steps = columns["step"]
    if not np.isfinite(steps).all() or (np.diff(steps) <= 0).any():
        raise HistoryError(f"{name}: the steps of its history do not rise")
    return History(name, columns)


def _number(name: str, column: str, line: int, row: list[str], place: int) -> float:
    field = row[place].strip() if place < len(row) else ""
    if not field:
        return math.nan
    try:
        return float(field)
    except ValueError:
        raise HistoryError(
            f"{name}: line {line} of its history says {column} = {field[:40]!r}, which is no number"
        ) from None


def perplexity_error(history: History) -> float | None:
    """The largest relative difference between a perplexity that the file states and exp of its loss.

    Returns:
        about the rounding of the file (5e-6 with six digits) when they agree; None where it states none.
    """
    found: list[float] = []
    for loss, stated in PERPLEXITIES:
        pairs = history.pairs(loss, stated)
        if pairs is not None and len(pairs[0]):
            computed = np.exp(pairs[0])
            found.append(float((np.abs(pairs[1] - computed) / computed).max()))
    return max(found, default=None)


def at_step(history: History, step: int, column: str) -> float | None:
    """A number at exactly this step; None where the run took none there."""
    if column not in history.columns:
        return None
    places = np.flatnonzero(history.columns["step"] == step)
    value = float(history.columns[column][places[0]]) if len(places) else math.nan
    return value if math.isfinite(value) else None
