"""The closest two positions: against every pair in a loop, and against the closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.analysis import distinct
from atlas.analysis.distinct import closest_rows, shift_distances, smallest_by_width
from atlas.analysis.positions import PositionsError, published_table


def every_pair(table: np.ndarray, length: int) -> float:
    return min(math.dist(table[i].tolist(), table[j].tolist()) for j in range(length) for i in range(j))


@given(st.integers(2, 30), st.integers(1, 6), st.integers(0, 1000))
def test_any_table_is_compared_pair_by_pair(length: int, width: int, seed: int) -> None:
    table = np.random.default_rng(seed).normal(size=(length, width))
    closest = closest_rows(table)
    assert len(closest.distance) == length - 1
    for n in range(2, length + 1):
        distance, first, second = closest.among(n)
        assert distance == pytest.approx(every_pair(table, n), rel=1e-8)
        assert 0 <= first < second < n
        assert math.dist(table[first].tolist(), table[second].tolist()) == pytest.approx(distance, rel=1e-12)


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(1).normal(size=(50, 3))
    whole = closest_rows(table)
    monkeypatch.setattr(distinct, "_BLOCK", 7)
    parts = closest_rows(table)
    for name in ("distance", "first", "second"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_equal_rows_have_distance_0_and_the_first_pair_is_named() -> None:
    table = np.array([[1e8, 1.0], [0.0, 0.0], [1e8, 1.0], [0.0, 0.0]])
    closest = closest_rows(table)
    assert closest.among(2)[0] == pytest.approx(1e8)
    assert closest.among(3) == (0.0, 0, 2)
    assert closest.among(4) == (0.0, 0, 2)


@pytest.mark.parametrize("width", [2, 4, 8, 16, 64])
@pytest.mark.parametrize("length", [2, 40, 700])
def test_the_formula_follows_its_closed_form(length: int, width: int) -> None:
    table = published_table(length, width)
    apart = shift_distances(length, width)
    for k in (1, length // 2, length - 1):
        if 0 < k < length:
            assert apart[k - 1] == pytest.approx(np.linalg.norm(table[0] - table[k]), abs=1e-9)
    distance, first, second = closest_rows(table).among(length)
    assert distance == pytest.approx(apart.min(), abs=1e-9)
    assert apart[second - first - 1] == pytest.approx(apart.min(), abs=1e-9)


def test_known_closest_pairs() -> None:
    """710 is nearly 113 turns (355/113 is nearly π), and 6283 nearly a turn of the slower pair of four."""
    smallest, shifts = smallest_by_width(10_000, [2, 4, 8, 128])
    assert shifts.tolist() == [710, 1885, 6283, 1]
    assert smallest[0] == pytest.approx(abs(710 - 113 * 2 * math.pi), rel=1e-6)
    one_step = sum(4 * math.sin(10000 ** (-2 * i / 128) / 2) ** 2 for i in range(64))
    assert smallest[3] == pytest.approx(math.sqrt(one_step))


@pytest.mark.slow
def test_ten_thousand_positions_in_bounded_memory() -> None:
    import tracemalloc

    table = published_table(10_000, 8)
    tracemalloc.start()
    closest = closest_rows(table)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert closest.among(10_000) == (pytest.approx(shift_distances(10_000, 8).min(), rel=1e-9), 0, 6283)
    assert peak < 120 * 2**20, "all pairs at once would take 800 MB"


@pytest.mark.parametrize("table", [np.zeros((1, 4)), np.zeros(4)])
def test_one_row_is_refused(table: np.ndarray) -> None:
    with pytest.raises(PositionsError, match="two positions are needed"):
        closest_rows(table)


def test_one_position_or_an_odd_width_is_refused() -> None:
    with pytest.raises(PositionsError, match="two positions"):
        shift_distances(1, 4)
    with pytest.raises(PositionsError, match="even width"):
        smallest_by_width(10, [4, 5])
