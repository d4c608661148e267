"""The same sentence several times through a model whose dropout is on.

Srivastava et al. 2014; read as samples from a posterior by Gal and Ghahramani 2016 ("Dropout as a Bayesian
Approximation"). Dropout is where training has it: on embeddings and on what each sub-layer adds (Vaswani
et al. 2017, section 5.4), never on the attention weights themselves.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.explanations import token_logprobs
from atlas.analysis.passes import forced_pass
from atlas.decoding.bulk import translate_ids
from atlas.decoding.options import SearchOptions
from atlas.model.layers import DecoderLayer, EncoderLayer
from atlas.model.recorder import point
from atlas.model.seeded import drawn_from
from atlas.model.transformer import Transformer
from atlas.trace.views import Kind


@dataclass(frozen=True)
class DropoutRuns:
    """What ``passes`` passes over one sentence and one translation looked like. T counts the end mark.

    Attributes:
        weights: float32 ``(passes, L, H, Q, K)``, attention of one kind.
        probabilities: float64 ``(passes, T)`` of each token of the translation.
        still: float64 ``(T,)``, the same without dropout.
        still_weights: float32 ``(L, H, Q, K)``, attention without dropout.
        translations: ids of what each pass wrote by itself (greedy search), end mark included if it came.
    """

    weights: NDArray[np.float32]
    probabilities: NDArray[np.float64]
    still: NDArray[np.float64]
    still_weights: NDArray[np.float32]
    translations: tuple[tuple[int, ...], ...]

    @property
    def mean(self) -> NDArray[np.float32]:
        """float32 ``(L, H, Q, K)``: mean over passes; its rows sum to 1."""
        return np.asarray(self.weights.mean(0, dtype=np.float64), np.float32)

    @property
    def spread(self) -> NDArray[np.float32]:
        """float32 ``(L, H, Q, K)``: standard deviation over passes (divided by their number)."""
        return np.asarray(self.weights.std(0, dtype=np.float64), np.float32)


def with_dropout(model: Transformer, probability: float) -> Transformer:
    """A copy of a model in training mode whose dropout is ``probability``; the model itself stays as it is.

    Args:
        probability: from 0 to below 1; rounded to 1/256 by :func:`atlas.model.layers.fast_dropout`.

    Raises:
        ConfigError: a probability out of range.
    """
    config = replace(model.config, dropout=probability)
    twin = copy.deepcopy(model)
    twin.config = config
    for module in twin.modules():
        if isinstance(module, EncoderLayer | DecoderLayer):
            module.dropout = probability
    return twin.train()


def dropout_runs(
    model: Transformer,
    source: Sequence[int],
    target: Sequence[int],
    kind: Kind,
    *,
    probability: float,
    passes: int,
    seed: int,
) -> DropoutRuns:
    """Read a sentence and a translation several times with dropout on, and translate it as often.

    Args:
        model: in evaluation mode; it is copied and not changed.
        source: ids, end mark included.
        target: ids of the translation, end mark included.
        kind: whose attention is kept.
        probability: from 0 to below 1.
        passes: at least 1.
        seed: pass i is the same for the same seed, however many passes there are.

    Raises:
        ConfigError: a probability out of range.
        TooLongError: the model has too few positions.
    """
    twin = with_dropout(model, probability)
    weights: list[NDArray[np.float32]] = []
    probabilities: list[NDArray[np.float64]] = []
    written: list[tuple[int, ...]] = []
    options = SearchOptions(method="greedy", max_length=2 * len(target) + 10)
    for number in range(passes):
        with drawn_from(seed * 1_000_003 + number, model.device):
            seen, chances = _pass(twin, source, target, kind)
            written.append(translate_ids(twin, [source], options)[0][0].ids)
        weights.append(seen)
        probabilities.append(chances)
    still_weights, still = _pass(model, source, target, kind)
    return DropoutRuns(np.stack(weights), np.stack(probabilities), still, still_weights, tuple(written))


def _pass(
    model: Transformer, source: Sequence[int], target: Sequence[int], kind: Kind
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Attention ``(L, H, Q, K)`` of one kind and the probability ``(T,)`` of every token of the
    translation."""
    seen = forced_pass(model, source, target[:-1], wanted=["weights"])
    weights = np.stack(
        [seen[point(kind, layer, "weights")] for layer in range(model.config.attention_layers[kind])]
    )
    return weights, np.exp(token_logprobs(seen.logits, target))
