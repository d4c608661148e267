"""One attention sub-layer, step by step in float64, and how far each step is from what the model did.

From the vectors that the sub-layer read, its weights and the recorded q, k and v, every step of multi-head
attention (Vaswani et al. 2017, section 3.2) is computed again in NumPy, in double precision, and compared
with what the recorder saw during the pass, in the model's own precision. Nothing of the model's arithmetic is
called.

``R`` is the number of queries (rows), ``N`` the number of keys: ``S`` and ``S`` in the encoder, ``T`` and
``T`` in decoder self-attention, ``T`` and ``S`` in cross-attention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.analysis.comparison import Check, compare
from atlas.analysis.passes import ForcedPass
from atlas.errors import AtlasError
from atlas.model.attention import CrossAttention, SelfAttention
from atlas.model.layers import DecoderLayer, EncoderLayer
from atlas.model.recorder import point
from atlas.model.transformer import Transformer
from atlas.trace.views import Kind

Doubles = NDArray[np.float64]
Floats = NDArray[np.float32]
Step = Literal["vector", "project", "dot", "scale", "mask", "softmax", "mix", "join"]

STEPS: tuple[Step, ...] = ("vector", "project", "dot", "scale", "mask", "softmax", "mix", "join")
"""The steps of a sub-layer in the order in which they happen."""
WANTED = ("q", "k", "v", "scores", "weights", "heads", "input", "change", "sum", "residual", "embedded")
"""Kinds of point that a pass must hold, beside ``memory``."""


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """Every number of one attention sub-layer.

    Attributes:
        kind: which attention.
        layer: counted from 0.
        pre: whether the sub-layer reads a normalised stream (pre-norm) or the stream itself (post-norm).
        stream: ``(R, D)`` the residual stream before the sub-layer, as recorded.
        read: ``(R, D)`` what the queries are made of, as recorded.
        source: ``(N, D)`` what keys and values are made of: ``read`` again, or the encoder's output.
        q: ``(H, R, K)``, k: ``(H, N, K)``, v: ``(H, N, K)`` as recorded.
        dots: ``(H, R, N)`` q·k.
        scaled: ``(H, R, N)`` q·k/sqrt(K).
        visible: ``(R, N)`` whether a query may see a key.
        masked: ``(H, R, N)`` ``scaled``, with -inf where it may not.
        weights: ``(H, R, N)`` softmax of ``masked``.
        mixed: ``(H, R, K)`` weighted sums of values.
        output: ``(D, D)`` W^O as in ``concat @ output``, bias: ``(D,)``.
        change: ``(R, D)`` what the sub-layer adds.
        checks: for each step, over all heads and words of the sub-layer.
        added: the weights that the model used, beside those under a mask of 0 and -inf that is added to the
            scores.
    """

    kind: Kind
    layer: int
    pre: bool
    stream: Floats
    read: Floats
    source: Floats
    q: Floats
    k: Floats
    v: Floats
    dots: Doubles
    scaled: Doubles
    visible: NDArray[np.bool_]
    masked: Doubles
    weights: Doubles
    mixed: Doubles
    output: Doubles
    bias: Doubles
    change: Doubles
    checks: dict[Step, Check]
    added: Check

    @property
    def heads(self) -> int:
        """H."""
        return len(self.q)

    @property
    def head_width(self) -> int:
        """K."""
        return self.q.shape[-1]

    @property
    def concat(self) -> Doubles:
        """``(R, H * K)``: the weighted sums of all heads side by side."""
        return self.mixed.transpose(1, 0, 2).reshape(self.mixed.shape[1], -1)

    def products(self, head: int, query: int, key: int) -> Doubles:
        """``(K,)``: what each dimension adds to q·k; the sum is ``dots[head, query, key]``."""
        return self.q[head, query].astype(np.float64) * self.k[head, key]

    def contributions(self, head: int, query: int) -> Doubles:
        """``(N, K)``: the value of each key times its weight; the sum over keys is ``mixed``."""
        return self.weights[head, query, :, None] * self.v[head]

    def parts(self, query: int) -> Doubles:
        """``(H, D)``: what each head adds to the stream; with the bias they sum to ``change[query]``."""
        blocks = self.output.reshape(self.heads, self.head_width, -1)
        return np.einsum("hk,hkd->hd", self.mixed[:, query], blocks)


def softmax(scores: Doubles) -> Doubles:
    """``exp(s_j) / sum_j exp(s_j)`` over the last axis; a row of -inf alone gives zeros."""
    top = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(top), top, 0.0))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total > 0, total, 1.0)


def attention_steps(model: Transformer, passed: ForcedPass, kind: Kind, layer: int) -> AttentionSteps:
    """Compute a sub-layer again from what a pass recorded: projections from the vectors that were read, all
    later steps from the recorded q, k and v.

    Args:
        model: that made the pass; only its weights are read.
        passed: with the kinds of point of :data:`WANTED` and ``memory``.
        kind: which attention.
        layer: counted from 0.

    Raises:
        AtlasError: the model has no such layer.
    """
    weights_of = _weights(model, kind, layer)
    name = point(kind, layer)
    pre = model.config.norm == "pre"
    stream = passed[_before(kind, layer)]
    read = passed[f"{name}.input"]
    source = passed["encoder.memory"] if kind == "cross" else read
    q, k, v = (passed[f"{name}.{what}"] for what in ("q", "k", "v"))
    projected = [
        _split(vectors.astype(np.float64) @ weight.T + bias, len(q))
        for vectors, weight, bias in zip(
            (read, source, source), weights_of.weight, weights_of.bias, strict=True
        )
    ]
    dots = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1)
    root = math.sqrt(q.shape[-1])
    scaled = dots / root
    visible = np.ones(dots.shape[1:], dtype=bool)
    if kind == "decoder" and model.config.causal:
        visible = np.tril(visible)
    masked = np.where(visible, scaled, -np.inf)
    weights = softmax(masked)
    mixed = weights @ v.astype(np.float64)
    change = mixed.transpose(1, 0, 2).reshape(len(read), -1) @ weights_of.output + weights_of.output_bias
    total = stream + change

    scores = passed[f"{name}.scores"].astype(np.float64)
    residual = total if pre else weights_of.norm(total)
    checks: dict[Step, Check] = {
        "vector": compare(weights_of.norm(stream) if pre else stream, read),
        "project": compare(np.concatenate(projected, axis=1), np.concatenate([q, k, v], axis=1)),
        "dot": compare(dots, scores * root, visible),
        "scale": compare(scaled, scores, visible),
        "mask": compare(masked, scores),
        "softmax": compare(weights, passed[f"{name}.weights"]),
        "mix": compare(mixed, passed[f"{name}.heads"]),
        "join": compare(
            np.concatenate([change, total, residual]),
            np.concatenate([passed[f"{name}.{what}"] for what in ("change", "sum", "residual")]),
        ),
    }
    return AttentionSteps(
        kind=kind,
        layer=layer,
        pre=pre,
        stream=stream,
        read=read,
        source=source,
        q=q,
        k=k,
        v=v,
        dots=dots,
        scaled=scaled,
        visible=visible,
        masked=masked,
        weights=weights,
        mixed=mixed,
        output=weights_of.output,
        bias=weights_of.output_bias,
        change=change,
        checks=checks,
        added=compare(softmax(scaled + np.where(visible, 0.0, -np.inf)), passed[f"{name}.weights"]),
    )


@dataclass(frozen=True)
class _Weights:
    """Weights of a sub-layer in float64: q, k and v maps ``(3, D, D)`` as in ``weight @ vector``, ``(3, D)``;
    W^O ``(D, D)`` as in ``concat @ output``, ``(D,)``; gain and shift ``(D,)`` of its layer normalisation.
    """

    weight: Doubles
    bias: Doubles
    output: Doubles
    output_bias: Doubles
    gain: Doubles
    shift: Doubles
    epsilon: float

    def norm(self, vectors: NDArray[np.floating]) -> Doubles:
        """Layer normalisation (Ba et al. 2016) over the last axis, with the biased variance."""
        centred = vectors - vectors.mean(axis=-1, keepdims=True, dtype=np.float64)
        spread = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + self.epsilon)
        normal: Doubles = centred / spread * self.gain + self.shift
        return normal


def _weights(model: Transformer, kind: Kind, layer: int) -> _Weights:
    layers = model.encoder if kind == "encoder" else model.decoder
    if not 0 <= layer < len(layers):
        side = "encoder" if kind == "encoder" else "decoder"
        raise AtlasError(f"layer {layer + 1} is not here: the {side} has {len(layers)} layers")
    attention: SelfAttention | CrossAttention
    if kind == "cross":
        crossing = cast(DecoderLayer, layers[layer])
        attention, norm = crossing.cross_attention, crossing.cross_norm
        linears = [attention.query, attention.kv]
    else:
        block = cast(EncoderLayer | DecoderLayer, layers[layer])
        attention, norm = block.self_attention, block.self_norm
        linears = [attention.qkv]
    width = model.config.width
    return _Weights(
        weight=np.concatenate([_double(linear.weight) for linear in linears]).reshape(3, width, width),
        bias=np.concatenate([_double(linear.bias) for linear in linears]).reshape(3, width),
        output=_double(attention.output.weight).T,
        output_bias=_double(attention.output.bias),
        gain=_double(norm.weight),
        shift=_double(norm.bias),
        epsilon=norm.eps,
    )


def _before(kind: Kind, layer: int) -> str:
    """The point that holds the residual stream before a sub-layer."""
    if kind == "cross":
        return f"decoder.{layer}.self.residual"
    return f"{kind}.{layer - 1}.ffn.residual" if layer else f"{kind}.embedded"


def _split(vectors: Doubles, heads: int) -> Doubles:
    """``(N, D)`` -> ``(H, N, K)``."""
    return vectors.reshape(len(vectors), heads, -1).transpose(1, 0, 2)


def _double(tensor: torch.Tensor) -> Doubles:
    array: Doubles = tensor.detach().cpu().double().numpy()
    return array
