"""Random numbers of one's own from PyTorch's one generator."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_ALONE = threading.RLock()


@contextmanager
def drawn_from(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Random numbers of ``seed`` inside; outside the generators go on as if nothing had been drawn.

    Initial weights and dropout draw from PyTorch's one generator, which all threads share. One thread at a
    time is let in, so that what is drawn here follows from the seed whoever else draws.

    Args:
        device: whose generator is seeded beside the CPU's.
    """
    devices = [device] if device is not None and device.type == "cuda" else []
    with _ALONE, torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield
