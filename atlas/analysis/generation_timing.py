"""Time every step of generating a text, with a cache of keys and values and without, in short slices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from atlas.errors import AtlasError
from atlas.model.cache import Cache
from atlas.model.transformer import Transformer
from atlas.text.tokenizer import START_ID

Clock = Callable[[], float]
"""Seconds from some fixed moment."""


class TimingError(AtlasError):
    """A length that cannot be timed."""


@dataclass(frozen=True)
class StepTimes:
    """How long each step took: the fastest of the rounds, which other work on the machine disturbed least.

    Attributes:
        cached: ``(N,)`` seconds of the n-th step with a cache; the first includes the keys and values of the
            source.
        uncached: ``(N,)`` seconds of the n-th step when everything before is computed again.
        rounds: how many times all of it was timed.
        difference: largest absolute difference between the logits of the two, over all steps.
        threads: that PyTorch used.
    """

    cached: NDArray[np.float64]
    uncached: NDArray[np.float64]
    rounds: int
    difference: float
    threads: int

    def __len__(self) -> int:
        return len(self.cached)

    def total(self, length: int, *, cached: bool) -> float:
        """Seconds for the first ``length`` tokens."""
        return float((self.cached if cached else self.uncached)[:length].sum())


class GenerationTimer:
    """Makes a model read a text token by token, as if it had generated it, and times both ways of doing so.

    A run of N tokens passes through every shorter length, so one run gives the whole curve; both ways take
    turns at each step, so that a busy moment of the machine hits both. The work comes in slices
    (:meth:`advance`), so that others can use the model in between.

    Args:
        source: ids of the sentence, end mark included.
        target: ids to be read over and over until the text is long enough, at least one.
        length: N, tokens to read, the start mark included.
        rounds: times to do it all.
        clock: seconds; replaced in tests.

    Raises:
        TimingError: nothing to read, or a length or a number of rounds below 1.
    """

    def __init__(
        self,
        source: Sequence[int],
        target: Sequence[int],
        length: int,
        rounds: int = 1,
        clock: Clock = time.perf_counter,
    ) -> None:
        if not source or not target:
            raise TimingError("there are no tokens to read")
        if length < 1 or rounds < 1:
            raise TimingError(f"{rounds} rounds of {length} tokens cannot be timed; both are at least 1")
        repeated = list(target) * (1 + length // len(target))
        self._source = torch.tensor([list(source)])
        self._target = torch.tensor([[START_ID, *repeated[: length - 1]]])
        self._seconds = np.full((2, rounds, length), np.nan)
        self._done = 0
        self._difference = 0.0
        self._clock = clock
        self._memory: Tensor | None = None
        self._cache: Cache | None = None

    @property
    def done(self) -> int:
        """Steps timed so far, over all rounds."""
        return self._done

    @property
    def total(self) -> int:
        """Steps to time in all."""
        return int(self._seconds[0].size)

    @property
    def finished(self) -> bool:
        """Whether everything was timed."""
        return self._done == self.total

    @property
    def times(self) -> StepTimes:
        """What was timed: all of it, or as far as the first round came when it was stopped."""
        rounds, length = self._seconds.shape[1:]
        reached = min(self._done, length)
        complete = max(1, self._done // length)
        cached, uncached = self._seconds[:, :complete, :reached].min(axis=1)
        return StepTimes(cached, uncached, min(complete, rounds), self._difference, torch.get_num_threads())

    @torch.inference_mode()
    def advance(self, model: Transformer, seconds: float) -> None:
        """Time one step, and more as long as ``seconds`` have not passed.

        Raises:
            TooLongError: the model has too few positions.
        """
        start = self._clock()
        while not self.finished:
            self._step(model)
            if self._clock() - start >= seconds:
                return

    def _step(self, model: Transformer) -> None:
        rounds, place = divmod(self._done, self._seconds.shape[2])
        source = self._source.to(model.device)
        target = self._target.to(model.device)
        mask = torch.ones_like(source, dtype=torch.bool)
        if self._memory is None:
            self._memory = model.encode(source, mask)
            self._warm_up(model, self._memory, mask, target)
        memory = self._memory

        def cached() -> Tensor:
            if place == 0 or self._cache is None:
                self._cache = model.start(memory, mask)
            return model.step(target[:, place : place + 1], self._cache)

        def uncached() -> Tensor:
            return model.logits(model.decode(target[:, : place + 1], memory, mask)[:, -1])

        self._seconds[0, rounds, place], with_cache = self._timed(cached)
        self._seconds[1, rounds, place], without = self._timed(uncached)
        self._difference = max(self._difference, float((with_cache - without).abs().max()))
        self._done += 1

    def _timed(self, work: Callable[[], Tensor]) -> tuple[float, Tensor]:
        start = self._clock()
        logits = work()
        logits[0, 0].item()  # waits for a device that works on its own
        return self._clock() - start, logits

    @staticmethod
    def _warm_up(model: Transformer, memory: Tensor, mask: Tensor, target: Tensor) -> None:
        """The first call of anything is slow for reasons of its own."""
        cache = model.start(memory, mask)
        model.step(target[:, :1], cache)
        model.logits(model.decode(target, memory, mask)[:, -1])


def achieved(operations: int | float, seconds: float) -> float:
    """Multiply-adds a second.

    Raises:
        TimingError: no time has passed.
    """
    if seconds <= 0:
        raise TimingError("no time has passed: nothing can be said about the speed")
    return operations / seconds
