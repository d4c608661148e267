"""What a run says while it goes: a live line on a terminal, a line now and then in a log."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from atlas.training.state import HistoryRow, Progress


class Reporter:
    """Progress on standard error: step, loss, perplexity, target tokens a second, time left.

    Args:
        quiet: say nothing (every process but the first).
        every: seconds between lines where the output is not a terminal.
    """

    def __init__(self, stream: TextIO | None = None, *, quiet: bool = False, every: float = 30.0) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.quiet = quiet
        self._terminal = self.stream.isatty()
        self._every = 0.2 if self._terminal else every
        self._last = (time.monotonic(), -1, -1)

    def say(self, text: str) -> None:
        """One line of its own."""
        if not self.quiet:
            print(("\r\033[K" if self._terminal else "") + text, file=self.stream, flush=True)

    def step(self, progress: Progress, steps: int) -> None:
        """Called after every update; prints when it is time to."""
        now = time.monotonic()
        then, tokens, step = self._last
        if step < 0:
            self._last = (now, progress.target_tokens, progress.step)
            return
        if now - then < self._every or self.quiet:
            return
        speed = (progress.target_tokens - tokens) / (now - then)
        left = (steps - progress.step) * (now - then) / (progress.step - step)
        loss = progress.loss_sum / max(1, progress.loss_tokens)
        line = (
            f"step {progress.step:,}/{steps:,}  epoch {progress.epoch + 1}  loss {loss:.3f}  "
            f"perplexity {math.exp(loss):,.1f}  "
            f"{speed:,.0f} target tokens/s  {left / 60:,.0f} min left"
        )
        print(
            ("\r\033[K" if self._terminal else "") + line,
            end="" if self._terminal else "\n",
            file=self.stream,
            flush=True,
        )
        self._last = (now, progress.target_tokens, progress.step)

    def evaluation(self, row: HistoryRow, samples: Sequence[tuple[str, str]]) -> None:
        """Called after every evaluation."""
        self.say(
            f"evaluation at step {row.step:,} (epoch {row.epoch:.2f}, {row.minutes:.1f} min): train "
            f"loss {row.train_loss:.3f}, development loss "
            f"{row.development_loss:.3f} (perplexity {row.development_perplexity:.2f}), greedy BLEU "
            f"{row.bleu:.1f}, chrF {row.chrf:.1f}"
        )
        for source, hypothesis in samples:
            self.say(f"    {source} -> {hypothesis}")
        self._last = (time.monotonic(), -1, -1)
