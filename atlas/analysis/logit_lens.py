"""What each decoder layer would have said, had the model ended there (nostalgebraist 2020, "logit lens")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.analysis.passes import ForcedPass
from atlas.decoding.candidates import log_probabilities
from atlas.errors import AtlasError
from atlas.model.transformer import Transformer

Floats = NDArray[np.floating[Any]]


class LensError(AtlasError):
    """Tokens that do not fit the pass."""


@dataclass(frozen=True)
class Lens:
    """The next token according to the stream after each depth; depth 0 is the decoder's input, depth l its
    layer l, so that there are ``L + 1``.

    Attributes:
        tokens: ``(L+1, T)`` ids, the likeliest of the whole vocabulary.
        probability: ``(L+1, T)``, of that token.
        said: ``(L+1, T)``, the probability of the token that followed in the end.
        rank: ``(L+1, T)``, its rank among the vocabulary, 1 for the likeliest; equals share the better rank.
    """

    tokens: NDArray[np.int64]
    probability: Floats
    said: Floats
    rank: NDArray[np.int64]


@torch.inference_mode()
def logit_lens(model: Transformer, done: ForcedPass, following: Sequence[int]) -> Lens:
    """Read the residual stream of every depth through the end of the model: ``softmax(U · norm(x))``.

    ``norm`` is the model's final normalisation, which only a pre-norm model has; the stream of a post-norm
    model is read as it is. The last depth is the model's own prediction.

    Args:
        model: that made the pass.
        done: a pass that kept ``embedded`` and ``residual``.
        following: ``(T,)``, the token that followed each position in the end.

    Raises:
        LensError: not one token for each position that the decoder read.
    """
    if len(following) != len(done.target_ids):
        raise LensError(f"{len(done.target_ids)} positions are followed by {len(following)} tokens")
    last = range(model.config.decoder_layers)
    streams = [done["decoder.embedded"], *(done[f"decoder.{layer}.ffn.residual"] for layer in last)]
    tokens, best, said, rank = [], [], [], []
    for stream in streams:
        read = torch.from_numpy(stream).to(model.unembedding)
        logits = model.logits(model.decoder_norm(read))
        logprobs = log_probabilities(logits).numpy()
        own = np.take_along_axis(logprobs, np.asarray(following)[:, None], axis=1)
        tokens.append(logprobs.argmax(axis=1))
        best.append(np.exp(logprobs.max(axis=1)))
        said.append(np.exp(own[:, 0]))
        rank.append(1 + (logprobs > own).sum(axis=1))
    return Lens(np.stack(tokens), np.stack(best), np.stack(said), np.stack(rank))
