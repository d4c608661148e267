"""Our layers and stacks against PyTorch's own, with the same weights, in float32 and to 1e-5.

``nn.TransformerEncoder`` and ``nn.TransformerDecoder`` are a second implementation of the same paper:
post- and pre-norm, ReLU and GELU, padding on either side, causal masks, layer by layer and whole.
"""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from atlas.model import Transformer
from atlas.model.attention import CrossAttention, SelfAttention, causal_mask
from atlas.model.layers import DecoderLayer, EncoderLayer
from tests.model.reference import small_model

TOLERANCE = 1e-5
WIDTH, HEADS, FFN = 16, 2, 24
SOURCE_LENGTHS, TARGET_LENGTHS = (6, 4, 1), (5, 7, 3)

pytestmark = [
    pytest.mark.parametrize("norm", ["post", "pre"]),
    pytest.mark.parametrize("activation", ["relu", "gelu"]),
]


def options(norm: str, activation: str) -> dict[str, object]:
    """What PyTorch calls the description of our small model."""
    sizes = {"d_model": WIDTH, "nhead": HEADS, "dim_feedforward": FFN, "dropout": 0.0, "batch_first": True}
    return sizes | {"activation": activation, "norm_first": norm == "pre"}


def real(lengths: tuple[int, ...]) -> Tensor:
    """True at real tokens of a padded batch: ``(B, longest)``."""
    return torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]


def give_attention(theirs: nn.MultiheadAttention, ours: SelfAttention | CrossAttention) -> None:
    """Copy weights: PyTorch keeps W^Q, W^K and W^V stacked in one matrix."""
    parts = [ours.qkv] if isinstance(ours, SelfAttention) else [ours.query, ours.kv]
    theirs.load_state_dict(
        {
            "in_proj_weight": torch.cat([part.weight for part in parts]),
            "in_proj_bias": torch.cat([part.bias for part in parts]),
            "out_proj.weight": ours.output.weight,
            "out_proj.bias": ours.output.bias,
        }
    )


def their_encoder_layer(ours: EncoderLayer, **described: object) -> nn.TransformerEncoderLayer:
    theirs = nn.TransformerEncoderLayer(**described)
    give_attention(theirs.self_attn, ours.self_attention)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.norm1.load_state_dict(ours.self_norm.state_dict())
    theirs.norm2.load_state_dict(ours.ffn_norm.state_dict())
    return theirs.eval()


def their_decoder_layer(ours: DecoderLayer, **described: object) -> nn.TransformerDecoderLayer:
    theirs = nn.TransformerDecoderLayer(**described)
    give_attention(theirs.self_attn, ours.self_attention)
    give_attention(theirs.multihead_attn, ours.cross_attention)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.norm1.load_state_dict(ours.self_norm.state_dict())
    theirs.norm2.load_state_dict(ours.cross_norm.state_dict())
    theirs.norm3.load_state_dict(ours.ffn_norm.state_dict())
    return theirs.eval()


def their_norm(ours: nn.LayerNorm | nn.Identity) -> nn.LayerNorm | None:
    """The norm at the end of a stack, which only a pre-norm model has."""
    if isinstance(ours, nn.Identity):
        return None
    theirs = nn.LayerNorm(ours.normalized_shape, dtype=ours.weight.dtype)
    theirs.load_state_dict(ours.state_dict())
    return theirs


def their_stacks(
    model: Transformer, described: dict[str, object]
) -> tuple[nn.TransformerEncoder, nn.TransformerDecoder]:
    """PyTorch's whole encoder and decoder with our weights, layer by layer."""
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**described),
        len(model.encoder),
        norm=their_norm(model.encoder_norm),
        enable_nested_tensor=False,
    )
    encoder.layers = nn.ModuleList(their_encoder_layer(layer, **described) for layer in model.encoder)
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(**described), len(model.decoder), norm=their_norm(model.decoder_norm)
    )
    decoder.layers = nn.ModuleList(their_decoder_layer(layer, **described) for layer in model.decoder)
    return encoder.eval(), decoder.eval()


def furthest(found: Tensor, expected: Tensor, where: Tensor) -> float:
    """Largest absolute difference at real tokens; the two must not agree by saying nothing."""
    assert expected[where].abs().max().item() > 0.1
    return (found - expected)[where].abs().max().item()


