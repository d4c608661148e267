"""How long one update of training takes, by the length of the sentences: recurrent beside parallel models.

A recurrent decoder reads T tokens in T steps, one after another; a Transformer reads them at once, at the
price of T^2 scores (Vaswani et al. 2017, section 4 and table 1). Batches of all lengths hold the same number
of target tokens, so that what is left to differ is how much of the work can be done at once.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from atlas.errors import AtlasError
from atlas.model.family import Model
from atlas.text.batches import Batch
from atlas.text.tokenizer import END_ID, SPECIAL_IDS, START_ID
from atlas.training.loss import TeacherForcing

LENGTHS = (8, 16, 32, 64, 128)
SMOOTHING = 0.1
Clock = Callable[[], float]
"""Seconds from some fixed moment."""


class SpeedError(AtlasError):
    """Lengths, a size of batch or a number of rounds that cannot be timed."""


@dataclass(frozen=True)
class Speeds:
    """Seconds of one update (loss, gradient, AdamW) of several models.

    Attributes:
        names: M models.
        lengths: N lengths, tokens of every source and of every target, end mark included.
        tokens: ``(N,)`` target tokens in a batch.
        seconds: ``(M, N, R)``, of every round.
    """

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    tokens: tuple[int, ...]
    seconds: NDArray[np.float64]

    @property
    def median(self) -> NDArray[np.float64]:
        """``(M, N)`` seconds: the median of the rounds."""
        return np.median(self.seconds, axis=2)

    @property
    def rate(self) -> NDArray[np.float64]:
        """``(M, N)`` target tokens a second, from the medians."""
        return np.array(self.tokens) / self.median

    def ratio(self, reference: str) -> NDArray[np.float64]:
        """``(M, N)``: how many times as long as ``reference`` an update takes: the median over the rounds of
        the ratio within a round, in which all models took turns.

        Raises:
            SpeedError: no such model.
        """
        if reference not in self.names:
            raise SpeedError(f"no model {reference!r} was timed; there are {', '.join(self.names)}")
        return np.median(self.seconds / self.seconds[self.names.index(reference)], axis=2)


def even_batch(vocabulary: int, length: int, tokens: int, generator: torch.Generator) -> Batch:
    """Random sentences without padding, about ``tokens`` target tokens in all, at least one sentence.

    Returns:
        a batch with source ``(B, length)`` and target ``(B, length + 1)``, B = tokens // length.
    """
    rows = max(tokens // length, 1)
    first = max(SPECIAL_IDS) + 1
    words = torch.randint(first, vocabulary, (2, rows, length), generator=generator)
    words[:, :, -1] = END_ID
    return Batch(words[0], torch.cat((torch.full((rows, 1), START_ID), words[1]), 1))


def training_speeds(
    models: Mapping[str, Model],
    *,
    lengths: Sequence[int] = LENGTHS,
    tokens: int = 2048,
    rounds: int = 7,
    device: torch.device,
    clock: Clock = time.perf_counter,
    progress: Callable[[int, int], None] | None = None,
) -> Speeds:
    """Time updates of copies of the models, in float32; the models themselves are not changed.

    Every model first makes one update of each length that is not counted. In a round all models take turns at
    each length, so that a busy moment of the machine hits all of them.

    Args:
        models: by name, all with the same vocabulary or larger than two words.
        tokens: about so many target tokens a batch.
        rounds: how often each is timed.
        device: where the copies run; on CUDA a time ends when the device is done.
        clock: for tests.
        progress: called with rounds done and rounds in all.

    Raises:
        SpeedError: nothing to time.
    """
    if not models or not lengths or min(lengths) < 2 or tokens < 1 or rounds < 1:
        raise SpeedError("timing needs a model, lengths of at least 2 tokens, a token a batch and a round")
    generator = torch.Generator().manual_seed(0)
    vocabulary = min(model.config.vocabulary for model in models.values())
    batches = [even_batch(vocabulary, length, tokens, generator).to(device) for length in lengths]
    updates = [_updater(model, device) for model in models.values()]
    seconds = np.zeros((len(updates), len(lengths), rounds))
    for turn in range(-1, rounds):
        for place, batch in enumerate(batches):
            for index, update in enumerate(updates):
                _wait(device)
                start = clock()
                update(batch)
                _wait(device)
                if turn >= 0:
                    seconds[index, place, turn] = clock() - start
        if progress is not None:
            progress(turn + 1, rounds)
    return Speeds(tuple(models), tuple(lengths), tuple(batch.tokens for batch in batches), seconds)


def _updater(model: Model, device: torch.device) -> Callable[[Batch], None]:
    """One update of a copy of a model, as the training loop makes it."""
    forced = TeacherForcing(copy.deepcopy(model).to(device).requires_grad_(True).train(), SMOOTHING)
    optimizer = torch.optim.AdamW(forced.parameters(), lr=1e-4)

    def update(batch: Batch) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss, _ = forced(batch)
        (loss / batch.tokens).backward()
        optimizer.step()

    return update


def _wait(device: torch.device) -> None:
    """Until the device has done everything it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
