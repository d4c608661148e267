"""Seven readings of a token, each against a computation of its own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from atlas.analysis.explanation_agreement import agreements
from atlas.analysis.explanations import (
    METHODS,
    attention_rollout,
    average_shares,
    cross_attention,
    encoder_rollout,
    explain,
    forced_logprobs,
    gradient_times_input,
    leave_out,
    middle_layer,
    to_shares,
    token_logprobs,
    value_norms,
)
from atlas.analysis.passes import forced_pass
from atlas.errors import AtlasError
from atlas.model.recorder import Recorder
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import END_ID, START_ID, Tokenizer
from tests.conftest import ENGLISH, FRENCH, tiny_model


@pytest.fixture(scope="module")
def model(tokenizer: Tokenizer) -> Transformer:
    return tiny_model(tokenizer).double().requires_grad_(False)


@pytest.fixture(scope="module")
def source(tokenizer: Tokenizer) -> list[int]:
    return tokenizer.source(ENGLISH[2])


@pytest.fixture(scope="module")
def target(tokenizer: Tokenizer) -> list[int]:
    return [*tokenizer.encode(FRENCH[2])[:6], END_ID]


def logprob_at(
    model: Transformer, source: list[int], target: list[int], embedded: torch.Tensor
) -> torch.Tensor:
    """(T,) log-probabilities when the encoder is given these vectors."""
    ids, read = torch.tensor([source]), torch.tensor([[START_ID, *target[:-1]]])
    recorder = Recorder((), {"encoder.embedded": lambda _: embedded})
    logits = model(ids, torch.ones_like(ids, dtype=torch.bool), read, recorder)
    return logits[0].log_softmax(-1)[range(len(target)), target]


def test_the_gradient_against_finite_differences(model, source, target) -> None:
    found = gradient_times_input(model, source, target)
    kept = Recorder(("embedded",))
    ids = torch.tensor([source])
    model.encode(ids, torch.ones_like(ids, dtype=torch.bool), kept)
    embedded, small = kept["encoder.embedded"], 1e-5
    for place in range(len(source)):
        step = torch.zeros_like(embedded)
        step[0, place] = embedded[0, place] * small
        up, down = (logprob_at(model, source, target, embedded + sign * step) for sign in (1, -1))
        slope = ((up - down) / (2 * small)).numpy()
        assert np.abs(found[:, place] - slope).max() < 1e-6
    assert np.abs(found).max() > 1e-3


def test_the_parameters_get_no_gradient(model, source, target) -> None:
    gradient_times_input(model, source, target)
    assert all(weight.grad is None and not weight.requires_grad for weight in model.parameters())


def test_value_norms_are_the_norms_of_what_each_token_gives(tokenizer, source, target) -> None:
    """Take the part of one source token alone through the layer's own output projection."""
    model = tiny_model(tokenizer)
    seen = forced_pass(model, source, target[:-1])
    norms = value_norms(model, seen)
    for layer, block in enumerate(model.decoder):
        weights = torch.tensor(seen[f"decoder.{layer}.cross.weights"])
        values = torch.tensor(seen[f"decoder.{layer}.cross.v"])
        output = block.cross_attention.output
        whole = torch.zeros(len(target), model.config.width)
        for place in range(len(source)):
            heads = weights[:, :, place, None] * values[:, None, place]
            part = torch.nn.functional.linear(heads.transpose(0, 1).flatten(1), output.weight)
            whole += part
            assert np.abs(norms[layer, :, place] - part.norm(dim=-1).detach().numpy()).max() < 1e-5
        change = torch.tensor(seen[f"decoder.{layer}.cross.change"])
        assert (whole + output.bias - change).abs().max() < 1e-4, "the parts make up the sub-layer"


def test_rollout_by_hand() -> None:
    first, second = np.array([[1.0, 0], [1, 0]]), np.array([[0.0, 1], [0.5, 0.5]])
    one = 0.5 * np.eye(2) + 0.5 * first
    two = 0.5 * np.eye(2) + 0.5 * second
    assert np.allclose(encoder_rollout(np.stack([first, second])), two @ one)
    assert np.allclose(encoder_rollout(np.stack([first, second]), residual=1.0), np.eye(2))
    assert np.allclose(encoder_rollout(np.stack([first, second]), residual=0.0), second @ first)