@pytest.fixture
def model(norm: str, activation: str) -> Transformer:
    return small_model(norm=norm, activation=activation, dtype=torch.float32)


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
def test_an_encoder_layer(model: Transformer, norm: str, activation: str, explicit: bool) -> None:
    mask = real(SOURCE_LENGTHS)
    stream = torch.randn(len(SOURCE_LENGTHS), max(SOURCE_LENGTHS), WIDTH)
    for ours in model.encoder:
        theirs = their_encoder_layer(ours, **options(norm, activation))
        expected = theirs(stream, src_key_padding_mask=~mask)
        found = ours(stream, mask[:, None, None, :], None, "", explicit)
        assert furthest(found, expected, mask) < TOLERANCE


@pytest.mark.parametrize("explicit", [True, False], ids=["explicit", "fused"])
def test_a_decoder_layer(model: Transformer, norm: str, activation: str, explicit: bool) -> None:
    source, target = real(SOURCE_LENGTHS), real(TARGET_LENGTHS)
    memory = torch.randn(len(SOURCE_LENGTHS), source.shape[1], WIDTH)
    stream = torch.randn(len(TARGET_LENGTHS), target.shape[1], WIDTH)
    causal = causal_mask(target.shape[1], target.shape[1])
    for ours in model.decoder:
        theirs = their_decoder_layer(ours, **options(norm, activation))
        expected = theirs(
            stream,
            memory,
            tgt_mask=~causal,
            tgt_key_padding_mask=~target,
            memory_key_padding_mask=~source,
        )
        keys, values = ours.cross_attention.keys_values(memory)
        visible = causal & target[:, None, None, :]
        found = ours(stream, visible, keys, values, source[:, None, None, :], None, "", explicit=explicit)
        assert furthest(found, expected, target) < TOLERANCE


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_the_whole_model_from_ids_to_logits(norm: str, activation: str, tied: bool) -> None:
    """Both stacks as the model runs them: embeddings times sqrt(D) plus positions in, logits out."""
    model = small_model(norm=norm, activation=activation, tied=tied, dtype=torch.float32)
    source, target = real(SOURCE_LENGTHS), real(TARGET_LENGTHS)
    source_ids = torch.randint(model.config.vocabulary, source.shape)
    target_ids = torch.randint(model.config.vocabulary, target.shape)
    encoder, decoder = their_stacks(model, options(norm, activation))

    def embedded(table: nn.Embedding, ids: Tensor) -> Tensor:
        assert model.position_table is not None
        return table(ids) * math.sqrt(WIDTH) + model.position_table[: ids.shape[1]]

    expected_memory = encoder(embedded(model.source_embedding, source_ids), src_key_padding_mask=~source)
    expected = decoder(
        embedded(model.target_embedding, target_ids),
        expected_memory,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1]).isinf(),
        memory_key_padding_mask=~source,
    )
    memory = model.encode(source_ids, source)
    assert furthest(memory, expected_memory, source) < TOLERANCE
    found = model.decode(target_ids, memory, source)
    assert furthest(found, expected, target) < TOLERANCE
    logits = model(source_ids, source, target_ids)
    assert furthest(logits, expected @ model.unembedding.T, target) < TOLERANCE


def test_gradients_agree_as_well(model: Transformer, norm: str, activation: str) -> None:
    """What the page on gradients measures on our layers is what PyTorch's would give."""
    encoder, _ = their_stacks(model, options(norm, activation))
    stream = torch.randn(2, 6, WIDTH)
    ours = stream.clone().requires_grad_()
    theirs = stream.clone().requires_grad_()
    found = ours
    for layer in model.encoder:
        found = layer(found, None, None, "", True)
    weights = torch.randn_like(stream)
    (model.encoder_norm(found) * weights).sum().backward()
    (encoder(theirs) * weights).sum().backward()
    assert ours.grad is not None and theirs.grad is not None
    assert furthest(ours.grad, theirs.grad, torch.ones(2, 6, dtype=torch.bool)) < TOLERANCE
    for mine, other in zip(model.encoder, encoder.layers, strict=True):
        inner = mine.feed_forward.inner.weight.grad
        assert (inner - other.linear1.weight.grad).abs().max() < TOLERANCE * inner.abs().max().clamp(min=1)
