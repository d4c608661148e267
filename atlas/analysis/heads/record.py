"""The measurement ``heads`` of a bundle: what every head does over a corpus.

Arrays, float32, for each kind k (encoder, decoder, cross) with L layers of H heads: ``k.METRIC`` and
``k.METRIC.untrained`` ``(L, H)``, ``k.distances`` ``(L H, L H)`` mean Jensen-Shannon divergence in bits,
``k.places`` ``(L H, 2)``, and int16 ``k.typical`` ``(L, H, 5)``, sentence numbers, -1 where there are fewer.
Facts: ``corpus``, ``sentences``, the ``digest`` of the sample (its sentences are not in it), ``tokens``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.heads.accumulate import Gathered, gather
from atlas.analysis.heads.distances import places
from atlas.analysis.heads.kept import Kept
from atlas.analysis.heads.metrics import DEFINITIONS
from atlas.analysis.heads.names import Rule, applicable
from atlas.analysis.heads.reading import KINDS
from atlas.analysis.heads.sample import HeldOut
from atlas.analysis.heads.subject import Subject
from atlas.analysis.pronouns import untrained
from atlas.measurements import Measurement
from atlas.trace.views import Kind

NAME = "heads"
TYPICAL = 5
LEAST_TOKENS = 6
"""A sentence with fewer source tokens is too short to be typical of anything."""
Floats = NDArray[np.floating]


@dataclass(frozen=True)
class HeadAtlas(Kept):
    """The measurement ``heads``, to be asked."""

    def metrics(self, kind: Kind) -> tuple[str, ...]:
        """Ids of the metrics of a kind, in the order of :data:`~atlas.analysis.heads.metrics.DEFINITIONS`."""
        return tuple(name for name in DEFINITIONS if f"{kind}.{name}" in self.measurement.arrays)

    def values(self, kind: Kind, metric: str) -> Floats:
        """``(L, H)``; NaN where no query of the sample has it."""
        return self.measurement.arrays[f"{kind}.{metric}"]

    def control(self, kind: Kind, metric: str) -> Floats:
        """``(L, H)``: the same of a model of the same shape with random weights."""
        return self.measurement.arrays[f"{kind}.{metric}.untrained"]

    def distances(self, kind: Kind) -> Floats:
        """``(L H, L H)`` mean Jensen-Shannon divergence between heads, bits."""
        return self.measurement.arrays[f"{kind}.distances"]

    def places(self, kind: Kind) -> Floats:
        """``(L H, 2)``: where the heads stand so that look-alikes are together."""
        return self.measurement.arrays[f"{kind}.places"]

    def rule(self, kind: Kind, layer: int, head: int) -> Rule | None:
        """What names a head; None where no threshold is reached."""
        values = {name: float(self.values(kind, name)[layer, head]) for name in self.metrics(kind)}
        return applicable(kind, values)

    def name(self, kind: Kind, layer: int, head: int) -> str:
        """Name of what a head does, or an empty text."""
        rule = self.rule(kind, layer, head)
        return rule.name if rule else ""

    def typical(self, kind: Kind, layer: int, head: int) -> tuple[int, ...]:
        """Numbers of the sentences in which the head does most what it is named for (without a name: in which
        it is most confident), best first.
        """
        numbers = self.measurement.arrays[f"{kind}.typical"][layer, head]
        return tuple(int(number) for number in numbers if number >= 0)

    @property
    def corpus(self) -> str:
        """Where the sentences are from."""
        return str(self.measurement.facts["corpus"])

    @property
    def sentences(self) -> int:
        """How many were read."""
        return int(self.measurement.facts["sentences"])

    @property
    def digest(self) -> str:
        """Of the sample that was read."""
        return str(self.measurement.facts["digest"])


def typical(found: Gathered, sample: HeldOut, rule: Rule | None, layer: int, head: int) -> list[int]:
    """Numbers of the sentences in which a head does most what ``rule`` names it for (without a name: in
    which it is most confident), best first, at most :data:`TYPICAL`.
    """
    scores = found.by_sentence(rule.metric if rule else "confidence")[:, layer, head]
    long_enough = np.array([len(ids) >= LEAST_TOKENS for ids in sample.source_ids])
    usable = np.flatnonzero(long_enough & np.isfinite(scores))
    best: list[int] = usable[np.argsort(-scores[usable], kind="stable")][:TYPICAL].tolist()
    return best


def _all_typical(found: Gathered, sample: HeldOut, kind: Kind) -> NDArray[np.int16]:
    values = {metric: found.mean(metric) for metric in found.sums}
    shape = values["confidence"].shape
    chosen = np.full((*shape, TYPICAL), -1, dtype=np.int16)
    for layer, head in np.ndindex(shape):
        rule = applicable(kind, {metric: float(value[layer, head]) for metric, value in values.items()})
        best = typical(found, sample, rule, layer, head)
        chosen[layer, head, : len(best)] = best
    return chosen


def measure(
    engine: Subject,
    sample: HeldOut,
    *,
    work: Path,
    report: Callable[[int, int], None] | None = None,
) -> Measurement:
    """Metrics of every head over a sample, beside those of random weights.

    Args:
        work: unused; this takes about a minute and is done in one go.
        report: called with the sentences done, of both models.
    """
    del work
    tell = report or (lambda done, total: None)
    total = 2 * len(sample)
    trained = gather(engine.model, engine.tokenizer, sample, lambda done, _: tell(done, total))
    random = gather(
        untrained(engine.model), engine.tokenizer, sample, lambda done, _: tell(len(sample) + done, total)
    )
    arrays: dict[str, NDArray] = {}
    for kind in KINDS:
        for metric in trained[kind].sums:
            arrays[f"{kind}.{metric}"] = trained[kind].mean(metric).astype(np.float32)
            arrays[f"{kind}.{metric}.untrained"] = random[kind].mean(metric).astype(np.float32)
        arrays[f"{kind}.distances"] = trained[kind].distances.astype(np.float32)
        arrays[f"{kind}.places"] = places(trained[kind].distances).astype(np.float32)
        arrays[f"{kind}.typical"] = _all_typical(trained[kind], sample, kind)
    facts = {
        "corpus": sample.corpus,
        "sentences": len(sample),
        "digest": sample.digest,
        "tokens": {
            "source": sum(map(len, sample.source_ids)),
            "target": sum(map(len, sample.target_ids)),
        },
    }
    return Measurement(NAME, engine.hash, sample.command(engine.name), facts, arrays)


def summary(measurement: Measurement) -> list[str]:
    """One line for every head that has a name: what it is called, its value and that of random weights."""
    found = HeadAtlas.from_measurement(measurement)
    lines = []
    for kind in KINDS:
        for layer, head in np.ndindex(found.values(kind, "confidence").shape):
            rule = found.rule(kind, layer, head)
            if rule is not None:
                value, random = (
                    table(kind, rule.metric)[layer, head] for table in (found.values, found.control)
                )
                lines.append(
                    f"{kind} {layer + 1}.{head + 1}: {rule.name} ({rule.metric} {value:.2f}, random "
                    f"{random:.2f})"
                )
    return lines
