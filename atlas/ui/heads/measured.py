"""What the Heads page knows of the model: its measurements, and one table of numbers a head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.heads.alignments import NAME as ALIGNMENTS
from atlas.analysis.heads.alignments import HeadAlignments
from atlas.analysis.heads.costs import NAME as COSTS
from atlas.analysis.heads.costs import HeadCosts
from atlas.analysis.heads.links import NAME as LINKS
from atlas.analysis.heads.metrics import DEFINITIONS, Definition
from atlas.analysis.heads.record import NAME as HEADS
from atlas.analysis.heads.record import HeadAtlas
from atlas.engine import Engine
from atlas.measurements import FOLDER, Measurement, load_measurement
from atlas.trace.views import Kind
from atlas.ui.page import Page

Floats = NDArray[np.floating]
COST_DEFINITIONS: Final[Mapping[str, Definition]] = {
    "importance": Definition(
        "Gradient importance",
        "mean over sentences of how fast the loss would change if the head's output were scaled",
        "Michel et al. 2019, eq. 2",
        "nats a sentence",
    ),
    "loss": Definition(
        "Cost in loss",
        "rise of the loss when the head's output is set to zero",
        "Voita et al. 2019; Michel et al. 2019",
        "nats a token",
    ),
    "bleu": Definition(
        "Cost in BLEU",
        "change of greedy BLEU when the head's output is set to zero",
        "Michel et al. 2019",
        "BLEU",
    ),
}
_AER = (
    "of a link from each target word to its strongest source word, against silver alignments by a "
    "statistical aligner"
)
ALIGNMENT_DEFINITIONS: Final[Mapping[str, Definition]] = {
    "aer_predict": Definition(
        "Alignment error, predicting",
        f"alignment error rate, at the step that predicts the word, {_AER}; lower is better",
        "Och and Ney 2003; Garg et al. 2019",
        cross_only=True,
    ),
    "aer_read": Definition(
        "Alignment error, reading",
        f"alignment error rate, at the step that reads the word, {_AER}; lower is better",
        "Och and Ney 2003; Chen et al. 2020",
        cross_only=True,
    ),
}
EVERY: Final[Mapping[str, Definition]] = {**DEFINITIONS, **COST_DEFINITIONS, **ALIGNMENT_DEFINITIONS}


@dataclass(frozen=True)
class Measured:
    """What the bundle of a model carries.

    Attributes:
        heads: what heads do.
        costs: what they are worth; None if that was not measured.
        links: the measurement of what they look at; None if that was not kept.
        alignments: how well they align words; None if that was not measured.
    """

    heads: HeadAtlas
    costs: HeadCosts | None
    links: Measurement | None
    alignments: HeadAlignments | None = None

    def metrics(self, kind: Kind) -> tuple[str, ...]:
        """Ids of everything that is known of a kind."""
        aligned = ALIGNMENT_DEFINITIONS if self.alignments and kind == "cross" else ()
        return (*self.heads.metrics(kind), *(COST_DEFINITIONS if self.costs else ()), *aligned)

    def values(self, kind: Kind, metric: str) -> Floats:
        """``(L, H)``."""
        if metric in DEFINITIONS:
            return self.heads.values(kind, metric)
        return self.with_interval(kind, metric)[0]

    def control(self, kind: Kind, metric: str) -> Floats | None:
        """``(L, H)`` of random weights; None where that was not measured."""
        if metric in ALIGNMENT_DEFINITIONS and self.alignments is not None:
            return self.alignments.controls[metric.removeprefix("aer_")]
        return self.heads.control(kind, metric) if metric in DEFINITIONS else None

    def gap(self, kind: Kind, metric: str) -> str:
        """Why heads have no value of a metric, in words; empty where all have one."""
        if np.isfinite(self.values(kind, metric)).all():
            return ""
        if kind == "decoder" and metric in ("offset_1", "offset_2"):
            return "No head has a value: the decoder never looks ahead."
        if metric in ALIGNMENT_DEFINITIONS:
            return "An empty cell has no value: the head links no word of the sample."
        return "An empty cell has no value: no query of the sample has such a key."

    def with_interval(self, kind: Kind, metric: str) -> tuple[Floats, Floats | None, Floats | None]:
        """Values, and the ends of their 95% interval where there is one."""
        if metric in DEFINITIONS:
            return self.heads.values(kind, metric), None, None
        if metric in ALIGNMENT_DEFINITIONS and self.alignments is not None:
            return self.alignments.rates[metric.removeprefix("aer_")], None, None
        if self.costs is None:
            raise KeyError(f"{metric} was not measured")
        if metric == "importance":
            return self.costs.importance(kind), None, None
        return self.costs.loss(kind) if metric == "loss" else self.costs.bleu(kind)

    def rows(self, kind: Kind) -> list[dict[str, Any]]:
        """One row a head, for a table that can be sorted."""
        layers, heads = self.values(kind, "confidence").shape
        return [
            {"head": f"{layer + 1}.{head + 1}", "does": self.heads.name(kind, layer, head)}
            | {
                EVERY[metric].title: float(self.values(kind, metric)[layer, head])
                for metric in self.metrics(kind)
            }
            for layer, head in np.ndindex(layers, heads)
        ]


def measured(page: Page) -> Measured | None:
    """What the bundle of the page's model carries, from the cache that all sessions share; None where its
    heads were never measured.

    Raises:
        MeasurementError: a file of it is damaged or of other weights.
    """
    folder = page.model.folder
    files = sorted((folder / FOLDER).glob("*.npz")) if folder else []
    return page.study("heads.measured", *(file.stat().st_mtime_ns for file in files), find=_read)


def _read(engine: Engine) -> Measured | None:
    heads, costs, links, alignments = (
        load_measurement(engine.folder, name, engine.hash) for name in (HEADS, COSTS, LINKS, ALIGNMENTS)
    )
    if heads is None:
        return None
    return Measured(
        HeadAtlas.from_measurement(heads),
        HeadCosts.from_measurement(costs) if costs else None,
        links,
        HeadAlignments.from_measurement(alignments) if alignments else None,
    )
