"""Softmax over as many numbers as a processor likes."""

from __future__ import annotations

import math

from torch import Tensor
from torch.nn.functional import pad

LANES = 16
"""Numbers in a vector register: over fewer, PyTorch's softmax takes up to eight times as long on a CPU."""


def in_lanes(count: int) -> int:
    """``count`` rounded up to a multiple of :data:`LANES`."""
    return -(-count // LANES) * LANES


def softmax(scores: Tensor) -> Tensor:
    """``exp(scores) / sum(exp(scores))`` over the last axis; short rows are filled up with ``-inf``."""
    short = LANES - scores.shape[-1]
    if short <= 0 or scores.device.type != "cpu":
        return scores.softmax(-1)
    return pad(scores, (0, short), value=-math.inf).softmax(-1)[..., : scores.shape[-1]]
