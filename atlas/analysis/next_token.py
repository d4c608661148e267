"""From logits to the next token: temperature, softmax, what is cut off, and draws with a seed.

The cutting and the drawing are the decoder's own (:mod:`atlas.decoding.sampling`), so that what is shown is
what a translation would be made of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.decoding import SearchOptions
from atlas.decoding.candidates import NEVER, log_probabilities
from atlas.decoding.sampling import sampling_distribution, token_at

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NextToken:
    """The distribution of the next token at each step of its making; arrays ``(V,)``, float64.

    Attributes:
        logits: of the model.
        own: ``softmax(logits)``, what the model says.
        heated: ``softmax(logits / temperature)`` over the tokens that a translation may hold.
        kept: what is left of it after top-k and top-p, divided by its sum; 0 for a token that was cut.
    """

    logits: Floats
    own: Floats
    heated: Floats
    kept: Floats

    @property
    def likeliest(self) -> int:
        """The token that greedy search takes: the likeliest that a translation may hold."""
        return int(np.argmax(self.kept))

    @property
    def share_kept(self) -> float:
        """The probability, after the temperature, of all tokens that were not cut."""
        return float(self.heated[self.kept > 0].sum())

    def ranked(self, count: int) -> NDArray[np.int64]:
        """The ``count`` tokens that the model finds likeliest, most first; equals in order of their id."""
        return np.argsort(-self.own, kind="stable")[:count]


def next_token(logits: NDArray[np.float32], options: SearchOptions) -> NextToken:
    """Follow the logits ``(V,)`` of one position to the distribution that is drawn from.

    Args:
        options: ``temperature``, ``top_k`` and ``top_p`` are used.
    """
    logprobs = log_probabilities(torch.from_numpy(logits[None])).numpy()[0]
    offered = logprobs.copy()
    offered[list(NEVER)] = -np.inf
    only_heated = SearchOptions(method="sample", temperature=options.temperature)
    return NextToken(
        logits=logits.astype(np.float64),
        own=np.exp(logprobs),
        heated=sampling_distribution(offered, only_heated),
        kept=sampling_distribution(offered, options),
    )


def drawn_tokens(distribution: Floats, seed: int, count: int) -> NDArray[np.int64]:
    """The tokens that ``count`` sampled translations, begun alike, would go on with: ``(count,)``.

    Draw number i takes the first number of the random stream (``seed``, i), as
    :func:`~atlas.decoding.sampling.sample` does.
    """
    numbers = (np.random.default_rng([seed, number]).random() for number in range(count))
    return np.array([token_at(distribution, uniform) for uniform in numbers])
