"""Timing with a clock that the test moves: what is timed, how it is cut into slices, what is said of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from atlas.analysis.generation_timing import GenerationTimer, TimingError, achieved
from atlas.model import Transformer, TransformerConfig
from atlas.model.transformer import TooLongError


class Clock:
    """Says 0, 1, 2, ... : every question takes a second."""

    def __init__(self) -> None:
        self.now = -1.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Counting(Transformer):
    """A model that makes time pass: a cached step takes 1 s, an uncached one 10 s a token read."""

    clock: Clock

    def step(self, tokens, cache, recorder=None):
        self.clock.now += 1
        return super().step(tokens, cache, recorder)

    def decode(self, target, *rest, **more):
        self.clock.now += 10 * target.shape[1]
        return super().decode(target, *rest, **more)


def model(**options: object) -> Counting:
    torch.manual_seed(0)
    sizes = {"encoder_layers": 1, "decoder_layers": 2, "heads": 2, "width": 16, "ffn": 32}
    ours = Counting(TransformerConfig(vocabulary=40, **{**sizes, **options})).eval().requires_grad_(False)
    ours.clock = Clock()
    return ours


def timer(ours: Counting, length: int, rounds: int = 1) -> GenerationTimer:
    return GenerationTimer([5, 9, 2], [7, 8], length, rounds, ours.clock)


def test_every_step_gets_the_time_it_took() -> None:
    ours = model()
    work = timer(ours, 5)
    assert (work.done, work.total, work.finished) == (0, 5, False)
    work.advance(ours, 1e9)
    assert work.finished
    times = work.times
    assert times.cached.tolist() == [2, 2, 2, 2, 2]
    assert times.uncached.tolist() == [11, 21, 31, 41, 51]
    assert (times.total(3, cached=True), times.total(3, cached=False)) == (6, 63)
    assert (len(times), times.rounds, times.threads) == (5, 1, torch.get_num_threads())


def test_both_ways_compute_the_same() -> None:
    ours = model()
    work = timer(ours, 12)
    work.advance(ours, 1e9)
    assert 0 <= work.times.difference < 1e-4


def test_a_cache_that_is_wrong_is_found_out() -> None:
    class Forgetful(Counting):
        def step(self, tokens, cache, recorder=None):
            cache.length = 0
            return super().step(tokens, cache, recorder)

    ours = Forgetful(model().config).eval().requires_grad_(False)
    ours.clock = Clock()
    work = timer(ours, 4)
    work.advance(ours, 1e9)
    assert work.times.difference > 1e-2


def test_a_slice_ends_when_its_time_is_over() -> None:
    ours = model()
    work = timer(ours, 5)
    for done in range(1, 6):
        work.advance(ours, 0.5)
        assert work.done == done
    work.advance(ours, 0.5)
    assert work.done == 5
    assert work.times.uncached.tolist() == [11, 21, 31, 41, 51]


def test_the_fastest_round_of_each_step_counts() -> None:
    ours = model()
    work = timer(ours, 3, rounds=3)
    work.advance(ours, 1e9)
    assert (work.done, work.times.rounds) == (9, 3)
    work._seconds[0, :, 1] = [5, 1, 9]
    assert work.times.cached[1] == 1


def test_what_was_done_before_a_stop_is_kept() -> None:
    ours = model()
    work = timer(ours, 4, rounds=2)
    work.advance(ours, 0.5)
    work.advance(ours, 0.5)
    assert (len(work.times), work.times.rounds) == (2, 1)
    for _ in range(4):
        work.advance(ours, 0.5)
    assert (len(work.times), work.times.rounds) == (4, 1)
    assert np.isfinite(work.times.cached).all()


def test_nothing_to_time() -> None:
    with pytest.raises(TimingError, match="no tokens"):
        GenerationTimer([5, 2], [], 4)
    with pytest.raises(TimingError, match="0 tokens cannot be timed"):
        GenerationTimer([5, 2], [3], 0)


def test_too_long_for_the_model() -> None:
    ours = model(max_length=6)
    with pytest.raises(TooLongError, match="at most 6"):
        timer(ours, 7).advance(ours, 1)


def test_a_speed_needs_time() -> None:
    assert achieved(300, 2) == 150
    with pytest.raises(TimingError, match="no time has passed"):
        achieved(1, 0)
