"""The model against others: a NumPy Transformer written for the tests, and PyTorch's own layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from atlas.model import Recorder, Transformer
from tests.model.reference import position, read, small_model

SOURCE, TARGET = [5, 9, 3, 9, 2], [1, 7, 7, 20, 4, 11]


def run(model: Transformer, source: list[int], target: list[int], recorder: Recorder | None) -> Tensor:
    ids = torch.tensor([source])
    with torch.inference_mode():
        return model(ids, torch.ones_like(ids, dtype=torch.bool), torch.tensor([target]), recorder)[0]


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_every_option_equals_the_numpy_transformer(norm, positions, activation, tied):
    model = small_model(norm=norm, positions=positions, activation=activation, tied=tied)
    expected = read(model, SOURCE, TARGET)
    recorder = Recorder(("weights",))
    assert np.abs(run(model, SOURCE, TARGET, recorder).numpy() - expected.logits).max() < 1e-9
    assert np.abs(run(model, SOURCE, TARGET, None).numpy() - expected.logits).max() < 1e-9
    assert recorder.points.keys() == expected.maps.keys()
    for name, weights in expected.maps.items():
        assert np.abs(recorder[name][0].numpy() - weights).max() < 1e-9, name


@pytest.mark.case("T6")
@pytest.mark.parametrize(("source", "target"), [([2], [1]), ([5, 2], [1]), ([2], [1, 8, 4])])
def test_one_token_loses_no_dimension(source, target):
    model = small_model()
    expected = read(model, source, target)
    recorder = Recorder(("weights",))
    logits = run(model, source, target, recorder).numpy()
    assert logits.shape == expected.logits.shape == (len(target), model.config.vocabulary)
    assert np.abs(logits - expected.logits).max() < 1e-9
    assert recorder["decoder.0.cross.weights"].shape == (1, 2, len(target), len(source))


def copy_attention(theirs: nn.MultiheadAttention, weights: list[Tensor], biases: list[Tensor], out) -> None:
    theirs.in_proj_weight.data = torch.cat(weights)
    theirs.in_proj_bias.data = torch.cat(biases)
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = out.weight.data, out.bias.data


def copy_norm(theirs: nn.LayerNorm, ours: nn.LayerNorm) -> None:
    theirs.load_state_dict(ours.state_dict())


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_layers_equal_those_of_pytorch(norm, activation):
    model = small_model(norm=norm, activation=activation, dtype=torch.float32)
    options = {
        "d_model": 16,
        "nhead": 2,
        "dim_feedforward": 24,
        "dropout": 0.0,
        "activation": activation,
        "batch_first": True,
        "norm_first": norm == "pre",
    }
    ours = model.encoder[0]
    theirs = nn.TransformerEncoderLayer(**options).eval()
    own = ours.self_attention
    copy_attention(theirs.self_attn, [own.qkv.weight.data], [own.qkv.bias.data], own.output)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    copy_norm(theirs.norm1, ours.self_norm)
    copy_norm(theirs.norm2, ours.ffn_norm)
    memory, stream = torch.randn(2, 5, 16), torch.randn(2, 7, 16)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    expected = theirs(memory, src_key_padding_mask=~mask)
    found = ours(memory, mask[:, None, None, :], None, "", False)
    assert (found - expected)[mask].abs().max() < 1e-5

    ours = model.decoder[1]
    theirs = nn.TransformerDecoderLayer(**options).eval()
    own, cross = ours.self_attention, ours.cross_attention
    copy_attention(theirs.self_attn, [own.qkv.weight.data], [own.qkv.bias.data], own.output)
    copy_attention(
        theirs.multihead_attn,
        [cross.query.weight.data, cross.kv.weight.data],
        [cross.query.bias.data, cross.kv.bias.data],
        cross.output,
    )
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for norm_theirs, norm_ours in (("norm1", "self_norm"), ("norm2", "cross_norm"), ("norm3", "ffn_norm")):
        copy_norm(getattr(theirs, norm_theirs), getattr(ours, norm_ours))
    causal = torch.ones(7, 7, dtype=torch.bool).tril()
    expected = theirs(stream, memory, tgt_mask=~causal, memory_key_padding_mask=~mask)
    keys, values = cross.keys_values(memory)
    found = ours(stream, causal, keys, values, mask[:, None, None, :], None, "")
    assert (found - expected).abs().max() < 1e-5


@pytest.mark.parametrize("width", [2, 16, 128])
def test_the_sinusoidal_table_is_the_closed_form(width):
    from atlas.model.positions import sinusoidal_table

    expected = np.array([position(place, width) for place in range(300)])
    assert np.abs(sinusoidal_table(300, width, torch.float64).numpy() - expected).max() < 1e-11
    single = sinusoidal_table(300, width)
    assert single.dtype == torch.float32 and single.shape == (300, width)
    assert np.abs(single.numpy() - expected).max() < 1e-7
