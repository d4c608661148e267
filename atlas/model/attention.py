"""Scaled dot-product attention over several heads (Vaswani et al. 2017, section 3.2)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from atlas.model.cache import LayerCache
from atlas.model.recorder import Recorder
from atlas.model.softmax import softmax


def causal_mask(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Which key each query may see when the last query stands at the last key: ``(T, keys)``, True where
    visible.

    Aligned at the bottom right, so it also holds for the last ``queries`` tokens of a longer, cached text.
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    recorder: Recorder | None = None,
    name: str = "",
    *,
    explicit: bool = False,
) -> Tensor:
    """``softmax(q k^T / sqrt(K)) v`` (equation 1), with hidden keys at exactly zero.

    Args:
        query: ``(B, H, T, K)``.
        key: ``(B, H, S, K)``; value: the same shape.
        mask: boolean, broadcastable to ``(B, H, T, S)``, True where a key is visible. A query that sees no
            key gets zeros.
        recorder: when given, q, k, v, scores, weights and heads are recorded under ``name`` (and edited, if
            it says so) and the softmax is explicit.
        explicit: use the explicit softmax without recording (on a CPU it trains faster on short sentences).

    Returns:
        ``(B, H, T, K)``.
    """
    if recorder is None and not explicit:
        return scaled_dot_product_attention(query, key, value, attn_mask=mask)
    if recorder is not None:
        query, key, value = (
            recorder(f"{name}.{what}", tensor) for what, tensor in (("q", query), ("k", key), ("v", value))
        )
    scores = (query @ key.transpose(-1, -2)).mul_(1.0 / math.sqrt(query.shape[-1]))
    return weigh(scores, value, mask, recorder, name)


def weigh(
    scores: Tensor, value: Tensor, mask: Tensor | None, recorder: Recorder | None = None, name: str = ""
) -> Tensor:
    """``softmax(scores) v``, whatever the scores were made of, with hidden keys at exactly zero.

    Args:
        scores: ``(B, H, T, S)``, of no use afterwards: they are masked where they lie.
        value: ``(B, H, S, K)``.
        mask: boolean, broadcastable to ``(B, H, T, S)``, True where a key is visible. A query that sees no
            key gets zeros.
        recorder: when given, scores, weights and heads are recorded under ``name``.

    Returns:
        ``(B, H, T, K)``.
    """
    hidden = None if mask is None else ~mask
    blind = None
    if hidden is not None and hidden.any():
        blind = hidden.all(-1, keepdim=True)
        if blind.any():
            scores = scores.masked_fill(hidden, -math.inf)
        else:  # an addition costs a tenth of masked_fill, and nothing on the way back
            blind = None
            scores = scores.add_(torch.zeros_like(hidden, dtype=scores.dtype).masked_fill_(hidden, -math.inf))
    if recorder is not None:
        scores = recorder(f"{name}.scores", scores)
    weights = softmax(scores)
    if blind is not None:
        weights = weights.masked_fill(blind, 0.0)
    if recorder is None:
        return weights @ value
    weights = recorder(f"{name}.weights", weights)
    return recorder(f"{name}.heads", weights @ value)


class _Heads(nn.Module):
    """What both kinds share: cutting a stream into heads and joining them again."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.output = nn.Linear(width, width)

    def split(self, stream: Tensor, parts: int) -> tuple[Tensor, ...]:
        """``(B, T, parts * D)`` -> ``parts`` tensors ``(B, H, T, K)``."""
        batch, length, _ = stream.shape
        return stream.view(batch, length, parts, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def join(self, heads: Tensor) -> Tensor:
        """``(B, H, T, K)`` -> ``(B, T, D)``, projected by W^O."""
        return self.output(heads.transpose(1, 2).flatten(2))


class SelfAttention(_Heads):
    """Queries, keys and values from one stream, in one fused projection."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads)
        self.qkv = nn.Linear(width, 3 * width)
        for block in self.qkv.weight.data.chunk(3):
            nn.init.xavier_uniform_(block)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.qkv.bias)
        nn.init.zeros_(self.output.bias)

    def forward(
        self,
        stream: Tensor,
        mask: Tensor | None,
        recorder: Recorder | None = None,
        name: str = "",
        *,
        memory: LayerCache | None = None,
        past: int = 0,
        explicit: bool = False,
    ) -> Tensor:
        """``(B, T, D)`` -> ``(B, T, D)``; with ``memory``, keys and values are appended after ``past``
        tokens.
        """
        query, key, value = self.split(self.qkv(stream), 3)
        if memory is not None:
            length = past + stream.shape[1]
            memory.keys[:, :, past:length] = key
            memory.values[:, :, past:length] = value
            key, value = memory.keys[:, :, :length], memory.values[:, :, :length]
        return self.join(attend(query, key, value, mask, recorder, name, explicit=explicit))


class CrossAttention(_Heads):
    """Queries from the decoder, keys and values from the encoder's output."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width, heads)
        self.query = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        for block in (self.query.weight.data, *self.kv.weight.data.chunk(2), self.output.weight.data):
            nn.init.xavier_uniform_(block)
        for linear in (self.query, self.kv, self.output):
            nn.init.zeros_(linear.bias)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, ...]:
        """``(B, S, D)`` -> keys and values, ``(B, H, S, K)`` each."""
        return self.split(self.kv(memory), 2)

    def forward(
        self,
        stream: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        recorder: Recorder | None = None,
        name: str = "",
        *,
        beams: int = 1,
        explicit: bool = False,
    ) -> Tensor:
        """``(B * beams, T, D)`` with keys of B sentences -> ``(B * beams, T, D)``.

        The beams of one sentence ask as if they were more queries of it, so its keys are never copied.
        """
        rows, length, _ = stream.shape
        (query,) = self.split(self.query(stream), 1)
        if beams > 1:
            query = query.unflatten(0, (-1, beams)).transpose(1, 2).flatten(2, 3)
        heads = attend(query, keys, values, mask, recorder, name, explicit=explicit)
        if beams > 1:
            heads = heads.unflatten(2, (beams, length)).transpose(1, 2).flatten(0, 1)
        return self.join(heads)
