"""The feed-forward network as a memory of keys and values (Geva et al. 2021).

``FFN(x) = f(x W1 + b1) W2 + b2`` (Vaswani et al. 2017, equation 2) is a sum over F units: unit ``i`` compares
``x`` with its key, column ``i`` of ``W1``, and by the outcome ``a_i`` adds its value, row ``i`` of ``W2``.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from atlas.analysis.forward import Side
from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.errors import AtlasError
from atlas.model.layers import DecoderLayer, EncoderLayer, FeedForward
from atlas.model.transformer import Transformer

Floats = NDArray[np.floating[Any]]


class UnitError(AtlasError):
    """A layer or a unit that the model does not have."""


def feed_forward(model: Transformer, side: Side, layer: int) -> FeedForward:
    """The feed-forward network of a layer, counted from 0.

    Raises:
        UnitError: there is no such layer.
    """
    stack = model.encoder if side == "encoder" else model.decoder
    if not 0 <= layer < len(stack):
        raise UnitError(f"the {side} has layers 0 to {len(stack) - 1}, no layer {layer}")
    return cast(EncoderLayer | DecoderLayer, stack[layer]).feed_forward


def silent_shares(hidden: Floats) -> Floats:
    """Share of units that add nothing, exactly 0 after the activation: ``(T, F)`` -> ``(T,)``.

    Only ReLU has silent units; GELU (Hendrycks and Gimpel 2016) is 0 at 0 and far below it alone.
    """
    return np.asarray((hidden == 0).mean(axis=-1), dtype=np.float64)


@dataclass(frozen=True)
class Strongest:
    """The units that write most for one token, most first.

    Attributes:
        units: ``(n,)``, their numbers.
        activations: ``(n,)``, ``a_i``.
        sizes: ``(n,)``, ``|a_i| · ‖W2 row i‖``, the norm of what each adds to the stream.
    """

    units: NDArray[np.int64]
    activations: Floats
    sizes: Floats


def strongest_units(network: FeedForward, hidden: Floats, count: int) -> Strongest:
    """The ``count`` units that add the longest vectors, for the activations ``(F,)`` of one token."""
    values = network.outer.weight.detach().float().cpu().numpy()
    sizes = np.abs(hidden) * np.linalg.norm(values, axis=0)
    order = np.argsort(-sizes, kind="stable")[:count]
    return Strongest(order, hidden[order], sizes[order])


@dataclass(frozen=True)
class Promoted:
    """Tokens that a vector pushes up most, most first: ``ids`` and ``scores`` (dot products), both
    ``(n,)``."""

    ids: NDArray[np.int64]
    scores: Floats


@torch.inference_mode()
def promoted_tokens(model: Transformer, side: Side, layer: int, unit: int, count: int) -> Promoted:
    """A unit's value read through the output vocabulary: the largest of ``U · W2 row``.

    This is what the unit would add to the logits if nothing came after it (Geva et al. 2021, section 4). What
    comes after it in the model is left out: later layers, and the final normalisation of a pre-norm model.

    Raises:
        UnitError: there is no such layer or unit.
    """
    network = feed_forward(model, side, layer)
    units = network.outer.in_features
    if not 0 <= unit < units:
        raise UnitError(f"the layer has units 0 to {units - 1}, no unit {unit}")
    scores = model.logits(network.outer.weight[:, unit]).float().cpu().numpy()
    order = np.argsort(-scores, kind="stable")[:count]
    return Promoted(order, scores[order])


@torch.inference_mode()
def sums(model: Transformer, done: ForcedPass, side: Side, layer: int) -> Floats:
    """What goes into the activation, ``x W1 + b1``, ``(T, F)``, of a pass that kept ``input``.

    Raises:
        UnitError: there is no such layer.
    """
    network = feed_forward(model, side, layer)
    read = torch.from_numpy(done[f"{side}.{layer}.ffn.input"]).to(model.unembedding)
    return network.inner(read).float().cpu().numpy()


def relu(values: Floats) -> Floats:
    """``max(0, x)``."""
    return np.maximum(values, 0)


def gelu(values: Floats) -> Floats:
    """``x · Φ(x)`` with the normal distribution function Φ (Hendrycks and Gimpel 2016), not its
    approximation."""
    return functional.gelu(torch.from_numpy(np.asarray(values, dtype=np.float64))).numpy()


@dataclass(frozen=True)
class Swap:
    """What the other activation, ReLU for GELU or GELU for ReLU, would do to a trained model.

    Attributes:
        largest: largest absolute difference of the two activations over all units and tokens of a layer.
        output: norm of the difference of the layer's FFN outputs over the norm of its own, over all tokens.
        agree: share of positions whose likeliest next token stays, with all layers changed.
        before, after: probability of the token that followed the last position, with the model's own
            activation and with the other in all layers.
    """

    largest: float
    output: float
    agree: float
    before: float
    after: float


@torch.inference_mode()
def activation_swap(
    model: Transformer, done: ForcedPass, side: Side, layer: int, following: Sequence[int]
) -> Swap:
    """Put the other activation into a trained model, without training it again.

    Args:
        model: that made the pass; a copy of it is changed.
        done: a pass that kept ``input`` and ``hidden``.
        side, layer: the layer whose units are compared.
        following: ``(T,)``, the token that followed each position.

    Raises:
        UnitError: there is no such layer.
    """
    network = feed_forward(model, side, layer)
    other = functional.relu if model.config.activation == "gelu" else functional.gelu
    before = torch.from_numpy(done[f"{side}.{layer}.ffn.hidden"]).to(model.unembedding)
    after = other(torch.from_numpy(sums(model, done, side, layer)).to(model.unembedding))
    moved = (after - before) @ network.outer.weight.T
    changed = copy.deepcopy(model)
    for stack in (changed.encoder, changed.decoder):
        for one in stack:
            cast(EncoderLayer | DecoderLayer, one).feed_forward.activation = other
    again = forced_pass(changed, done.source_ids, done.target_ids[1:], wanted=())
    last = following[-1]
    return Swap(
        largest=float((after - before).abs().max()),
        output=float(moved.norm() / network.outer(before).norm()),
        agree=float((again.logits.argmax(axis=-1) == done.logits.argmax(axis=-1)).mean()),
        before=float(_softmax(done.logits[-1])[last]),
        after=float(_softmax(again.logits[-1])[last]),
    )


def _softmax(logits: Floats) -> Floats:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    return np.asarray(powers / powers.sum())
