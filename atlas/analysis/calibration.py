"""Does a model know what it knows? Reliability, entropy, and the sizes of logits and gradients.

Expected calibration error and reliability diagrams: Guo et al. 2017, "On Calibration of Modern Neural
Networks", section 2. That label smoothing makes a model less sure: Szegedy et al. 2016, section 7; Müller
et al. 2019, "When Does Label Smoothing Help?".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.model.seeded import drawn_from
from atlas.model.transformer import Transformer
from atlas.text.batches import EncodedPairs
from atlas.text.tokenizer import PAD_ID
from atlas.training.loss import TeacherForcing

BINS: Final = 15
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Predictions:
    """What a model said under teacher forcing, a number for each of N target tokens.

    Attributes:
        sentence: int ``(N,)``, which sentence a token belongs to, from 0.
        confidence: probability of the token that the model thought likeliest.
        correct: bool, whether that was the right one.
        entropy: of the whole distribution, nats.
        loss: minus the log-probability of the right token, nats.
        norm: L2 norm of the logits after their mean was taken away (which changes no probability).
        top: the largest of those centred logits.
        slope: L2 norm of the gradient of the loss with respect to the logits, ``softmax - one-hot``: below
            the square root of 2 for every model.
    """

    sentence: NDArray[np.int64]
    confidence: Floats
    correct: NDArray[np.bool_]
    entropy: Floats
    loss: Floats
    norm: Floats
    top: Floats
    slope: Floats

    def __len__(self) -> int:
        return len(self.sentence)


@dataclass(frozen=True)
class Reliability:
    """Predictions sorted by confidence into bins of equal width.

    Attributes:
        counts: int ``(bins,)``.
        confidence: mean confidence of each bin, 0 where it is empty.
        accuracy: share of right predictions in each bin, 0 where it is empty.
    """

    counts: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def error(self) -> float:
        r"""The expected calibration error :math:`\sum_b \frac{n_b}{N} |acc_b - conf_b|`, from 0 to 1."""
        gaps = np.abs(self.accuracy - self.confidence)
        return float((self.counts * gaps).sum() / self.counts.sum())


def bin_of(confidence: Floats, bins: int = BINS) -> NDArray[np.int64]:
    """The bin of each confidence: ``((b, b + 1] / bins``, the first one with 0."""
    return np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)


def reliability(confidence: Floats, correct: NDArray[np.bool_], bins: int = BINS) -> Reliability:
    """Sort predictions ``(N,)`` into bins and average each of them."""
    places = bin_of(confidence, bins)
    counts = np.bincount(places, minlength=bins)
    filled = np.maximum(counts, 1)
    return Reliability(
        counts,
        np.bincount(places, weights=confidence, minlength=bins) / filled,
        np.bincount(places, weights=correct.astype(np.float64), minlength=bins) / filled,
    )


@torch.inference_mode()
def predict(
    model: Transformer,
    pairs: EncodedPairs,
    tokens: int = 2000,
    progress: Callable[[int, int], None] | None = None,
) -> Predictions:
    """Read every pair under teacher forcing, without dropout.

    Args:
        model: in evaluation mode.
        pairs: held-out sentences.
        tokens: padded tokens a batch.
        progress: told batches done and batches in all.

    Raises:
        ValueError: there are no pairs.
    """
    if not len(pairs):
        raise ValueError("there are no sentences to predict")
    order = pairs.order(tokens, seed=0, epoch=0)
    parts: list[tuple[NDArray[np.generic], ...]] = []
    for done, numbers in enumerate(order, 1):
        batch = pairs.batch(numbers).to(model.device)
        mask, labels = batch.source != PAD_ID, batch.target[:, 1:]
        real = labels != PAD_ID
        read = batch.target[:, :-1]
        own = None if model.config.causal else read != PAD_ID
        stream = model.decode(read, model.encode(batch.source, mask), mask, target_mask=own)
        owner = torch.as_tensor(numbers, device=model.device)[:, None].expand_as(labels)[real]
        parts.append((owner.cpu().numpy(), *_numbers(model.logits(stream[real]), labels[real])))
        if progress is not None:
            progress(done, len(order))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    return Predictions(*columns)


def _numbers(logits: torch.Tensor, labels: torch.Tensor) -> tuple[NDArray[np.generic], ...]:
    """The numbers of :class:`Predictions` after ``sentence``, from ``(N, V)`` logits and ``(N,)`` labels."""
    scores = logits.float()
    logs = scores.log_softmax(-1)
    chances = logs.exp()
    centred = scores - scores.mean(-1, keepdim=True)
    confidence, likeliest = chances.max(-1)
    loss = -logs.gather(-1, labels[:, None])[:, 0]
    right = chances.gather(-1, labels[:, None])[:, 0]
    # |softmax - onehot|^2 = |softmax|^2 - 2 p + 1
    slope = (chances.square().sum(-1) - 2 * right + 1).clamp_min(0).sqrt()
    found = (confidence, likeliest == labels, -(chances * logs).sum(-1), loss, centred.norm(dim=-1))
    columns = [column.cpu().numpy() for column in (*found, centred.amax(-1), slope)]
    return tuple(column if column.dtype == bool else column.astype(np.float64) for column in columns)


@dataclass(frozen=True)
class Summary:
    """Means over the tokens of :class:`Predictions`; ``ece`` from 0 to 1, entropy and loss in nats."""

    accuracy: float
    confidence: float
    ece: float
    loss: float
    entropy: float
    norm: float
    top: float
    slope: float


NAMES: Final = tuple(field.name for field in fields(Summary))


def summarise(found: Predictions) -> Summary:
    """One number for each column of the predictions, and the calibration error."""
    return Summary(*_summaries(_sums(found), np.ones((1, int(found.sentence.max()) + 1)))[0].tolist())


@dataclass(frozen=True)
class Intervals:
    """95% bootstrap intervals over sentences: ``(2,)`` low and high, by name of a number of
    :class:`Summary`."""

    first: dict[str, tuple[float, float]]
    second: dict[str, tuple[float, float]]
    difference: dict[str, tuple[float, float]]
    """Of the first minus the second, both on the same drawn sentences."""


def bootstrap(first: Predictions, second: Predictions, draws: int = 1000, seed: int = 0) -> Intervals:
    """How far the numbers of two models, and their differences, would move with other sentences.

    Sentences are drawn with replacement (Efron 1979), the same ones for both models, because tokens of one
    sentence are not independent.

    Args:
        first, second: predictions for the same sentences.
        draws: how many times.
        seed: same seed, same intervals.

    Raises:
        ValueError: the two were not measured on the same sentences.
    """
    if not np.array_equal(np.unique(first.sentence), np.unique(second.sentence)):
        raise ValueError("two models can be compared on the same sentences only")
    sentences = int(first.sentence.max()) + 1
    random = np.random.default_rng(seed)
    weights = random.multinomial(sentences, np.full(sentences, 1 / sentences), size=draws).astype(np.float64)
    drawn = [_summaries(_sums(found), weights) for found in (first, second)]
    limits = [_interval(values) for values in (*drawn, drawn[0] - drawn[1])]
    return Intervals(*limits)


def _interval(values: Floats) -> dict[str, tuple[float, float]]:
    low, high = np.percentile(values, [2.5, 97.5], axis=0)
    return {name: (float(low[place]), float(high[place])) for place, name in enumerate(NAMES)}


def _sums(found: Predictions) -> dict[str, Floats]:
    """Sums of each sentence ``(sentences,)``, and of each sentence and bin ``(sentences, BINS)``."""
    sentences = int(found.sentence.max()) + 1
    sums: dict[str, Floats] = {
        name: np.bincount(found.sentence, weights=getattr(found, name), minlength=sentences).astype(
            np.float64
        )
        for name in ("correct", "confidence", "loss", "entropy", "norm", "top", "slope")
    }
    sums["tokens"] = np.bincount(found.sentence, minlength=sentences).astype(np.float64)
    cell = found.sentence * BINS + bin_of(found.confidence)
    gap = found.correct - found.confidence
    gaps = np.bincount(cell, weights=gap, minlength=sentences * BINS).reshape(sentences, BINS)
    sums["gaps"] = gaps.astype(np.float64)
    return sums


def _summaries(sums: dict[str, Floats], weights: Floats) -> Floats:
    """The numbers of :class:`Summary` ``(draws, 8)`` when sentence i counts ``weights[draw, i]`` times."""
    tokens = weights @ sums["tokens"]
    means = {name: weights @ sums[name] / tokens for name in sums if name not in ("tokens", "gaps")}
    means["accuracy"] = means["correct"]
    # n_b / N |acc_b - conf_b| = |sum over the bin of (correct - confidence)| / N
    means["ece"] = np.abs(weights @ sums["gaps"]).sum(-1) / tokens
    return np.stack([means[name] for name in NAMES], axis=-1)


def gradient_norms(
    model: Transformer,
    pairs: EncodedPairs,
    smoothing: float,
    *,
    tokens: int,
    batches: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Floats:
    """The L2 norm of the gradient over all weights, for the mean loss of each batch, as in a training step.

    Dropout is on as in training; batch i has the same sentences and the same dropout for every model and
    loss.

    Args:
        model: gets its gradients and mode back as they were.
        pairs: training sentences.
        smoothing: of the loss.
        tokens: padded tokens a batch.
        batches: at most so many.
        seed: of the order and of dropout.
        progress: told batches done and batches in all.

    Returns:
        ``(batches,)``, before any clipping.
    """
    chosen: Sequence[NDArray[np.int64]] = pairs.order(tokens, seed=seed, epoch=0)[:batches]
    weights = list(model.parameters())
    needed = [weight.requires_grad for weight in weights]
    training = model.training
    forced = TeacherForcing(model, smoothing)
    norms: list[float] = []
    model.train().requires_grad_(True)
    try:
        for number, pair_numbers in enumerate(chosen):
            batch = pairs.batch(np.asarray(pair_numbers)).to(model.device)
            with drawn_from(seed * 1_000_003 + number, model.device):
                loss = forced(batch)[0] / batch.tokens
            slopes = torch.autograd.grad(loss, weights)
            norms.append(float(torch.stack([slope.norm() for slope in slopes]).norm()))
            if progress is not None:
                progress(number + 1, len(chosen))
    finally:
        model.train(training)
        for weight, was in zip(weights, needed, strict=True):
            weight.requires_grad_(was)
    return np.array(norms)
