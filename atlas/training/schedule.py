"""The learning rate at every step."""

from __future__ import annotations

import math

from atlas.training.config import TrainingConfig


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of update ``step`` (from 1). Warm-up is linear; then

    - ``inverse_sqrt``: the peak times ``sqrt(warmup / step)`` (Vaswani et al. 2017, equation 3);
    - ``cosine``: half a cosine to zero at the last step (Loshchilov and Hutter 2017);
    - ``wsd``: the peak (Hu et al. 2024).

    Over the last ``cooldown`` share of the steps, each is multiplied by a line that falls to zero: the end
    can be moved as long as it has not begun, and is a good end wherever it is.
    """
    peak, warmup, steps = config.learning_rate, config.warmup, config.steps
    left = (steps - step + 1) / max(1.0, config.cooldown * steps)
    rate = peak * max(0.0, min(1.0, left)) if config.cooldown else peak
    if step < warmup:
        return rate * step / warmup
    if config.schedule == "inverse_sqrt":
        return rate * math.sqrt(warmup / step)
    if config.schedule == "cosine":
        done = (step - warmup) / max(1, steps - warmup)
        return rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    return rate
