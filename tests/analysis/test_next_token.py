"""The next token: against softmax on paper, and against what sampling really draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from atlas.analysis.next_token import drawn_tokens, next_token
from atlas.analysis.passes import forced_pass
from atlas.decoding import SearchOptions
from atlas.decoding.sampling import sample
from tests.analysis.walked import SOURCE, TARGET, softmax
from tests.model.reference import small_model

LOGITS = np.array([9.0, 8.0, 1.0, 3.0, 2.0, 3.5, -4.0], np.float32)


def options(**values: float) -> SearchOptions:
    return SearchOptions(method="sample", **values)


def test_temperature_divides_the_logits_of_what_may_be_said():
    found = next_token(LOGITS, options(temperature=2.0))
    np.testing.assert_allclose(found.own, softmax(LOGITS.astype(float)), rtol=1e-12)
    np.testing.assert_allclose(found.heated[2:], softmax(LOGITS[2:].astype(float) / 2), rtol=1e-12)
    assert list(found.heated[:2]) == [0, 0], "<pad> and <s> are no part of a translation"
    np.testing.assert_array_equal(found.kept, found.heated)
    assert found.likeliest == 5
    assert found.ranked(3).tolist() == [0, 1, 5]
    assert found.share_kept == pytest.approx(1)


def test_cuts_leave_the_likeliest_and_divide_by_their_sum():
    found = next_token(LOGITS, options(top_k=2))
    assert np.flatnonzero(found.kept).tolist() == [3, 5]
    both = found.heated[[3, 5]]
    np.testing.assert_allclose(found.kept[[3, 5]], both / both.sum(), rtol=1e-12)
    assert found.share_kept == pytest.approx(both.sum())
    narrow = next_token(LOGITS, options(top_p=0.05))
    assert np.flatnonzero(narrow.kept).tolist() == [5]


@settings(max_examples=30, deadline=None)
@given(
    some.lists(some.floats(-8, 8, width=32), min_size=4, max_size=12),
    some.sampled_from([0.3, 1.0, 1.7]),
    some.integers(0, 5),
    some.sampled_from([0.2, 0.7, 1.0]),
)
def test_what_is_left_is_a_distribution_of_the_best(numbers, temperature, top_k, top_p):
    chosen = options(temperature=temperature, top_k=top_k, top_p=top_p)
    found = next_token(np.array(numbers, np.float32), chosen)
    assert found.kept.sum() == pytest.approx(1)
    left, gone = found.kept > 0, (found.kept == 0) & (found.heated > 0)
    assert not gone.any() or found.heated[left].min() >= found.heated[gone].max()
    assert top_k == 0 or left.sum() <= top_k


def test_a_draw_is_what_sampling_would_go_on_with():
    model = small_model()
    done = forced_pass(model, SOURCE, TARGET, wanted=())
    for seed in range(12):
        chosen = options(temperature=1.6, top_p=0.9, seed=seed, n_best=8, max_length=1)
        found = sample(model, [SOURCE], chosen, prefix=TARGET).hypotheses[0]
        ours = drawn_tokens(next_token(done.logits[-1], chosen).kept, seed, 8)
        assert {one.ids[len(TARGET)] for one in found} == set(ours.tolist())


def test_draws_follow_the_distribution_and_the_seed():
    distribution = np.array([0.0, 0.5, 0.2, 0.3])
    draws = drawn_tokens(distribution, 7, 4000)
    shares = np.bincount(draws, minlength=4) / 4000
    assert shares[0] == 0
    np.testing.assert_allclose(shares, distribution, atol=4 * math.sqrt(0.25 / 4000))
    np.testing.assert_array_equal(draws[:50], drawn_tokens(distribution, 7, 50))
    assert drawn_tokens(distribution, 8, 50).tolist() != draws[:50].tolist()
