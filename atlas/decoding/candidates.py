"""The best continuations of every live hypothesis, ties broken the same way every time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.text.tokenizer import PAD_ID, START_ID

NEVER = (PAD_ID, START_ID)
"""Control tokens that a translation cannot contain."""


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


def best_tokens(logits: Tensor, count: int) -> Best:
    """The ``count`` likeliest tokens of each row of ``(rows, V)`` logits, equal ones in order of their id.

    Probabilities are those of the whole vocabulary; ``<pad>`` and ``<s>`` are never offered.
    """
    wide = logits.float() if logits.dtype != torch.float64 else logits
    normaliser = wide.logsumexp(-1, keepdim=True)
    wide = wide.index_fill(-1, torch.tensor(NEVER, device=wide.device), -torch.inf)
    count = min(count, wide.shape[-1] - len(NEVER))
    values, tokens = wide.topk(min(count + 1, wide.shape[-1]), dim=-1)
    crowded = (
        (values[:, count - 1] == values[:, -1])
        if values.shape[-1] > count
        else torch.zeros(len(values), dtype=torch.bool)
    )
    for row in crowded.nonzero().flatten().tolist():  # a tie across the cut: topk may take any of the equals
        order = torch.sort(wide[row], descending=True, stable=True).indices[: values.shape[-1]]
        tokens[row], values[row] = order, wide[row, order]
    logprobs = (values[:, :count] - normaliser).cpu().double().numpy()
    numbers = tokens[:, :count].cpu().numpy()
    ranking = np.lexsort((numbers, -logprobs))
    return Best(np.take_along_axis(numbers, ranking, -1), np.take_along_axis(logprobs, ranking, -1))
