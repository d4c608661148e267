"""The shared cache: bounded, computed once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from atlas.ui.gate import NoTurn
from atlas.ui.results import BoundedCache, held_bytes


def test_the_least_recently_used_goes_first() -> None:
    cache: BoundedCache[bytes] = BoundedCache(10, len)
    for key in "ab":
        cache.get(key, lambda: bytes(4))
    cache.get("a", lambda: pytest.fail("a is kept"))
    cache.get("c", lambda: bytes(4))
    assert cache.nbytes == 8
    cache.get("a", lambda: pytest.fail("a was used later than b"))
    assert cache.get("b", lambda: b"new") == b"new"


def test_what_is_too_large_is_returned_and_not_kept() -> None:
    cache: BoundedCache[bytes] = BoundedCache(10, len)
    assert len(cache.get("a", lambda: bytes(11))) == 11
    assert (len(cache), cache.nbytes) == (0, 0)


def test_computed_once_for_all_who_ask() -> None:
    cache: BoundedCache[bytes] = BoundedCache(100, len)
    calls = []

    def compute() -> bytes:
        calls.append(1)
        time.sleep(0.1)
        return b"x"

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: cache.get("k", compute), range(8)))
    assert results == [b"x"] * 8
    assert len(calls) == 1


def test_an_error_reaches_everyone_and_is_not_kept() -> None:
    cache: BoundedCache[bytes] = BoundedCache(100, len)
    started = threading.Event()

    def fail() -> bytes:
        started.set()
        time.sleep(0.1)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "k", fail)
        started.wait()
        second = pool.submit(cache.get, "k", lambda: b"unused")
        for future in (first, second):
            with pytest.raises(ValueError, match="no"):
                future.result()
    assert cache.get("k", lambda: b"fine") == b"fine"


def test_other_keys_do_not_wait() -> None:
    cache: BoundedCache[bytes] = BoundedCache(100, len)
    release = threading.Event()

    def slow() -> bytes:
        release.wait(5)
        return b"slow"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(cache.get, "slow", slow)
        assert cache.get("fast", lambda: b"fast") == b"fast"
        release.set()
        assert waiting.result() == b"slow"


@dataclass
class Answer:
    rows: np.ndarray
    names: tuple[str, ...]


def test_the_bytes_of_a_result_are_those_of_all_that_it_holds() -> None:
    answer = Answer(np.zeros((10, 100)), ("a" * 500,))
    for result in (answer, [answer], {"x": answer}, {"x": [(answer,)]}):
        assert 8500 <= held_bytes(result) < 8500 + 64 * 10
    assert held_bytes(None) > 0


def test_who_waits_tries_for_himself_when_the_other_was_not_let_in() -> None:
    cache: BoundedCache[bytes] = BoundedCache(100, len)
    started, go = threading.Event(), threading.Event()

    def not_let_in() -> bytes:
        started.set()
        go.wait(20)
        raise NoTurn("the visitor went away")

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(cache.get, "k", not_let_in)
        started.wait()
        others = [pool.submit(cache.get, "k", lambda: b"found") for _ in range(2)]
        time.sleep(0.05)
        go.set()
        with pytest.raises(NoTurn):
            first.result(20)
        assert [other.result(20) for other in others] == [b"found"] * 2
