"""Encoder and decoder layers: sub-layers around a residual stream (Vaswani et al. 2017, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from atlas.model.attention import CrossAttention, SelfAttention
from atlas.model.cache import LayerCache
from atlas.model.config import TransformerConfig
from atlas.model.recorder import Recorder


def fast_dropout(stream: Tensor, probability: float) -> Tensor:
    """Dropout (Srivastava et al. 2014) from one random byte an element, cheaper on a CPU than a Bernoulli
    draw.

    The probability is rounded to 1/256, at most 255/256; survivors are scaled by its inverse, so the
    expectation is exact.
    """
    threshold = min(round(probability * 256), 255)
    if threshold == 0:
        return stream
    if stream.device.type != "cpu":
        return functional.dropout(stream, probability)
    words = torch.empty((stream.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    kept = (words.view(torch.uint8)[: stream.numel()] >= threshold).view(stream.shape)
    return stream * kept.to(stream.dtype).mul_(256 / (256 - threshold))


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between them (equation 2)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.width, config.ffn)
        self.outer = nn.Linear(config.ffn, config.width)
        self.activation: Callable[[Tensor], Tensor] = (
            functional.gelu if config.activation == "gelu" else functional.relu
        )
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, stream: Tensor, recorder: Recorder | None = None, name: str = "") -> Tensor:
        """``(B, T, D)`` -> ``(B, T, D)``."""
        hidden = self.activation(self.inner(stream))
        if recorder is not None:
            hidden = recorder(f"{name}.hidden", hidden)
        return self.outer(hidden)


class _Layer(nn.Module):
    """A residual stream with sub-layers added to it, normalised before or after."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.dropout = config.dropout

    def add(
        self,
        stream: Tensor,
        norm: nn.LayerNorm,
        block: Callable[[Tensor], Tensor],
        recorder: Recorder | None,
        name: str,
    ) -> Tensor:
        """One residual step: ``x + f(norm(x))`` (pre) or ``norm(x + f(x))`` (post)."""
        read = norm(stream) if self.pre else stream
        if recorder is not None:
            read = recorder(f"{name}.input", read)
        change = block(read)
        if self.training:
            change = fast_dropout(change, self.dropout)
        if recorder is not None:
            change = recorder(f"{name}.change", change)
        stream = stream + change
        if recorder is not None:
            stream = recorder(f"{name}.sum", stream)
        if not self.pre:
            stream = norm(stream)
        return stream if recorder is None else recorder(f"{name}.residual", stream)


class EncoderLayer(_Layer):
    """Self-attention, then feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.self_attention = SelfAttention(config.width, config.heads)
        self.feed_forward = FeedForward(config)
        self.self_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.ffn_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)

    def forward(
        self, stream: Tensor, mask: Tensor | None, recorder: Recorder | None, name: str, explicit: bool
    ) -> Tensor:
        """``(B, S, D)`` -> ``(B, S, D)``."""
        stream = self.add(
            stream,
            self.self_norm,
            lambda x: self.self_attention(x, mask, recorder, f"{name}.self", explicit=explicit),
            recorder,
            f"{name}.self",
        )
        return self.add(
            stream,
            self.ffn_norm,
            lambda x: self.feed_forward(x, recorder, f"{name}.ffn"),
            recorder,
            f"{name}.ffn",
        )


class DecoderLayer(_Layer):
    """Masked self-attention, attention to the source, then feed-forward."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.self_attention = SelfAttention(config.width, config.heads)
        self.cross_attention = CrossAttention(config.width, config.heads)
        self.feed_forward = FeedForward(config)
        self.self_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.cross_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)
        self.ffn_norm = nn.LayerNorm(config.width, eps=config.norm_epsilon)

    def forward(
        self,
        stream: Tensor,
        self_mask: Tensor | None,
        keys: Tensor,
        values: Tensor,
        cross_mask: Tensor | None,
        recorder: Recorder | None,
        name: str,
        *,
        memory: LayerCache | None = None,
        past: int = 0,
        beams: int = 1,
        explicit: bool = False,
    ) -> Tensor:
        """``(B * beams, T, D)`` with source keys and values ``(B, H, S, K)`` -> ``(B * beams, T, D)``."""
        stream = self.add(
            stream,
            self.self_norm,
            lambda x: self.self_attention(
                x, self_mask, recorder, f"{name}.self", memory=memory, past=past, explicit=explicit
            ),
            recorder,
            f"{name}.self",
        )
        stream = self.add(
            stream,
            self.cross_norm,
            lambda x: self.cross_attention(
                x, keys, values, cross_mask, recorder, f"{name}.cross", beams=beams, explicit=explicit
            ),
            recorder,
            f"{name}.cross",
        )
        return self.add(
            stream,
            self.ffn_norm,
            lambda x: self.feed_forward(x, recorder, f"{name}.ffn"),
            recorder,
            f"{name}.ffn",
        )
