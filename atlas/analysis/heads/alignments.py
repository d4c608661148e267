"""Which cross-attention heads align words: their alignment error rate against silver alignments.

The measurement ``head_alignments`` of a bundle. The reference is *silver*: not made by people, but by the
statistical aligner eflomal (Östling and Tiedemann 2016), trained on the bundle's own training corpus together
with the sample, in both directions. Links that both directions find are sure, those of either possible.

Words are those of :func:`spans`. The weights of a target word are the mean over the decoder steps of its
pieces, those to a source word the sum over its pieces (:mod:`atlas.trace.words`); a head links each target
word to the source word with the most of it, control tokens left out. Which step belongs to a piece is read in
two ways:

- *predict*: the step whose output is the piece, with the query of the piece before it;
- *read*: the step after it, whose query is the piece itself.

Arrays: float32 ``cross.aer_predict``, ``cross.aer_read`` and the same with ``.untrained`` (random weights),
``(L, H)``; uint16 ``sure`` and ``possible`` ``(N, 3)``: sentence, source word, target word, the possible
without the sure. Facts: ``aligner``, ``training`` pairs that it read, ``sentences``, ``diagonal``: the error
rate of linking by place alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.heads.reading import attention, batches
from atlas.analysis.heads.sample import HeldOut
from atlas.analysis.heads.silver import (
    ALIGNER,
    AlignmentError,
    Links,
    Silver,
    kept_silver,
    pack,
    spans,
    unpack,
)
from atlas.analysis.heads.subject import Subject
from atlas.analysis.pronouns import untrained
from atlas.measurements import Measurement
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import SPECIAL_IDS, Tokenizer
from atlas.trace.pieces import label_tokens

NAME = "head_alignments"
MOST_TRAINING = 100_000
"""Pairs of training that the aligner reads; of more, evenly spaced ones."""
READOUTS = ("predict", "read")

Floats = NDArray[np.floating]


def aer(links: Iterable[Links], silver: Iterable[Silver]) -> float:
    r"""Alignment error rate over sentences (Och and Ney 2003), 0 for the best; NaN where nothing is linked.

    .. math:: \mathrm{AER} = 1 - \frac{|A \cap S| + |A \cap P|}{|A| + |S|}

    A are the links of a head, S the sure and P the possible ones, S within P.
    """
    right = total = 0
    for found, reference in zip(links, silver, strict=True):
        right += len(found & reference.sure) + len(found & reference.possible)
        total += len(found) + len(reference.sure)
    return 1 - right / total if total else float("nan")


def diagonal(sources: int, targets: int) -> Links:
    """Every target word linked to the source word at the same share of the sentence."""
    if not sources:
        return frozenset()
    return frozenset((round(t * (sources - 1) / max(targets - 1, 1)), t) for t in range(targets))


def pieces_of(tokenizer: Tokenizer, ids: Sequence[int], text: str) -> NDArray[np.float32]:
    """``(W, T)``: 1 where a piece spells a character of a word of ``text``."""
    tokens = label_tokens(text, tokenizer.pieces(list(ids)), ids, SPECIAL_IDS)
    found = np.zeros((len(spans(text)), len(tokens)), np.float32)
    for word, (start, end) in enumerate(spans(text)):
        for place, token in enumerate(tokens):
            if not token.special and token.start < end and token.end > start:
                found[word, place] = 1
    return found


def links_of(
    weights: Floats, sources: NDArray[np.float32], targets: NDArray[np.float32], readout: str
) -> NDArray[np.int64]:
    """The source word that each head links to each target word: ``(..., W_target)``; -1 without pieces.

    Args:
        weights: ``(..., T, S)``, row t of the step that predicts target token t.
        sources: ``(W_source, S)`` of :func:`pieces_of`.
        targets: ``(W_target, T)``.
        readout: of :data:`READOUTS`; read takes the row after each piece, which the end mark always leaves.
    """
    rows = targets if readout == "predict" else np.roll(targets, 1, axis=1)
    counts = rows.sum(1, keepdims=True)
    between = (rows / np.maximum(counts, 1)) @ (weights @ sources.T)
    if not between.shape[-1]:
        return np.full(between.shape[:-1], -1)
    return np.where(counts[:, 0] > 0, between.argmax(-1), -1)


def error_rates(
    model: Transformer,
    tokenizer: Tokenizer,
    sample: HeldOut,
    silver: Sequence[Silver],
    report: Callable[[int], None] = lambda done: None,
) -> dict[str, NDArray[np.float32]]:
    """The alignment error rate of every cross head, ``(L, H)`` by read-out."""
    found: dict[str, dict[int, NDArray[np.int64]]] = {readout: {} for readout in READOUTS}
    done = 0
    for batch in batches(sample, model.device):
        weights = attention(model, batch)["cross"].float().cpu().numpy()
        for row, number in enumerate(batch.numbers.tolist()):
            ids, answer, pair = sample.source_ids[number], sample.target_ids[number], sample.pairs[number]
            sources = pieces_of(tokenizer, ids, pair.source)
            targets = pieces_of(tokenizer, answer, pair.target)
            for readout, links in found.items():
                seen = weights[row, :, :, : len(answer), : len(ids)]
                links[number] = links_of(seen, sources, targets, readout)
        done += len(batch.numbers)
        report(done)
    shape = model.config.decoder_layers, model.config.heads
    rates = {readout: np.zeros(shape, np.float32) for readout in READOUTS}
    for readout, sentences in found.items():
        for place in np.ndindex(shape):
            linked = (
                frozenset((int(s), t) for t, s in enumerate(sentence[place]) if s >= 0)
                for _, sentence in sorted(sentences.items())
            )
            rates[readout][place] = aer(linked, silver)
    return rates


def measure(
    engine: Subject, sample: HeldOut, *, work: Path, report: Callable[[int, int], None] | None = None
) -> Measurement:
    """The alignment error rate of every cross head, and of those of a model with random weights.

    Args:
        work: keeps the silver alignments of a run that was stopped.
        report: called with the sentences read and all of them, each model by itself.

    Raises:
        AlignmentError: eflomal is not installed, or the sample does not know its training pairs.
    """
    if not sample.training:
        raise AlignmentError(f"{sample.corpus}: the aligner needs the pairs of training, and there are none")
    step = -(-len(sample.training) // MOST_TRAINING)
    training = sample.training[::step]
    silver = kept_silver(work, sample, training)
    models = {"": engine.model, ".untrained": untrained(engine.model)}
    arrays: dict[str, NDArray[Any]] = {}
    for number, (suffix, model) in enumerate(models.items()):

        def tell(done: int, before: int = number * len(sample)) -> None:
            if report is not None:
                report(before + done, len(models) * len(sample))

        for readout, rates in error_rates(model, engine.tokenizer, sample, silver, tell).items():
            arrays[f"cross.aer_{readout}{suffix}"] = rates
    counts = [(len(spans(pair.source)), len(spans(pair.target))) for pair in sample.pairs]
    arrays |= {"sure": pack(s.sure for s in silver), "possible": pack(s.possible - s.sure for s in silver)}
    facts = {
        "corpus": sample.corpus,
        "sentences": len(sample),
        "aligner": ALIGNER,
        "training": len(training),
        "diagonal": aer((diagonal(*both) for both in counts), silver),
    }
    return Measurement(NAME, engine.hash, sample.command(engine.name), facts, arrays)


@dataclass(frozen=True)
class HeadAlignments:
    """The measurement ``head_alignments``, to be read.

    Attributes:
        rates: read-out -> ``(L, H)`` alignment error rates.
        controls: the same with random weights.
        silver: alignments of each sentence of the sample.
        diagonal: the error rate of linking by place alone.
        training: pairs of training that the aligner read.
        aligner: its name and version.
    """

    rates: dict[str, NDArray[np.float32]]
    controls: dict[str, NDArray[np.float32]]
    silver: tuple[Silver, ...]
    diagonal: float
    training: int
    aligner: str

    @classmethod
    def from_measurement(cls, measurement: Measurement) -> HeadAlignments:
        """Read what :func:`measure` wrote.

        Raises:
            AlignmentError: something is missing.
        """
        facts, arrays = measurement.facts, measurement.arrays
        try:
            return cls(
                {readout: arrays[f"cross.aer_{readout}"] for readout in READOUTS},
                {readout: arrays[f"cross.aer_{readout}.untrained"] for readout in READOUTS},
                tuple(unpack(arrays["sure"], arrays["possible"], int(facts["sentences"]))),
                float(facts["diagonal"]),
                int(facts["training"]),
                str(facts["aligner"]),
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise AlignmentError(f"{measurement.name}: not alignments of heads: {error}") from error

    def best(self, readout: str) -> tuple[int, int, float]:
        """Layer, head and rate of the head with the smallest error rate."""
        rates = self.rates[readout]
        layer, head = np.unravel_index(int(np.nanargmin(rates)), rates.shape)
        return int(layer), int(head), float(rates[layer, head])


def summary(measurement: Measurement) -> list[str]:
    """The best head by either read-out, beside the controls."""
    found = HeadAlignments.from_measurement(measurement)
    lines = [f"silver alignments by {found.aligner}, which read {found.training:,} pairs of training"]
    for readout in READOUTS:
        layer, head, rate = found.best(readout)
        least = float(np.nanmin(found.controls[readout]))
        lines.append(
            f"{readout}: best head cross {layer + 1}.{head + 1}, error rate {rate:.3f} "
            f"(best with random weights {least:.3f}, by place alone {found.diagonal:.3f})"
        )
    return lines
