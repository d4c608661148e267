"""The peer of training: the same model, made of PyTorch's own ``nn.Transformer``."""

from __future__ import annotations

import math
import warnings
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from atlas.errors import AtlasError
from atlas.model.attention import CrossAttention, SelfAttention
from atlas.model.config import TransformerConfig
from atlas.model.layers import DecoderLayer, EncoderLayer
from atlas.model.transformer import Transformer


class PeerError(AtlasError):
    """A shape that ``nn.Transformer`` cannot take."""


class TorchTransformer(nn.Module):
    """``nn.Transformer`` between a tied embedding and sinusoidal positions, with the methods that the
    training loop asks of a model.

    Dropout stands where ours does: after the embedding and after each sub-layer. ``nn.Transformer`` would
    drop attention weights and feed-forward units too; these two are set to zero, so that both models draw
    the same number of random numbers. Weights begin as those of ``model``: the two compute the same.

    Args:
        model: pre-norm, tied, sinusoidal; it is not changed.

    Raises:
        PeerError: the model is built otherwise.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        config = model.config
        if not (config.norm == "pre" and config.tied and config.positions == "sinusoidal" and config.causal):
            raise PeerError(
                "nn.Transformer is built here for pre-norm models with tied embeddings and sinusoidal "
                "positions"
            )
        self.config: TransformerConfig = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.register_buffer("position_table", model.position_table, persistent=False)
        self.dropout = nn.Dropout(config.dropout)
        with warnings.catch_warnings():  # it says that nested tensors, which serve prediction, are not used
            warnings.filterwarnings("ignore", message="enable_nested_tensor")
            self.core = nn.Transformer(
                config.width,
                config.heads,
                config.encoder_layers,
                config.decoder_layers,
                config.ffn,
                config.dropout,
                config.activation,
                layer_norm_eps=config.norm_epsilon,
                batch_first=True,
                norm_first=True,
            )
        for module in self.core.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0  # after the activation; those after sub-layers are numbered
        self._take_weights(model)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embedding.weight.device

    def _embed(self, ids: Tensor) -> Tensor:
        stream = self.embedding(ids) * math.sqrt(self.config.width)
        table = cast(Tensor, self.position_table)
        return cast(Tensor, self.dropout(stream + table[: ids.shape[1]].to(stream.dtype)))

    def encode(self, source: Tensor, mask: Tensor) -> Tensor:
        """``(B, S)`` ids and where they are real -> ``(B, S, D)``."""
        return cast(Tensor, self.core.encoder(self._embed(source), src_key_padding_mask=~mask))

    def decode(
        self, target: Tensor, memory: Tensor, mask: Tensor, *, target_mask: Tensor | None = None
    ) -> Tensor:
        """``(B, T)`` ids beside the source ``(B, S, D)`` -> ``(B, T, D)``; padding comes last and needs no
        mask.
        """
        del target_mask
        length = target.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        return cast(
            Tensor,
            self.core.decoder(
                self._embed(target),
                memory,
                tgt_mask=causal,
                tgt_is_causal=True,
                memory_key_padding_mask=~mask,
            ),
        )

    def logits(self, stream: Tensor) -> Tensor:
        """``(..., D)`` -> ``(..., V)``."""
        return linear(stream, self.embedding.weight)

    @torch.no_grad()
    def _take_weights(self, model: Transformer) -> None:
        self.embedding.weight.copy_(model.source_embedding.weight)
        encoder, decoder = self.core.encoder, self.core.decoder
        _same(encoder.norm, model.encoder_norm)
        _same(decoder.norm, model.decoder_norm)
        for peer, ours in zip(encoder.layers, model.encoder, strict=True):
            _take_layer(cast(nn.TransformerEncoderLayer, peer), cast(EncoderLayer, ours))
        for peer, ours in zip(decoder.layers, model.decoder, strict=True):
            layer, own = cast(nn.TransformerDecoderLayer, peer), cast(DecoderLayer, ours)
            _take_layer(layer, own)
            _attention(layer.multihead_attn, own.cross_attention)


def _take_layer(
    peer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer, ours: EncoderLayer | DecoderLayer
) -> None:
    """Self-attention, feed-forward and norms; a decoder layer has one norm more in the middle."""
    _attention(peer.self_attn, ours.self_attention)
    _same(peer.linear1, ours.feed_forward.inner)
    _same(peer.linear2, ours.feed_forward.outer)
    _same(peer.norm1, ours.self_norm)
    if isinstance(ours, DecoderLayer):
        _same(peer.norm2, ours.cross_norm)
        _same(cast(nn.Module, peer.norm3), ours.ffn_norm)
    else:
        _same(peer.norm2, ours.ffn_norm)


def _attention(peer: nn.MultiheadAttention, ours: SelfAttention | CrossAttention) -> None:
    parts = [ours.qkv] if isinstance(ours, SelfAttention) else [ours.query, ours.kv]
    cast(Tensor, peer.in_proj_weight).copy_(torch.cat([part.weight for part in parts]))
    cast(Tensor, peer.in_proj_bias).copy_(torch.cat([part.bias for part in parts]))
    _same(peer.out_proj, ours.output)


def _same(peer: nn.Module | None, ours: nn.Module) -> None:
    """Both have a weight and a bias."""
    assert peer is not None
    peer.load_state_dict(ours.state_dict())
