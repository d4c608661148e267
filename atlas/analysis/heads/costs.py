"""What each head is worth: gradient importance, and what removing it truly costs.

The measurement ``head_costs`` of a bundle. Arrays, float32 ``(L, H)``, for each kind k: ``k.importance``;
``k.loss``, ``k.loss_low``, ``k.loss_high``: by how much the loss rises without the head, nats a target token,
with the 95% paired bootstrap over sentences; ``k.bleu`` and so on: by how much greedy sacreBLEU changes.
Facts: ``sentences``, ``loss`` and ``bleu`` of the whole model, ``draws``.

A head is removed by setting its output to zero before the projection that joins the heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.ablation import HeadChange, make_edits
from atlas.analysis.heads.kept import Kept
from atlas.analysis.heads.reading import KINDS, Batch, batches, layers_of, read
from atlas.analysis.heads.sample import HeldOut
from atlas.analysis.heads.subject import Subject
from atlas.analysis.length_scores import bleu_of, sentence_counts
from atlas.analysis.rank_correlation import spearman
from atlas.decoding import SearchOptions
from atlas.decoding.bulk import translate_ids
from atlas.decoding.edited import Edited
from atlas.measurements import Measurement
from atlas.model.recorder import Recorder, point
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import PAD_ID
from atlas.trace.views import Kind
from atlas.whole import whole_file

NAME = "head_costs"
DRAWS = 1000
Floats = NDArray[np.floating]
Head = tuple[Kind, int, int]
_BATCH = 64


def heads_of(model: Transformer) -> list[Head]:
    """Every head of a model: kind, layer and head, from 0."""
    number = model.config.heads
    return [
        (kind, layer, head)
        for kind, layers in layers_of(model).items()
        for layer in range(layers)
        for head in range(number)
    ]


def sentence_losses(model: Transformer, prepared: Sequence[Batch], without: Iterable[Head] = ()) -> Floats:
    """Loss of each sentence with some heads removed, nats summed over its target tokens: ``(N,)``."""
    edits = make_edits([HeadChange(*head, 0.0) for head in without])
    found = np.zeros(sum(len(batch.numbers) for batch in prepared))
    with torch.inference_mode():
        for batch in prepared:
            loss = _losses(model, batch, Recorder((), edits) if edits else None)
            found[batch.numbers] = loss.double().cpu().numpy()
    return found


def _losses(model: Transformer, batch: Batch, recorder: Recorder | None) -> Tensor:
    """``(B,)``, nats summed over the target tokens of each sentence."""
    logits = read(model, batch, recorder).float().transpose(1, 2)
    return torch.nn.functional.cross_entropy(logits, batch.answer, ignore_index=PAD_ID, reduction="none").sum(
        -1
    )


def importance(model: Transformer, prepared: Sequence[Batch]) -> dict[Kind, Floats]:
    """Gradient importance (Michel et al. 2019, eq. 2): the mean over sentences of ``|dL / dg|`` at ``g = 1``,
    L the summed loss of the sentence and g a gate that multiplies the output of the head.

    Returns:
        by kind ``(L, H)``, nats.
    """
    layers = layers_of(model)
    totals = {kind: np.zeros((layers[kind], model.config.heads)) for kind in KINDS}
    count = 0
    for batch in prepared:
        gates = {
            (kind, layer): torch.ones(
                len(batch.numbers), model.config.heads, 1, 1, device=model.device
            ).requires_grad_()
            for kind in KINDS
            for layer in range(layers[kind])
        }
        edits = {
            point(kind, layer, "heads"): (lambda heads, gate=gate: heads * gate)
            for (kind, layer), gate in gates.items()
        }
        with torch.enable_grad():
            loss = _losses(model, batch, Recorder((), edits)).sum()
            slopes = torch.autograd.grad(loss, list(gates.values()))
        for (kind, layer), slope in zip(gates, slopes, strict=True):
            totals[kind][layer] += slope[:, :, 0, 0].abs().sum(0).double().cpu().numpy()
        count += len(batch.numbers)
    return {kind: total / count for kind, total in totals.items()}


def greedy(engine: Subject, sources: Sequence[Sequence[int]], without: Iterable[Head] = ()) -> list[str]:
    """Greedy translations with some heads removed, in the order of ``sources``."""
    edits = make_edits([HeadChange(*head, 0.0) for head in without])
    model = Edited(engine.model, edits) if edits else engine.model
    found = translate_ids(model, sources, SearchOptions(method="greedy"))
    return [engine.tokenizer.decode(hypotheses[0].ids) for hypotheses in found]


@dataclass(frozen=True)
class HeadCosts(Kept):
    """The measurement ``head_costs``, to be asked."""

    def importance(self, kind: Kind) -> Floats:
        """``(L, H)`` gradient importance, nats a sentence."""
        return self.measurement.arrays[f"{kind}.importance"]

    def loss(self, kind: Kind) -> tuple[Floats, Floats, Floats]:
        """Rise of the loss without the head, nats a token, and its 95% interval: ``(L, H)`` each."""
        return self._with_interval(f"{kind}.loss")

    def bleu(self, kind: Kind) -> tuple[Floats, Floats, Floats]:
        """Change of greedy BLEU without the head and its 95% interval: ``(L, H)`` each."""
        return self._with_interval(f"{kind}.bleu")

    def _with_interval(self, name: str) -> tuple[Floats, Floats, Floats]:
        arrays = self.measurement.arrays
        return arrays[name], arrays[f"{name}_low"], arrays[f"{name}_high"]


def draws_of(number: int) -> NDArray[np.int64]:
    """How often each of ``number`` sentences stands in each bootstrap sample: ``(DRAWS, number)``."""
    return np.random.default_rng(0).multinomial(number, np.full(number, 1 / number), DRAWS)


def paired_loss(before: Floats, after: Floats, tokens: Floats) -> tuple[float, float, float]:
    """Rise of the loss a token and its 95% percentile interval over sentences, ``(N,)`` sums each."""
    draws = draws_of(len(tokens))
    low, high = np.percentile(draws @ (after - before) / (draws @ tokens), [2.5, 97.5])
    return float((after - before).sum() / tokens.sum()), float(low), float(high)


def bleu_draws(counts: NDArray[np.int64]) -> Floats:
    """BLEU of each bootstrap sample, ``(DRAWS,)``, from the counts ``(N, 10)`` of the sentences."""
    return np.array([bleu_of(row) for row in draws_of(len(counts)) @ counts])


def measure(
    engine: Subject,
    sample: HeldOut,
    *,
    work: Path,
    report: Callable[[int, int], None] | None = None,
) -> Measurement:
    """Remove every head in turn. What is found is kept in ``work``, a file a head, so that a run that was
    stopped goes on where it was.

    Args:
        report: called with the heads done and all of them.
    """
    model, heads = engine.model, heads_of(engine.model)
    prepared = batches(sample, model.device, _BATCH)
    tokens = np.array([len(ids) for ids in sample.target_ids], dtype=np.float64)
    references = [pair.target for pair in sample.pairs]
    losses = sentence_losses(model, prepared)
    counts = sentence_counts(greedy(engine, sample.source_ids), references)
    whole_bleu, whole_draws = bleu_of(counts.sum(0)), bleu_draws(counts)
    arrays: dict[str, NDArray] = {}
    for kind, values in importance(model, prepared).items():
        arrays[f"{kind}.importance"] = values.astype(np.float32)
        for name in ("loss", "bleu"):
            for end in ("", "_low", "_high"):
                arrays[f"{kind}.{name}{end}"] = np.zeros(values.shape, np.float32)
    for done, (kind, layer, head) in enumerate(heads):
        if report is not None:
            report(done, len(heads))
        file = work / f"{kind}-{layer}-{head}.npz"
        if not file.is_file():
            without = [(kind, layer, head)]
            changed = sentence_counts(greedy(engine, sample.source_ids, without), references)
            write_whole(file, losses=sentence_losses(model, prepared, without), counts=changed)
        with np.load(file, allow_pickle=False) as kept:
            after, changed = kept["losses"], kept["counts"]
        loss = paired_loss(losses, after, tokens)
        low, high = np.percentile(bleu_draws(changed) - whole_draws, [2.5, 97.5])
        bleu = bleu_of(changed.sum(0)) - whole_bleu, low, high
        for name, found in (("loss", loss), ("bleu", bleu)):
            for end, value in zip(("", "_low", "_high"), found, strict=True):
                arrays[f"{kind}.{name}{end}"][layer, head] = value
    facts = {
        "corpus": sample.corpus,
        "sentences": len(sample),
        "loss": float(losses.sum() / tokens.sum()),
        "bleu": whole_bleu,
        "draws": DRAWS,
    }
    return Measurement(NAME, engine.hash, sample.command(engine.name), facts, arrays)


def write_whole(file: Path, **arrays: NDArray) -> None:
    """Write a partial result, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as partial, partial.open("wb") as out:
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]


def summary(measurement: Measurement) -> list[str]:
    """The whole model, and for each kind the head that costs most."""
    facts, found = measurement.facts, HeadCosts.from_measurement(measurement)
    lines = [f"whole model: loss {facts['loss']:.4f} nats a token, greedy BLEU {facts['bleu']:.2f}"]
    for kind in KINDS:
        loss, low, high = found.loss(kind)
        layer, head = np.unravel_index(int(loss.argmax()), loss.shape)
        bleu, bleu_low, bleu_high = (values[layer, head] for values in found.bleu(kind))
        agreement = spearman(found.importance(kind).ravel(), loss.ravel())
        lines.append(
            f"{kind}: {layer + 1}.{head + 1} costs most: loss {loss[layer, head]:+.4f} "
            f"({low[layer, head]:+.4f} to {high[layer, head]:+.4f}), BLEU {bleu:+.2f} ({bleu_low:+.2f} to "
            f"{bleu_high:+.2f}); rank correlation of gradient importance with the loss {agreement:.2f}"
        )
    return lines
