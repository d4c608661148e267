"""What follows from a change of the model on the way: the same translation read twice, and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas.analysis.ablation import Kind, point
from atlas.analysis.explanations import token_logprobs
from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.model.recorder import Edit
from atlas.model.transformer import Transformer

Weights = NDArray[np.float32]


@dataclass(frozen=True)
class Consequence:
    """A forced pass as trained and the same with edits.

    Attributes:
        before: ``(T,)`` log-probability (nats) of each target token as trained.
        after: ``(T,)`` the same with the edits.
        weights_before: by kind ``(L, H, Q, K)``, attention as trained.
        weights_after: the same with the edits.
    """

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    weights_before: Mapping[str, Weights]
    weights_after: Mapping[str, Weights]

    @property
    def moved(self) -> dict[str, NDArray[np.float64]]:
        """By kind ``(L, H)``: the share of each head's attention that moved to other keys, 0..1."""
        return {
            kind: attention_moved(before, self.weights_after[kind])
            for kind, before in self.weights_before.items()
        }


def attention_moved(
    before: NDArray[np.floating[Any]], after: NDArray[np.floating[Any]]
) -> NDArray[np.float64]:
    """Half the absolute change of a row, summed over its keys and averaged over the rows.

    This is the total variation distance between the two distributions of each query (Jain and Wallace 2019,
    section 3, use it for outputs): 0 where nothing changed, 1 where all weight moved to other keys.

    Args:
        before: ``(..., Q, K)``, rows sum to 1.
        after: the same shape.

    Returns:
        ``(...)``.
    """
    change = np.abs(after.astype(np.float64) - before.astype(np.float64))
    moved: NDArray[np.float64] = change.sum(-1).mean(-1) / 2
    return moved


def consequence(
    model: Transformer, source: Sequence[int], target: Sequence[int], edits: Mapping[str, Edit]
) -> Consequence:
    """Let the model read a translation as trained and with edits.

    Args:
        source: S ids of the sentence, end mark included.
        target: the T ids to be predicted, at least one.
        edits: by name of a point, what it becomes.

    Raises:
        TooLongError: the model has too few positions.
    """
    plain = forced_pass(model, source, target[:-1], wanted=("weights",))
    changed = forced_pass(model, source, target[:-1], wanted=("weights",), edits=edits)
    layers = model.config.attention_layers
    return Consequence(
        token_logprobs(plain.logits, target),
        token_logprobs(changed.logits, target),
        _attention(plain, layers),
        _attention(changed, layers),
    )


def _attention(seen: ForcedPass, layers: Mapping[str, int]) -> dict[str, Weights]:
    kinds: tuple[Kind, ...] = ("encoder", "decoder", "cross")
    return {
        kind: np.stack([seen[point(kind, layer, "weights")] for layer in range(layers[kind])])
        for kind in kinds
    }
