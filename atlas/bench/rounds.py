"""Timing several jobs in turns, so that a busy moment of the machine hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Job = Callable[[], object]
Clock = Callable[[], float]
"""Seconds from some fixed moment."""
Name = TypeVar("Name")


def in_turns(
    jobs: Mapping[Name, Job],
    rounds: int,
    *,
    warm: int = 1,
    clock: Clock = time.perf_counter,
    progress: Callable[[int, int], None] | None = None,
) -> dict[Name, NDArray[np.float64]]:
    """Seconds of every job in every round, ``(rounds,)`` each.

    In a round all jobs run once, in an order that moves on by one from round to round: none always follows
    the same neighbour. A job that runs on another device must wait for it itself.

    Args:
        jobs: by name; each does all of its work when called.
        rounds: how often each is timed.
        warm: rounds before, that are not counted.
        clock: for tests.
        progress: called with rounds done and rounds in all.
    """
    names = list(jobs)
    seconds = {name: np.zeros(rounds) for name in names}
    for turn in range(-warm, rounds):
        for place in range(len(names)):
            name = names[(place + turn) % len(names)]
            start = clock()
            jobs[name]()
            if turn >= 0:
                seconds[name][turn] = clock() - start
        if progress is not None:
            progress(max(turn + 1, 0), rounds)
    return seconds


def ratio(times: NDArray[np.float64], reference: NDArray[np.float64]) -> float:
    """How many times as long as the reference: the median over the rounds of the ratio within a round."""
    return float(np.median(times / reference))
