"""Gradients by layer, against autograd through PyTorch's stacks and through sub-layers put together here."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from atlas.analysis.depth import (
    HEADS,
    LENGTH,
    VARIANTS,
    DepthError,
    Gradients,
    all_gradients,
    gradients,
    random_model,
    random_sentences,
)
from atlas.model import Transformer
from atlas.model.attention import causal_mask
from tests.model.test_torch_layers import their_stacks

WIDTH = 16


def norms(stack: nn.ModuleList) -> list[float]:
    return [
        math.sqrt(sum(float(weight.grad.square().sum()) for weight in layer.parameters())) for layer in stack
    ]


def embedded(model: Transformer, ids: Tensor) -> Tensor:
    assert model.position_table is not None
    return model.source_embedding(ids) * math.sqrt(WIDTH) + model.position_table[: ids.shape[1]]


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_with_residuals_they_are_those_of_pytorchs_transformer(norm) -> None:
    found = gradients(3, WIDTH, norm, residual=True, seed=5)
    model = random_model(3, WIDTH, norm, 5)
    described = {"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": 4 * WIDTH, "dropout": 0.0}
    described |= {"batch_first": True, "norm_first": norm == "pre", "dtype": torch.float64}
    encoder, decoder = their_stacks(model, described)
    source, read, expected = random_sentences(5)
    memory = encoder(embedded(model, source))
    hidden = decoder(embedded(model, read), memory, tgt_mask=~causal_mask(LENGTH, LENGTH))
    loss = cross_entropy((hidden @ model.source_embedding.weight.T).flatten(0, 1), expected.flatten())
    loss.backward()
    assert found.loss == pytest.approx(loss.item(), rel=1e-9)
    np.testing.assert_allclose(found.encoder, norms(encoder.layers), rtol=1e-7)
    np.testing.assert_allclose(found.decoder, norms(decoder.layers), rtol=1e-7)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_without_residuals_every_sub_layer_replaces_the_stream(norm) -> None:
    found = gradients(2, WIDTH, norm, residual=False, seed=3)
    model = random_model(2, WIDTH, norm, 3)
    source, read, expected = random_sentences(3)

    def apply(layer_norm: nn.LayerNorm, block, stream: Tensor) -> Tensor:
        return block(layer_norm(stream)) if norm == "pre" else layer_norm(block(stream))

    memory = embedded(model, source)
    for layer in model.encoder:
        memory = apply(layer.self_norm, lambda x, layer=layer: layer.self_attention(x, None), memory)
        memory = apply(layer.ffn_norm, layer.feed_forward, memory)
    memory = model.encoder_norm(memory)
    stream, causal = embedded(model, read), causal_mask(LENGTH, LENGTH)
    for layer in model.decoder:
        own, cross = layer.self_attention, layer.cross_attention
        stream = apply(layer.self_norm, lambda x, own=own: own(x, causal), stream)
        pair = cross.keys_values(memory)
        stream = apply(layer.cross_norm, lambda x, cross=cross, pair=pair: cross(x, *pair, None), stream)
        stream = apply(layer.ffn_norm, layer.feed_forward, stream)
    logits = model.decoder_norm(stream) @ model.unembedding.T
    loss = cross_entropy(logits.flatten(0, 1), expected.flatten())
    loss.backward()
    assert found.loss == pytest.approx(loss.item(), rel=1e-9)
    np.testing.assert_allclose(found.encoder, norms(model.encoder), rtol=1e-6)
    np.testing.assert_allclose(found.decoder, norms(model.decoder), rtol=1e-6)


def test_the_variants_begin_with_the_same_matrices_and_leave_the_generator_alone() -> None:
    torch.manual_seed(11)
    before = torch.get_rng_state()
    post, pre = (random_model(2, WIDTH, norm, 7) for norm in ("post", "pre"))
    assert torch.equal(before, torch.get_rng_state())
    shared = post.state_dict()
    for name, weight in pre.state_dict().items():
        if name.removesuffix(".weight").removesuffix(".bias") not in ("encoder_norm", "decoder_norm"):
            assert torch.equal(weight, shared[name]), name


def test_the_shape_of_the_figure() -> None:
    """Post-norm: gradients of the decoder grow towards the output, the deeper the steeper. Pre-norm: even."""
    shallow = gradients(6, 32, "post", residual=True, seed=1)
    post = gradients(24, 32, "post", residual=True, seed=1)
    pre = gradients(24, 32, "pre", residual=True, seed=1)
    assert post.last_to_first("decoder") > 100 * shallow.last_to_first("decoder") > 100
    assert 0.1 < pre.last_to_first("decoder") < 10
    assert 0.01 < post.last_to_first("encoder") < 100
    logs = np.log(post.decoder)
    assert np.corrcoef(np.arange(24), logs)[0, 1] > 0.98
    assert post.decoder[-1] > 3 * pre.decoder[-1]


def test_all_variants_in_order_with_progress() -> None:
    told: list[tuple[int, int]] = []
    found = all_gradients(2, WIDTH, 1, lambda done, of: told.append((done, of)))
    assert tuple((one.norm, one.residual) for one in found) == VARIANTS
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert all(len(one.encoder) == len(one.decoder) == 2 for one in found)
    again = gradients(2, WIDTH, "pre", residual=True, seed=1)
    np.testing.assert_array_equal(again.decoder, found[1].decoder)


def test_a_gradient_of_zero_has_no_ratio() -> None:
    lost = Gradients("post", False, np.array([0.5, 2.0]), np.array([0.0, 1.0]), 1.0)
    assert lost.last_to_first("decoder") == math.inf
    assert lost.last_to_first("encoder") == 4.0


@pytest.mark.parametrize("layers", [0, 101])
def test_too_few_and_too_many_layers(layers: int) -> None:
    with pytest.raises(DepthError, match=f"a stack of 1 to 100 layers, not {layers}"):
        gradients(layers, WIDTH, "pre", residual=True, seed=1)
