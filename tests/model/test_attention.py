"""One attention: masks, the two ways to compute it, and what a recorder sees."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.model import Recorder
from atlas.model.attention import attend, causal_mask
from atlas.model.softmax import softmax

sizes = st.integers(1, 7)
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
dtypes = st.sampled_from(list(TOLERANCE))


def heads(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@settings(deadline=None)
@given(past=st.integers(0, 6), queries=sizes)
def test_a_query_sees_itself_and_all_that_came_before(past: int, queries: int):
    mask = causal_mask(queries, past + queries)
    assert mask.shape == (queries, past + queries) and mask.dtype == torch.bool
    for query in range(queries):
        for key in range(past + queries):
            assert mask[query, key] == (key <= past + query)


@settings(deadline=None)
@given(st.integers(0, 1000), sizes, sizes, dtypes, st.data())
def test_fast_explicit_and_recorded_agree_under_any_mask(seed, queries, keys, dtype, data):
    query, key, value = (
        heads(seed + part, 2, 3, length, 4, dtype=dtype) for part, length in enumerate((queries, keys, keys))
    )
    rows = st.lists(st.booleans(), min_size=keys, max_size=keys).filter(any)
    mask = torch.tensor([data.draw(rows) for _ in range(2 * queries)]).view(2, 1, queries, keys)
    recorder = Recorder()
    recorded = attend(query, key, value, mask, recorder, "here")
    fast = attend(query, key, value, mask)
    explicit = attend(query, key, value, mask, explicit=True)
    assert (fast - recorded).abs().max() < TOLERANCE[dtype]
    assert (explicit - recorded).abs().max() < TOLERANCE[dtype]
    weights, scores = recorder["here.weights"], recorder["here.scores"]
    hidden = ~mask.expand_as(weights)
    assert (weights[hidden] == 0).all() and (scores[hidden] == -torch.inf).all()
    assert (weights.sum(-1) - 1).abs().max() < 1e-5
    assert (weights @ value - recorded).abs().max() < TOLERANCE[dtype]
    assert (scores.softmax(-1) - weights).abs().max() < 1e-6
    shown = ~hidden
    expected = torch.einsum("bhqk,bhsk->bhqs", query, key) / 2  # sqrt(K) is 2
    assert (scores[shown] - expected[shown]).abs().max() < TOLERANCE[dtype]
    assert recorder["here.q"] is not None and torch.equal(recorder["here.v"], value)


@pytest.mark.case("A3")
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 1000), sizes, sizes, dtypes, st.data())
def test_a_row_that_sees_nothing_is_zero_on_every_path(seed, queries, keys, dtype, data):
    query, key, value = (
        heads(seed + part, 1, 2, length, 4, dtype=dtype) for part, length in enumerate((queries, keys, keys))
    )
    blind = data.draw(st.lists(st.booleans(), min_size=queries, max_size=queries).filter(any))
    mask = ~torch.tensor(blind).view(1, 1, queries, 1).expand(1, 1, queries, keys)
    recorder = Recorder()
    for found in (
        attend(query, key, value, mask),
        attend(query, key, value, mask, explicit=True),
        attend(query, key, value, mask, recorder, "here"),
    ):
        assert found.isfinite().all()
        assert (found[:, :, blind] == 0).all()
    weights = recorder["here.weights"]
    assert (weights[:, :, blind] == 0).all() and weights.isfinite().all()
    seeing = ~np.array(blind)
    assert (weights[:, :, seeing].sum(-1) - 1).abs().max() < 1e-5 if seeing.any() else True


def test_scores_far_apart_do_not_overflow():
    query = torch.tensor([[[[400.0, 0.0]]]])
    key = torch.tensor([[[[400.0, 0.0], [-400.0, 0.0]]]])
    recorder = Recorder()
    found = attend(query, key, key, None, recorder, "here")
    assert torch.equal(found, key[:, :, :1])
    assert recorder["here.weights"].tolist() == [[[[1.0, 0.0]]]]


def test_a_recorder_keeps_only_what_was_asked_for_and_no_gradient():
    wanted = Recorder(("weights",))
    query = heads(0, 1, 1, 3, 2).requires_grad_()
    attend(query, query, query, None, wanted, "encoder.0.self")
    assert list(wanted.points) == ["encoder.0.self.weights"]
    assert not wanted["encoder.0.self.weights"].requires_grad
    with pytest.raises(KeyError):
        wanted["encoder.0.self.scores"]


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 40])
def test_short_rows_are_filled_up_and_nobody_sees_it(count: int):
    """Values and gradients are PyTorch's own, hidden keys exactly zero, a blind row what it was."""
    scores = torch.randn(3, 5, count, dtype=torch.float64, generator=torch.Generator().manual_seed(count))
    scores[0, 0, : count // 2] = -math.inf
    ours, theirs = (scores.clone().requires_grad_() for _ in range(2))
    weights, expected = softmax(ours), theirs.softmax(-1)
    assert weights.shape == scores.shape
    assert torch.allclose(weights, expected, rtol=0, atol=1e-15)
    assert (weights[0, 0, : count // 2] == 0).all()
    slope = torch.randn(scores.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    weights.backward(slope)
    expected.backward(slope)
    assert torch.allclose(ours.grad, theirs.grad, rtol=0, atol=1e-15)
    assert softmax(torch.full((count,), -math.inf)).isnan().all()
