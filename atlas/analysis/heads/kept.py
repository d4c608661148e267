"""A measurement of heads, to be asked by its own words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from atlas.measurements import Measurement


@dataclass(frozen=True)
class Kept:
    """What a stage of ``atlas heads`` wrote."""

    measurement: Measurement

    @classmethod
    def from_measurement(cls, measurement: Measurement) -> Self:
        """Read what a stage wrote."""
        return cls(measurement)
