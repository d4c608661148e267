"""Gradients by layer in a Transformer that has just been initialised: post- against pre-norm, with residual
connections and without (after Xiong et al. 2020, figure 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from atlas.errors import AtlasError
from atlas.model.config import Norm, TransformerConfig
from atlas.model.recorder import Edit, Recorder
from atlas.model.seeded import drawn_from
from atlas.model.transformer import Transformer

Floats = NDArray[np.float64]
VOCABULARY, SENTENCES, LENGTH, HEADS = 200, 8, 16, 4
"""The task: a vocabulary of 200 random tokens, 8 pairs of sentences of 16 tokens, 4 heads a layer."""
DEEPEST = 100
WIDTHS = (32, 64)


class DepthError(AtlasError):
    """A stack of layers that is not built here."""


@dataclass(frozen=True)
class Gradients:
    """What one random model of ``layers + layers`` layers shows before its first step of training.

    Attributes:
        norm: ``post`` or ``pre``.
        residual: whether sub-layers are added to the stream, or replace it.
        encoder: ``(L,)``, the Euclidean norm of the gradient over all weights of each layer; decoder: the
            same.
        loss: in nats a token.
    """

    norm: Norm
    residual: bool
    encoder: Floats
    decoder: Floats
    loss: float

    def last_to_first(self, stack: str) -> float:
        """How many times larger the gradient of the last layer is than that of the first (``inf`` where the
        first is exactly zero)."""
        norms: Floats = getattr(self, stack)
        return float(norms[-1] / norms[0]) if norms[0] else math.inf


class _NoResidual:
    """Edits for a recorder that make a sub-layer's output replace the stream instead of being added to it."""

    def __init__(self, config: TransformerConfig) -> None:
        self._change: Tensor | None = None
        self.edits: dict[str, Edit] = {}
        blocks = {"encoder": ("self", "ffn"), "decoder": ("self", "cross", "ffn")}
        for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
            for layer in range(layers):
                for block in blocks[side]:
                    self.edits[f"{side}.{layer}.{block}.change"] = self._keep
                    self.edits[f"{side}.{layer}.{block}.sum"] = self._replace

    def _keep(self, change: Tensor) -> Tensor:
        self._change = change
        return change

    def _replace(self, added: Tensor) -> Tensor:
        change, self._change = self._change, None
        if change is None or change.shape != added.shape:
            raise RuntimeError("a sub-layer's sum came without its change")
        return change


def random_model(layers: int, width: int, norm: Norm, seed: int) -> Transformer:
    """A model as training would begin with it: Xavier-uniform matrices, embeddings of variance 1/D, F = 4D.

    In float64, so that even a gradient of 1e-200 is a number; without dropout.

    Raises:
        DepthError: fewer than 1 or more than 100 layers.
    """
    if not 1 <= layers <= DEEPEST:
        raise DepthError(f"a stack of 1 to {DEEPEST} layers, not {layers}")
    config = TransformerConfig(
        vocabulary=VOCABULARY,
        encoder_layers=layers,
        decoder_layers=layers,
        heads=HEADS,
        width=width,
        ffn=4 * width,
        dropout=0.0,
        norm=norm,
        max_length=LENGTH,
    )
    with drawn_from(seed):
        return Transformer(config).double()


def random_sentences(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source, decoder input and what is to be predicted, ``(B, S)`` random ids each."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(VOCABULARY, (SENTENCES, LENGTH), generator=generator)
    target = torch.randint(VOCABULARY, (SENTENCES, LENGTH + 1), generator=generator)
    return source, target[:, :-1], target[:, 1:]


def gradients(layers: int, width: int, norm: Norm, *, residual: bool, seed: int) -> Gradients:
    """One pass forwards and one back through a random model of ``layers + layers`` layers.

    The loss is the cross-entropy of random targets. Both norms and both kinds of stream begin with the same
    matrices and read the same sentences.

    Args:
        layers: L, of the encoder and of the decoder.
        width: D.
        norm: where layer normalisation stands.
        residual: False lets every sub-layer's output replace the stream: ``norm(f(x))`` or ``f(norm(x))``.
        seed: of matrices and sentences.

    Raises:
        DepthError: a number of layers that is not built here.
    """
    model = random_model(layers, width, norm, seed)
    source, read, expected = random_sentences(seed)
    recorder = None if residual else Recorder((), _NoResidual(model.config).edits)
    logits = model(source, torch.ones_like(source, dtype=torch.bool), read, recorder)
    loss = cross_entropy(logits.flatten(0, 1), expected.flatten())
    loss.backward()
    return Gradients(norm, residual, _norms(model.encoder), _norms(model.decoder), loss.item())


def _norms(stack: nn.ModuleList) -> Floats:
    norms = []
    for layer in stack:
        parts = [weight.grad.norm() for weight in layer.parameters() if weight.grad is not None]
        norms.append(torch.stack(parts).norm().item())
    return np.array(norms)


VARIANTS: tuple[tuple[Norm, bool], ...] = (("post", True), ("pre", True), ("post", False), ("pre", False))
"""What is compared: (norm, residual)."""


def all_gradients(
    layers: int, width: int, seed: int, progress: Callable[[int, int], None] | None = None
) -> tuple[Gradients, ...]:
    """:func:`gradients` of every variant, in the order of :data:`VARIANTS`.

    Args:
        progress: told (variants done, of how many).
    """
    found = []
    for done, (norm, residual) in enumerate(VARIANTS, 1):
        found.append(gradients(layers, width, norm, residual=residual, seed=seed))
        if progress:
            progress(done, len(VARIANTS))
    return tuple(found)
