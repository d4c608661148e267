"""Spearman's rank correlation against counting pairs and against its closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from atlas.analysis.rank_correlation import average_ranks, spearman, spearman_matrix

SERIES = arrays(np.float64, st.integers(2, 9), elements=st.integers(-3, 3).map(float))


@given(SERIES)
def test_ranks_by_counting(values: np.ndarray) -> None:
    counted = [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]
    assert average_ranks(values).tolist() == counted


@given(st.data(), SERIES)
def test_against_brute_force(data: st.DataObject, first: np.ndarray) -> None:
    second = data.draw(arrays(np.float64, len(first), elements=st.integers(-3, 3).map(float)))
    one = [sum(v < x for v in first) + (sum(v == x for v in first) + 1) / 2 for x in first]
    two = [sum(v < x for v in second) + (sum(v == x for v in second) + 1) / 2 for x in second]
    mean = (len(first) + 1) / 2
    above = sum((a - mean) * (b - mean) for a, b in zip(one, two, strict=True))
    below = math.sqrt(sum((a - mean) ** 2 for a in one) * sum((b - mean) ** 2 for b in two))
    if below == 0:
        assert math.isnan(spearman(first, second))
    else:
        assert spearman(first, second) == pytest.approx(above / below, abs=1e-12)


def test_without_ties_it_is_the_published_formula() -> None:
    generator = np.random.default_rng(0)
    first, second = generator.permutation(12), generator.permutation(12)
    apart = ((first - second) ** 2).sum()
    assert spearman(first, second) == pytest.approx(1 - 6 * apart / (12 * (12**2 - 1)))
    assert spearman(first, first) == 1 and spearman(first, -first) == -1


def test_the_matrix_is_symmetric_and_marks_what_is_not_defined() -> None:
    rows = np.array([[1.0, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1]])
    matrix = spearman_matrix(rows)
    assert matrix[:2, :2].tolist() == [[1, -1], [-1, 1]]
    assert np.isnan(matrix[2]).all() and np.isnan(matrix[:, 2]).all()


def test_what_cannot_be_ranked() -> None:
    with pytest.raises(ValueError, match="one length"):
        spearman(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        spearman(np.array([0, np.nan]), np.zeros(2))
    assert math.isnan(spearman(np.zeros(1), np.zeros(1)))
