"""Calibration numbers against loops in NumPy, PyTorch's autograd, and cases with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from atlas.analysis.calibration import (
    BINS,
    NAMES,
    Predictions,
    bin_of,
    bootstrap,
    gradient_norms,
    predict,
    reliability,
    summarise,
)
from atlas.model import Transformer
from atlas.text.batches import EncodedPairs, pad
from atlas.text.corpora import Pair
from atlas.text.tokenizer import Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model

PAIRS = [Pair(english, french) for english, french in zip(ENGLISH, FRENCH, strict=True)]


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Transformer:
    return tiny_model(tokenizer, seed=2)


@pytest.fixture(scope="module")
def pairs(tokenizer: Tokenizer) -> EncodedPairs:
    return EncodedPairs(PAIRS, tokenizer)


def random_predictions(seed: int, sentences: int = 30) -> Predictions:
    random = np.random.default_rng(seed)
    sentence = np.repeat(np.arange(sentences), random.integers(3, 9, sentences))
    columns = {name: random.random(len(sentence)) for name in ("confidence", "entropy", "loss", "norm")}
    return Predictions(
        sentence=sentence,
        correct=random.random(len(sentence)) < columns["confidence"],
        top=random.random(len(sentence)),
        slope=random.random(len(sentence)),
        **columns,
    )


def test_bins_are_closed_above() -> None:
    assert bin_of(np.array([0.0, 1e-9, 1 / 15, 1 / 15 + 1e-9, 1.0])).tolist() == [0, 0, 0, 1, 14]


def test_reliability_by_hand() -> None:
    found = reliability(np.array([0.9, 0.8, 0.1]), np.array([True, False, False]), bins=2)
    assert found.counts.tolist() == [1, 2]
    assert found.confidence.tolist() == pytest.approx([0.1, 0.85])
    assert found.accuracy.tolist() == pytest.approx([0.0, 0.5])
    assert found.error == pytest.approx(0.1 / 3 + 0.35 * 2 / 3)


def test_a_perfectly_calibrated_model_has_no_error() -> None:
    confidence = np.full(1000, 0.5)
    correct = np.arange(1000) % 2 == 0
    assert reliability(confidence, correct).error == pytest.approx(0)
    assert reliability(np.ones(10), np.zeros(10, bool)).error == pytest.approx(1)


def test_predictions_are_those_of_single_passes(
    model: Transformer, pairs: EncodedPairs, tokenizer: Tokenizer
) -> None:
    found = predict(model, pairs, tokens=120)
    assert sorted(set(found.sentence.tolist())) == list(range(len(PAIRS)))
    for number in range(len(PAIRS)):
        source, target = torch.tensor([pairs.source[number]]), torch.tensor([pairs.target[number]])
        with torch.no_grad():
            logits = model(source, torch.ones_like(source, dtype=torch.bool), target[:, :-1])[0].double()
        labels, mine = target[0, 1:], found.sentence == number
        chances = logits.softmax(-1)
        assert mine.sum() == len(labels)
        centred = logits - logits.mean(-1, keepdim=True)
        leaf = logits.clone().requires_grad_()
        functional.cross_entropy(leaf, labels, reduction="sum").backward()
        assert leaf.grad is not None
        for name, expected in {
            "confidence": chances.max(-1).values,
            "correct": (chances.argmax(-1) == labels).double(),
            "entropy": torch.distributions.Categorical(chances).entropy(),
            "loss": functional.cross_entropy(logits, labels, reduction="none"),
            "norm": torch.linalg.vector_norm(centred, dim=-1),
            "top": centred.max(-1).values,
            "slope": torch.linalg.vector_norm(leaf.grad, dim=-1),
        }.items():
            assert getattr(found, name)[mine] == pytest.approx(expected.numpy(), abs=1e-4), name


def test_no_gradient_at_the_logits_passes_the_root_of_two(model: Transformer, pairs: EncodedPairs) -> None:
    assert predict(model, pairs).slope.max() <= np.sqrt(2)


def test_the_summary_is_the_mean_and_the_error() -> None:
    found = random_predictions(1)
    summary = summarise(found)
    assert summary.accuracy == pytest.approx(found.correct.mean())
    assert summary.ece == pytest.approx(reliability(found.confidence, found.correct).error)
    for name in ("confidence", "loss", "entropy", "norm", "top", "slope"):
        assert getattr(summary, name) == pytest.approx(getattr(found, name).mean())


def test_the_bootstrap_is_a_loop_over_drawn_sentences() -> None:
    first, second = random_predictions(1), random_predictions(2)
    found = bootstrap(first, second, draws=200, seed=4)
    random = np.random.default_rng(4)
    counts = random.multinomial(30, np.full(30, 1 / 30), size=200)
    differences = []
    for drawn in counts:
        values = []
        for one in (first, second):
            rows = np.concatenate(
                [np.flatnonzero(one.sentence == number) for number in np.repeat(np.arange(30), drawn)]
            )
            values.append(reliability(one.confidence[rows], one.correct[rows]).error)
        differences.append(values[0] - values[1])
    assert found.difference["ece"] == pytest.approx(np.percentile(differences, [2.5, 97.5]))
    assert set(found.first) == set(found.second) == set(NAMES)


def test_a_model_does_not_differ_from_itself() -> None:
    found = bootstrap(random_predictions(3), random_predictions(3))
    assert all(limits == (0, 0) for limits in found.difference.values())
    mean = random_predictions(3).loss.mean()
    assert found.first["loss"][0] < mean < found.first["loss"][1]


def test_other_sentences_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="same sentences"):
        bootstrap(random_predictions(1, 20), random_predictions(1, 21))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_gradient_norms_are_autograds(
    model: Transformer, pairs: EncodedPairs, smoothing: float, tokenizer: Tokenizer
) -> None:
    still = tiny_model(tokenizer, seed=2, dropout=0.0)
    norms = gradient_norms(still, pairs, smoothing, tokens=60, batches=2)
    for number, chosen in enumerate(pairs.order(60, seed=0, epoch=0)[:2]):
        source, target = pad([pairs.source[i] for i in chosen]), pad([pairs.target[i] for i in chosen])
        still.zero_grad()
        logits = still(source, source != 0, target[:, :-1])
        loss = functional.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0, label_smoothing=smoothing
        )
        loss.backward()
        whole = torch.cat([weight.grad.flatten() for weight in still.parameters() if weight.grad is not None])
        assert norms[number] == pytest.approx(float(whole.norm()), rel=1e-4)


def test_gradient_norms_leave_the_model_as_it_was(model: Transformer, pairs: EncodedPairs) -> None:
    model.requires_grad_(False)
    before = gradient_norms(model, pairs, 0.1, tokens=60, batches=2)
    assert not model.training
    assert not any(weight.requires_grad for weight in model.parameters())
    assert all(weight.grad is None for weight in model.parameters())
    assert (gradient_norms(model, pairs, 0.1, tokens=60, batches=2) == before).all()


def test_nothing_to_predict_is_refused(model: Transformer, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="no sentences"):
        predict(model, EncodedPairs([], tokenizer))


def test_fifteen_bins() -> None:
    assert BINS == 15
