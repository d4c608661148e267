"""The learning rate at every step."""

from __future__ import annotations

import math

from atlas.training.config import TrainingConfig


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of update ``step`` (from 1). Warm-up is linear; then

    - ``inverse_sqrt``: the peak times ``sqrt(warmup / step)`` (Vaswani et al. 2017, equation 3);
    - ``cosine``: half a cosine to zero at the last step (Loshchilov and Hutter 2017);
    - ``wsd``: the peak, then a straight line to zero over the last ``cooldown`` share (Hu et al. 2024): the
      end can be moved while it runs.
    """
    peak, warmup, steps = config.learning_rate, config.warmup, config.steps
    if step < warmup:
        return peak * step / warmup
    if config.schedule == "inverse_sqrt":
        return peak * math.sqrt(warmup / step)
    if config.schedule == "cosine":
        done = (step - warmup) / max(1, steps - warmup)
        return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    left = (steps - step + 1) / max(1.0, config.cooldown * steps)
    return peak * max(0.0, min(1.0, left))
