"""The loss against torch's own, and what teacher forcing adds up."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from atlas.text.batches import Batch, pad
from atlas.text.tokenizer import END_ID, START_ID, Tokenizer
from atlas.training.evaluation import mean_loss
from atlas.training.loss import TeacherForcing, smoothed_cross_entropy
from tests.conftest import tiny_model

SMOOTHING = [0.0, 0.1, 0.5]


@pytest.mark.parametrize("smoothing", SMOOTHING)
def test_value_and_gradient_are_those_of_torch(smoothing: float):
    generator = torch.Generator().manual_seed(1)
    ours = (torch.randn(13, 50, generator=generator) * 3).requires_grad_()
    theirs = ours.detach().clone().requires_grad_()
    labels = torch.randint(0, 50, (13,), generator=generator)
    loss, nll = smoothed_cross_entropy(ours, labels, smoothing)
    wanted = cross_entropy(theirs, labels, label_smoothing=smoothing, reduction="sum")
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-6)
    assert torch.allclose(nll, cross_entropy(theirs, labels, reduction="none"), atol=1e-5)
    assert not nll.requires_grad
    (loss * 0.37).backward()
    (wanted * 0.37).backward()
    assert torch.allclose(ours.grad, theirs.grad, atol=1e-6)


def test_gradient_against_differences():
    """The gradient is written by hand, so it is also checked without any other implementation."""
    logits = (torch.randn(2, 6, generator=torch.Generator().manual_seed(2))).requires_grad_()
    labels = torch.tensor([3, 0])
    smoothed_cross_entropy(logits, labels, 0.2)[0].backward()

    def loss(table: torch.Tensor) -> float:
        logprobs = table.double().log_softmax(-1)
        right = logprobs[range(2), labels].sum()
        return float(-(0.8 * right + 0.2 * logprobs.mean(-1).sum()))

    for place in [(0, 0), (0, 3), (1, 0), (1, 5)]:
        nudge = torch.zeros(2, 6, dtype=torch.float64)
        nudge[place] = 1e-5
        slope = (loss(logits.detach() + nudge) - loss(logits.detach() - nudge)) / 2e-5
        assert float(logits.grad[place]) == pytest.approx(slope, abs=1e-5)


def test_extreme_logits_stay_finite():
    logits = torch.tensor([[1e4, 0.0, -1e4]], requires_grad=True)
    loss, _ = smoothed_cross_entropy(logits, torch.tensor([2]), 0.1)
    loss.backward()
    assert loss.isfinite() and logits.grad.isfinite().all()
    assert loss.item() == pytest.approx(0.9 * 2e4 + 0.1 * 1e4)


def test_bfloat16_logits_are_summed_in_float32():
    logits = torch.randn(40, 60, generator=torch.Generator().manual_seed(3)).bfloat16().requires_grad_()
    labels = torch.arange(40)
    loss, _ = smoothed_cross_entropy(logits, labels, 0.1)
    wide = logits.detach().float().requires_grad_()
    wanted = cross_entropy(wide, labels, label_smoothing=0.1, reduction="sum")
    wanted.backward()
    loss.backward()
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-6)
    assert logits.grad.dtype == torch.bfloat16
    assert torch.allclose(logits.grad.float(), wide.grad, atol=5e-3)


@pytest.mark.case("M3")
def test_padding_is_neither_read_nor_predicted(tokenizer: Tokenizer):
    """The loss of a padded batch is the sum over its pairs one by one, masks on both sides."""
    model = tiny_model(tokenizer)
    sources = [[9, 10, 11, 12, END_ID], [30, END_ID]]
    targets = [[START_ID, 40, END_ID], [START_ID, 50, 51, 52, 53, END_ID]]
    forced = TeacherForcing(model, 0.1)
    with torch.no_grad():
        together = forced(Batch(pad(sources), pad(targets)))
        alone = [forced(Batch(pad([s]), pad([t]))) for s, t in zip(sources, targets, strict=True)]
    for place in (0, 1):
        assert float(together[place]) == pytest.approx(sum(float(one[place]) for one in alone), rel=1e-5)
    assert Batch(pad(sources), pad(targets)).tokens == 7


def test_mean_loss_is_nats_a_token_without_dropout_or_smoothing(tokenizer: Tokenizer):
    from atlas.text.batches import EncodedPairs
    from atlas.text.corpora import Pair

    model = tiny_model(tokenizer, dropout=0.5)
    texts = [
        Pair("I love you.", "Je t'aime."),
        Pair("It rains.", "Il pleut."),
        Pair("Bread.", "Du pain chaud !"),
    ]
    encoded = EncodedPairs(texts, tokenizer)
    total, count = 0.0, 0
    for source, target in zip(encoded.source, encoded.target, strict=True):
        whole = torch.tensor([source])
        with torch.no_grad():
            logits = model(whole, torch.ones_like(whole, dtype=torch.bool), torch.tensor([target[:-1]]))[0]
        total -= float(logits.double().log_softmax(-1)[range(len(target) - 1), target[1:]].sum())
        count += len(target) - 1
    model.train()
    for tokens in (20, 8000):
        assert mean_loss(model, encoded, tokens) == pytest.approx(total / count, rel=1e-5)
    assert model.training
