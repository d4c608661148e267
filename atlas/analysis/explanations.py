"""Is attention an explanation? Seven readings of which source words a target token depends on.

All read one forced pass: the model is given the sentence and a translation, and ``T`` target tokens are
predicted from ``S`` source tokens. Each reading gives ``(T, S)`` numbers, or ``(T, W)`` where whole words are
taken; :func:`explain` adds pieces up to words and puts every row on one scale.

Attention is said not to be an explanation by Jain and Wallace (2019, "Attention is not Explanation"), who
compare it with gradients and with leaving inputs out, as is done here; Wiegreffe and Pinter (2019, "Attention
is not not Explanation") answer that it may still be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.decoding.candidates import log_probabilities
from atlas.errors import AtlasError
from atlas.model.layers import DecoderLayer
from atlas.model.recorder import Recorder
from atlas.model.transformer import Transformer
from atlas.text.batches import pad
from atlas.text.tokenizer import PAD_ID, START_ID

Numbers = NDArray[np.floating[Any]]
RESIDUAL: Final = 0.5
"""The share of a token in its own vector that rollout gives to the residual stream."""
_AT_ONCE: Final = 16

METHODS: Final[dict[str, str]] = {
    "attention": "attention, last but one layer",
    "attention_all": "attention, all layers",
    "norms": "attention × value norms, last but one layer",
    "norms_all": "attention × value norms, all layers",
    "rollout": "attention rollout",
    "gradient": "gradient × input",
    "left_out": "leaving the word out",
}
"""The readings, in the order in which they are shown. The last one is what the others are held against."""


def middle_layer(layers: int) -> int:
    """The last but one of so many layers, counted from 0 (the only one, if there is one).

    Alignments are said to be clearest there (Garg et al. 2019, "Jointly Learning to Align and Translate with
    Transformer Models", section 3).
    """
    return max(layers - 2, 0)


def cross_attention(seen: ForcedPass, layers: int) -> NDArray[np.float64]:
    """Attention to the source, mean over the heads of each layer: ``(L, T, S)``; rows sum to 1."""
    return np.stack([seen[f"decoder.{layer}.cross.weights"].mean(0) for layer in range(layers)]).astype(
        np.float64
    )


def value_norms(model: Transformer, seen: ForcedPass) -> NDArray[np.float64]:
    """Attention weighted by what it carries: ``(L, T, S)``, not yet scaled.

    ``|| sum_h a[h, t, j] f_h(x_j) ||`` with ``f_h(x) = v_h(x) W^O_h`` (Kobayashi et al. 2020, "Attention is
    Not Only a Weight: Analyzing Transformers with Vector Norms", section 3, heads added up as in their
    equation 5). The bias of W^O belongs to no source token and is left out.
    """
    layers = []
    for index, layer in enumerate(model.decoder):
        matrix = cast(DecoderLayer, layer).cross_attention.output.weight.detach().float().cpu().numpy()
        values = seen[f"decoder.{index}.cross.v"].astype(np.float64)
        weights = seen[f"decoder.{index}.cross.weights"].astype(np.float64)
        heads, _, width = values.shape
        blocks = matrix.T.reshape(heads, width, -1)
        carried = values @ blocks
        layers.append(np.linalg.norm(np.einsum("hts,hsd->tsd", weights, carried), axis=-1))
    return np.stack(layers)


def encoder_rollout(attention: Numbers, residual: float = RESIDUAL) -> NDArray[np.float64]:
    """How much of each source position has flowed into each encoder output, by attention alone.

    ``R_l = (r I + (1 - r) A_l) R_{l-1}``, ``R_0 = I``, with ``A_l`` the mean over heads and ``r`` the share
    given to the residual connection, 0.5 as in Abnar and Zuidema (2020, "Quantifying Attention Flow in
    Transformers", section 3).

    Args:
        attention: ``(L, S, S)``, mean over heads, rows sum to 1.
        residual: r, in 0..1.

    Returns:
        ``(S, S)``; rows sum to 1.
    """
    length = attention.shape[-1]
    flow = np.eye(length)
    for layer in attention:
        flow = (residual * np.eye(length) + (1 - residual) * layer) @ flow
    return flow


def attention_rollout(seen: ForcedPass, encoder_layers: int, decoder_layers: int) -> NDArray[np.float64]:
    """Cross-attention, mean over layers and heads, followed down through the encoder: ``(T, S)``.

    Abnar and Zuidema's rollout of the encoder (:func:`encoder_rollout`) behind the mean cross-attention:
    ``C R``. Rows sum to 1. The decoder's self-attention, which mixes target tokens, is not followed.
    """
    own = np.stack(
        [seen[f"encoder.{layer}.self.weights"].mean(0, dtype=np.float64) for layer in range(encoder_layers)]
    )
    rolled: NDArray[np.float64] = cross_attention(seen, decoder_layers).mean(0) @ encoder_rollout(own)
    return rolled


def gradient_times_input(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> NDArray[np.float64]:
    """Gradient of each target token's log-probability at the encoder's inputs, times these: ``(T, S)``.

    ``sum_d x[j, d] d log p(y_t) / d x[j, d]`` with ``x`` the embedded source (scaled embedding plus position;
    Denil et al. 2014; Shrikumar et al. 2016): to first order, how much log p would fall if the vector of
    token j were made 0. The vector becomes a leaf of autograd by an edit of ``encoder.embedded``; the
    parameters are not touched and get no gradient.

    Args:
        source: ids of the sentence, end mark included.
        target: the T ids to be predicted, end mark included if it is to be.
    """
    leaf: list[Tensor] = []

    def listen(embedded: Tensor) -> Tensor:
        leaf.append(embedded.detach().clone().requires_grad_(True))
        return leaf[0]

    ids = torch.tensor([list(source)], device=model.device)
    read = torch.tensor([[START_ID, *target[:-1]]], device=model.device)
    with torch.enable_grad():
        logits = model(
            ids, torch.ones_like(ids, dtype=torch.bool), read, Recorder((), {"encoder.embedded": listen})
        )
        wanted = logits[0].log_softmax(-1)[range(len(target)), list(target)]
        rows = []
        for place in range(len(target)):
            (gradient,) = torch.autograd.grad(
                wanted[place], leaf[0], retain_graph=place + 1 < len(target), allow_unused=False
            )
            rows.append((gradient * leaf[0].detach()).sum(-1)[0].cpu().double().numpy())
    return np.stack(rows)


def token_logprobs(logits: Numbers, target: Sequence[int]) -> NDArray[np.float64]:
    """Log-probability (nats) of each target token: logits ``(T, V)`` -> ``(T,)``."""
    wide = logits.astype(np.float64)
    wide -= wide.max(-1, keepdims=True)
    chosen = wide[np.arange(len(target)), list(target)]
    return np.asarray(chosen - np.log(np.exp(wide).sum(-1)))


@torch.inference_mode()
def forced_logprobs(
    model: Transformer, sources: Sequence[Sequence[int]], target: Sequence[int]
) -> NDArray[np.float64]:
    """Log-probability (nats) of each token of one translation given each of several sentences: ``(N, T)``.

    Args:
        sources: N lists of ids, none empty.
        target: the T ids to be predicted.
    """
    rows = []
    for first in range(0, len(sources), _AT_ONCE):
        batch = pad(sources[first : first + _AT_ONCE]).to(model.device)
        read = torch.tensor([[START_ID, *target[:-1]]], device=model.device).expand(len(batch), -1)
        logits = model(batch, batch != PAD_ID, read)
        spread = log_probabilities(logits)
        wanted = torch.tensor(list(target))[None, :, None].expand(len(batch), -1, 1)
        rows.append(spread.gather(-1, wanted)[..., 0].numpy())
    return np.concatenate(rows)


def leave_out(
    model: Transformer, source: Sequence[int], target: Sequence[int], words: Sequence[Sequence[int]]
) -> NDArray[np.float64]:
    """How much log p of each target token falls when a word is taken out of the sentence: ``(T, W)``, nats.

    The word's tokens are removed and nothing is put in their place, so that what follows moves up (leave one
    out, Li et al. 2016, "Understanding Neural Networks through Representation Erasure"). Positive: the word
    spoke for the token.

    Args:
        words: W lists of places in ``source``.

    Raises:
        AtlasError: a word is the whole sentence.
    """
    shorter = [[token for place, token in enumerate(source) if place not in word] for word in words]
    if not all(shorter):
        raise AtlasError("a sentence of one token has nothing to leave out")
    whole, *without = forced_logprobs(model, [list(source), *shorter], target)
    return np.stack([whole - row for row in without], -1)


@dataclass(frozen=True)
class Explanation:
    """Seven readings of one forced translation.

    Attributes:
        scores: ``(M, T, W)`` by method (in the order of :data:`METHODS`): pieces added up to words. The last
            two are signed and in nats; the others are positive.
        shares: ``(M, T, W)``: scores divided by the sum of their absolute values, so in -1..1.
        logprobs: ``(T,)``, nats.
    """

    scores: NDArray[np.float64]
    shares: NDArray[np.float64]
    logprobs: NDArray[np.float64]


def explain(
    model: Transformer, source: Sequence[int], target: Sequence[int], words: Sequence[Sequence[int]]
) -> Explanation:
    """Every reading of :data:`METHODS` for every token of a translation.

    Args:
        source: S ids of the sentence, end mark included.
        target: T ids to be predicted, at least one.
        words: W groups of places in ``source``, each place in one of them.

    Raises:
        AtlasError: there is nothing to leave out.
        TooLongError: the model has too few positions.
    """
    seen = forced_pass(model, source, target[:-1], wanted=("weights", "v"))
    layers = model.config.decoder_layers
    attention, norms = cross_attention(seen, layers), value_norms(model, seen)
    norms /= np.maximum(norms.sum(-1, keepdims=True), 1e-30)
    middle = middle_layer(layers)
    by_token = [
        attention[middle],
        attention.mean(0),
        norms[middle],
        norms.mean(0),
        attention_rollout(seen, model.config.encoder_layers, layers),
        gradient_times_input(model, source, target),
    ]
    scores = np.stack(
        [np.stack([rows[:, list(word)].sum(-1) for word in words], -1) for rows in by_token]
        + [leave_out(model, source, target, words)]
    )
    return Explanation(scores, to_shares(scores), token_logprobs(seen.logits, target))


def to_shares(scores: Numbers) -> NDArray[np.float64]:
    """Each row divided by the sum of its absolute values: ``(..., W)`` -> the same; a row of zeros stays."""
    total = np.abs(scores).sum(-1, keepdims=True)
    return np.divide(scores, total, out=np.zeros(scores.shape), where=total > 0)


def average_shares(shares: Numbers) -> NDArray[np.float64]:
    """The mean over tokens of the absolute shares: ``(M, T, W)`` -> ``(M, W)``; rows still sum to 1."""
    averaged: NDArray[np.float64] = np.abs(shares).mean(1)
    return averaged
