"""The best continuations of every live hypothesis, ties broken the same way every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.text.tokenizer import PAD_ID, START_ID

NEVER = (PAD_ID, START_ID)
"""Control tokens that a translation cannot contain."""
GROUP = 64
"""Neighbours in the vocabulary whose largest logit speaks for all when the likeliest are looked for."""
FEW = 16
"""Rows below which sorting everything is faster."""


@dataclass(frozen=True)
class Best:
    """The likeliest next tokens of each row, likeliest first: ``tokens`` and ``logprobs`` (nats), both
    ``(rows, n)``.
    """

    tokens: NDArray[np.int64]
    logprobs: NDArray[np.float64]


def log_probabilities(logits: Tensor) -> Tensor:
    """``(rows, V)`` logits -> log-probabilities in nats, float64 on the CPU: not every device has float64."""
    return logits.cpu().double().log_softmax(-1)


def best_tokens(logits: Tensor, count: int, never: Sequence[int] = NEVER) -> Best:
    """The ``count`` likeliest tokens of each row of ``(rows, V)`` logits, equal ones in order of their id.

    Probabilities are those of the whole vocabulary; the tokens ``never`` are not offered.
    """
    wide = logits.float() if logits.dtype != torch.float64 else logits
    every = wide.log_softmax(-1)  # in one pass, where logsumexp takes four
    count = min(count, wide.shape[-1] - len(never))
    tokens = _largest(wide, min(count + 1 + len(never), wide.shape[-1]))
    numbers = tokens.cpu().numpy()
    logprobs = every.gather(-1, tokens).cpu().double().numpy()
    for token in never:
        logprobs[numbers == token] = -np.inf
    ranking = np.lexsort((numbers, -logprobs))
    rows = np.arange(len(ranking))[:, None]
    numbers, logprobs = numbers[rows, ranking], logprobs[rows, ranking]
    crowded = logprobs[:, count - 1] == logprobs[:, -1 - len(never)] if logprobs.shape[-1] > count else ()
    for row in np.flatnonzero(crowded):  # a tie across the cut: topk may take any of the equals
        all_of_row = every[row].cpu().double().numpy()
        all_of_row[list(never)] = -np.inf
        numbers[row] = np.argsort(-all_of_row, kind="stable")[: numbers.shape[-1]]
        logprobs[row] = all_of_row[numbers[row]]
    return Best(numbers[:, :count], logprobs[:, :count])


def _largest(values: Tensor, count: int) -> Tensor:
    """Where the ``count`` largest of each row of ``(rows, V)`` stand, largest first.

    Of many rows over a large vocabulary only the groups with the largest maxima are sorted: the others hold
    none of them.
    """
    rows, size = values.shape
    whole = size // GROUP * GROUP
    if rows < FEW or whole < 4 * count * GROUP:
        return values.topk(count, dim=-1).indices
    groups = values[:, :whole].unflatten(-1, (-1, GROUP))
    chosen = groups.amax(-1).topk(count, dim=-1).indices
    first = torch.arange(0, groups.shape[0] * groups.shape[1], groups.shape[1], device=values.device)
    inside = groups.flatten(0, 1).index_select(0, (chosen + first.unsqueeze(-1)).flatten()).view(rows, -1)
    places = torch.cat((inside, values[:, whole:]), -1).topk(count, dim=-1).indices
    within = (chosen * GROUP).gather(-1, (places // GROUP).clamp_max_(count - 1)) + places % GROUP
    beyond = places - (inside.shape[-1] - whole)
    return torch.where(places < inside.shape[-1], within, beyond)
