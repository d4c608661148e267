"""Where a token stands: sinusoidal and learned encodings."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def sinusoidal_table(length: int, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Sinusoidal position encodings (Vaswani et al. 2017, section 3.5).

    ``PE(pos, 2i) = sin(pos / 10000^(2i/D))`` and ``PE(pos, 2i+1) = cos(pos / 10000^(2i/D))``; computed in
    float64.

    Args:
        length: number of positions P, from 0.
        width: D, even.

    Returns:
        ``(P, D)``.
    """
    position = torch.arange(length, dtype=torch.float64).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    angle = position * frequency
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).to(dtype)