def test_rows_sum_to_one(model, source, target) -> None:
    seen = forced_pass(model, source, target[:-1], wanted=("weights",))
    layers = model.config.decoder_layers
    rolled = attention_rollout(seen, model.config.encoder_layers, layers)
    assert rolled.shape == (len(target), len(source))
    assert np.abs(rolled.sum(-1) - 1).max() < 1e-6
    assert np.abs(cross_attention(seen, layers).sum(-1) - 1).max() < 1e-6


def test_log_probabilities_are_those_of_a_pass(model, source, target) -> None:
    seen = forced_pass(model, source, target[:-1], wanted=())
    expected = torch.tensor(seen.logits).log_softmax(-1)[range(len(target)), target]
    assert np.abs(token_logprobs(seen.logits, target) - expected.numpy()).max() < 1e-5
    many = [source, source[2:], source[:1], *[source] * 20]
    found = forced_logprobs(model, many, target)
    for row, ids in zip(found, many, strict=True):
        alone = token_logprobs(forced_pass(model, ids, target[:-1], wanted=()).logits, target)
        assert np.abs(row - alone).max() < 1e-4, "padding changes nothing"


def test_a_word_is_left_out_whole(model, source, target) -> None:
    words = [(0, 1), (2,), tuple(range(3, len(source)))]
    found = leave_out(model, source, target, words)
    whole = forced_logprobs(model, [source], target)[0]
    without = forced_logprobs(model, [source[2:]], target)[0]
    assert found.shape == (len(target), 3)
    assert np.abs(found[:, 0] - (whole - without)).max() < 1e-9
    with pytest.raises(AtlasError, match="nothing to leave out"):
        leave_out(model, source[:1], target, [(0,)])


def test_all_readings_by_word(model, source, target) -> None:
    words = [(0, 1), (2,), tuple(range(3, len(source)))]
    found = explain(model, source, target, words)
    assert found.scores.shape == found.shares.shape == (len(METHODS), len(target), 3)
    sizes = np.abs(found.shares).sum(-1)
    assert np.abs(sizes - 1).max() < 1e-6
    unsigned = found.scores[:5]
    assert (unsigned >= 0).all() and np.abs(unsigned.sum(-1) - 1).max() < 1e-5
    seen = forced_pass(model, source, target[:-1], wanted=("weights",))
    middle = cross_attention(seen, 2)[0]
    assert np.abs(found.scores[0, :, 0] - middle[:, :2].sum(-1)).max() < 1e-9
    assert np.abs(average_shares(found.shares).sum(-1) - 1).max() < 1e-6
    gradient = list(METHODS).index("gradient")
    assert (
        np.abs(found.scores[gradient].sum(-1) - gradient_times_input(model, source, target).sum(-1)).max()
        < 1e-9
    )


def test_shares_and_the_middle_layer() -> None:
    assert to_shares(np.array([[1.0, -3.0], [0.0, 0.0]])).tolist() == [[0.25, -0.75], [0, 0]]
    assert [middle_layer(count) for count in (1, 2, 4, 6)] == [0, 0, 2, 4]


def test_agreement_counts_tops_and_averages_ranks() -> None:
    count = len(METHODS)
    shares = np.zeros((count, 2, 3))
    shares[:] = np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])
    shares[0, 1] = [-0.1, 0.3, 0.6]
    shares[1, 0] = [1 / 3, 1 / 3, 1 / 3]
    found = agreements(shares, 1)
    assert [item.method for item in found] == list(METHODS)[:-1]
    assert (found[0].now, found[0].mean, found[0].same_top) == (-1.0, 0.0, 1)
    assert (found[1].now, found[1].mean, found[1].defined) == (1.0, 1.0, 1)
    assert (found[2].mean, found[2].same_top, found[2].tokens) == (1.0, 2, 2)
    assert math.isnan(agreements(shares, 0)[1].now)
