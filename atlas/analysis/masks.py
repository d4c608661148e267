"""Numbers about the causal mask: what it hides, what hiding changes, and what a mask of ones would do.

The mask of Vaswani et al. (2017, section 3.2.3) is a matrix ``M`` added to the scores before the softmax,
``softmax(q k^T / sqrt(K) + M) v``, with ``M[i, j] = 0`` where query ``i`` may see key ``j <= i`` and minus
infinity elsewhere. The model itself keeps booleans (:func:`~atlas.model.attention.causal_mask`) and fills
hidden scores with minus infinity, which is the same thing without an addition.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.errors import AtlasError
from atlas.model.attention import attend, causal_mask
from atlas.model.transformer import Transformer

Floats = NDArray[np.floating[Any]]

PRECISIONS: Mapping[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
"""The number formats that :func:`shift_differences` tries."""


class MaskError(AtlasError):
    """A place, a layer or a chunk that is not there."""


def additive_mask(length: int, allowed: float = 0.0) -> NDArray[np.float64]:
    """The causal mask as it is added to the scores, ``(T, T)``: ``allowed`` on and below the diagonal, minus
    infinity above.

    Args:
        length: T, at least 1.
        allowed: 0 as published; 1 for a mask cut from a matrix of ones.
    """
    return np.where(causal_mask(length, length).numpy(), allowed, -math.inf)


@dataclass(frozen=True)
class Hidden:
    """The cells above the diagonal of every decoder self-attention of a pass.

    ``cells`` there are, over ``heads`` maps of ``(T, T)``; ``nonzero`` of their weights are not exactly 0,
    and ``largest`` is the largest of them.
    """

    cells: int
    nonzero: int
    largest: float
    heads: int


def hidden_weights(weights: Sequence[Floats]) -> Hidden:
    """Count the weights that a causal mask must have made exactly zero.

    Args:
        weights: of each decoder layer, ``(H, T, T)``, after the softmax.
    """
    maps = np.concatenate([np.asarray(layer) for layer in weights])
    above = maps[:, ~causal_mask(maps.shape[1], maps.shape[2]).numpy()]
    return Hidden(above.size, int(np.count_nonzero(above)), float(above.max(initial=0.0)), len(maps))


@dataclass(frozen=True)
class TokenChange:
    """What happens to the predictions when one target token is replaced.

    Attributes:
        place: of the token among those that the decoder reads, where 0 is the start mark.
        old: its id; new: the id put there instead.
        differences: ``(T,)``, for each position read the largest absolute change of its V logits.
    """

    place: int
    old: int
    new: int
    differences: Floats

    @property
    def before(self) -> float:
        """Largest change at positions before the replaced token: exactly 0 behind a causal mask."""
        return float(self.differences[: self.place].max(initial=0.0))

    @property
    def after(self) -> float:
        """Largest change at the replaced token and the positions after it."""
        return float(self.differences[self.place :].max())


def change_token(
    model: Transformer, source: Sequence[int], target: Sequence[int], place: int, token: int
) -> TokenChange:
    """Replace one token of a translation and compare all logits of the two passes (teacher forcing).

    Args:
        source: ids of the sentence, end mark included.
        target: ids of the translation, without the start token.
        place: of the token to replace among those read, from 1 (0 is the start mark).
        token: id to put there.

    Raises:
        MaskError: there is no such place.
    """
    if not 1 <= place <= len(target):
        raise MaskError(f"the place must be from 1 to {len(target)}, not {place}")
    changed = list(target)
    changed[place - 1] = token
    before = forced_pass(model, source, target, wanted=())
    after = forced_pass(model, source, changed, wanted=())
    return TokenChange(place, target[place - 1], token, np.abs(after.logits - before.logits).max(axis=1))


@dataclass(frozen=True)
class Head:
    """One head of one decoder layer, as the model computed it: ``q``, ``k``, ``v``, ``heads`` ``(T, K)``."""

    q: Floats
    k: Floats
    v: Floats
    heads: Floats

    @classmethod
    def of(cls, seen: ForcedPass, layer: int, head: int) -> Head:
        """From a pass that kept ``q``, ``k``, ``v`` and ``heads``.

        Raises:
            MaskError: the pass has no such layer or head.
        """
        name = f"decoder.{layer}.self"
        if f"{name}.q" not in seen.points or not 0 <= head < len(seen[f"{name}.q"]):
            raise MaskError(f"this model has no decoder layer {layer + 1} with a head {head + 1}")
        return cls(*(seen[f"{name}.{what}"][head] for what in ("q", "k", "v", "heads")))

    @property
    def scores(self) -> Floats:
        """``q k^T / sqrt(K)`` before any mask, float64 ``(T, T)``."""
        return self.q.astype(np.float64) @ self.k.T.astype(np.float64) / math.sqrt(self.q.shape[1])


def additive_difference(head: Head, allowed: float = 0.0) -> float:
    """Largest difference between the model's own head and ``softmax(q k^T / sqrt(K) + M) v``, with ``M`` from
    :func:`additive_mask`, in float64. Rounding only, whatever the constant ``allowed``.
    """
    scores = torch.from_numpy(head.scores + additive_mask(len(head.q), allowed))
    return float(np.abs(scores.softmax(-1).numpy() @ head.v - head.heads).max())


def shift_differences(scores: Floats) -> dict[str, float]:
    """Largest difference between weights under a mask of zeros and under a mask of ones, by number format.

    ``softmax(z + c) = softmax(z)`` for every constant ``c``: each row's visible scores all get the same +1,
    which cancels. Only the rounding of ``z + 1`` remains, so the difference grows as the format gets coarser.

    Args:
        scores: ``(T, T)`` before the mask.
    """
    length = len(scores)
    found = {}
    for name, dtype in PRECISIONS.items():
        base = torch.from_numpy(np.asarray(scores, dtype=np.float64)).to(dtype)
        zeros, ones = (
            (base + torch.from_numpy(additive_mask(length, allowed)).to(dtype)).softmax(-1)
            for allowed in (0.0, 1.0)
        )
        found[name] = float((zeros.double() - ones.double()).abs().max())
    return found


@dataclass(frozen=True)
class Chunk:
    """A chunk of new tokens read after ``past`` cached ones, its mask of ones laid over the new keys only.

    ``right`` and ``wrong`` are the first new query's weights, ``(past + 1,)``, as they should be and as they
    become: its own key got +1 and the cached ones nothing, so the softmax does notice.
    """

    past: int
    right: Floats
    wrong: Floats

    @property
    def largest(self) -> float:
        """Largest difference of a weight."""
        return float(np.abs(self.right - self.wrong).max())


def chunk_with_ones(scores: Floats, past: int) -> Chunk:
    """What a mask of ones does to a chunk that continues a cache: the shift is no longer the same in a row.

    Args:
        scores: ``(T, T)`` before the mask.
        past: tokens in the cache, from 1 to T - 1.

    Raises:
        MaskError: there is no token before or after the cut.
    """
    if not 1 <= past < len(scores):
        raise MaskError(f"a cache must hold from 1 to {len(scores) - 1} of {len(scores)} tokens, not {past}")
    row = torch.from_numpy(np.asarray(scores[past, : past + 1], dtype=np.float64))
    shifted = row.clone()
    shifted[past] += 1.0
    return Chunk(past, row.softmax(-1).numpy(), shifted.softmax(-1).numpy())


@dataclass(frozen=True)
class BlindRow:
    """A query that may see no key at all: numbers that are not numbers with an additive mask (``additive``
    of ``width``), and the largest absolute number that our attention gives (``ours``; 0 is right).
    """

    width: int
    additive: int
    ours: float


def blind_row(head: Head) -> BlindRow:
    """Hide every key from the first query, as padding can, and compute its output in both ways."""
    q, k, v = (torch.from_numpy(np.asarray(part, dtype=np.float64))[None, None] for part in _parts(head))
    mask = causal_mask(len(head.q), len(head.q))
    mask[0] = False
    added = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -math.inf)
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    additive = (scores + added).softmax(-1) @ v
    ours: Tensor = attend(q, k, v, mask, explicit=True)
    return BlindRow(
        q.shape[-1],
        int(additive[0, 0, 0].isnan().sum()),
        float(ours[0, 0, 0].abs().nan_to_num(math.inf).max()),
    )


def _parts(head: Head) -> tuple[Floats, Floats, Floats]:
    return head.q, head.k, head.v
