"""The steps from pieces to words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from atlas.trace import words
from tests.traces import make_tokens

warnings.simplefilter("error")


@st.composite
def maps(draw: st.DrawFn) -> NDArray[np.float32]:
    """Random attention (L, H, Q, K), some rows with all their weight on one key."""
    shape = draw(st.tuples(*[st.integers(1, 3)] * 2, *[st.integers(1, 6)] * 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    powers = np.exp(draw(st.floats(0, 30)) * rng.normal(size=shape))
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


@st.composite
def partition(draw: st.DrawFn, size: int) -> list[list[int]]:
    """Neighbouring indices in groups."""
    edges = sorted({0, size, *draw(st.lists(st.integers(0, size)))})
    return [list(range(start, end)) for start, end in zip(edges, edges[1:], strict=False)]


def rows_sum_to_one(weights: NDArray[np.float32]) -> bool:
    empty = np.isnan(weights)
    sums = np.where(empty, 0, weights).sum(-1, dtype=np.float64)
    whole = (empty.all(-1) & (weights.shape[-1] > 0)) | (np.abs(sums - 1) < 1e-5)
    return bool(whole.all() and (empty.all(-1) == empty.any(-1)).all())


@settings(deadline=None)
@given(maps(), st.data())
def test_every_step_but_the_maximum_keeps_rows_at_one(weights: NDArray[np.float32], data: st.DataObject):
    queries, keys = weights.shape[-2:]
    special_queries = data.draw(st.lists(st.booleans(), min_size=queries, max_size=queries))
    special_keys = data.draw(
        st.lists(st.booleans(), min_size=keys, max_size=keys).filter(lambda all_: not all(all_))
    )
    shown = words.hide_special(weights, special_queries, special_keys)
    assert rows_sum_to_one(shown) and shown.dtype == np.float32
    merged = words.merge_keys(shown, data.draw(partition(shown.shape[-1])))
    assert rows_sum_to_one(merged)
    merged = words.merge_queries(merged, data.draw(partition(merged.shape[-2])))
    assert rows_sum_to_one(merged) and rows_sum_to_one(words.mean_heads(merged))
    highest = words.max_heads(merged)
    filled = ~np.isnan(highest).any(-1)
    sums = highest[filled].sum(-1)
    assert (sums > 1 - 1e-5).all() and (sums < weights.shape[1] + 1e-5).all()


def test_keys_are_summed_and_queries_averaged():
    weights = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]], np.float32)
    assert np.allclose(words.merge_keys(weights, [[0, 1], [2]]), [[0.3, 0.7], [0.6, 0.4]])
    assert np.allclose(words.merge_queries(weights, [[0, 1]]), [[0.2, 0.25, 0.55]])


def test_hidden_tokens_leave_the_shares_of_the_others():
    weights = np.array([[0.1, 0.3, 0.6], [0.0, 0.0, 1.0], [0.2, 0.2, 0.6]], np.float32)
    shown = words.hide_special(weights, [False, False, True], [False, False, True])
    assert np.allclose(shown[0], [0.25, 0.75]) and np.isnan(shown[1]).all() and shown.shape == (2, 2)


def test_a_row_whose_whole_weight_was_hidden_is_empty_and_not_magnified_noise():
    weights = np.array([[1e-9, 3e-9, 1.0], [1e-5, 3e-5, 1.0]], np.float32)
    shown = words.hide_special(weights, [False, False], [False, False, True])
    assert np.isnan(shown[0]).all() and np.allclose(shown[1], [0.25, 0.75])


def test_empty_rows_stay_out_of_means_and_maxima():
    empty = [np.nan, np.nan]
    heads = np.array([[empty, [0.5, 0.5]], [[0.2, 0.8], [0.1, 0.9]]], np.float32)
    assert np.allclose(words.mean_heads(heads), [[0.2, 0.8], [0.3, 0.7]])
    assert np.allclose(words.max_heads(heads), [[0.2, 0.8], [0.5, 0.9]])
    assert np.allclose(words.merge_queries(heads, [[0, 1]]), [[[0.5, 0.5]], [[0.15, 0.85]]])
    gone = np.full((2, 3, 2), np.nan, np.float32)
    for step in (words.mean_heads(gone), words.max_heads(gone), words.merge_queries(gone, [[0, 1, 2]])):
        assert np.isnan(step).all()
    assert np.isnan(words.merge_keys(gone, [[0, 1]])).all()


def test_nothing_left_keeps_its_axes():
    weights = np.ones((2, 3, 1, 1), np.float32)
    shown = words.hide_special(weights, [True], [True])
    assert shown.shape == (2, 3, 0, 0)
    assert words.merge_queries(words.merge_keys(shown, []), []).shape == (2, 3, 0, 0)
    assert words.mean_heads(shown).shape == (2, 0, 0)


@pytest.mark.case("T1")
def test_words_join_their_pieces_and_repeated_words_stay_apart():
    text = "the unbelievable, the 🦊 unbelievable"
    tokens = make_tokens(text, seed=1)
    groups = words.word_groups(tokens, text)
    assert [group.label for group in groups] == [
        "the",
        "unbelievable",
        ",",
        "the",
        "🦊",
        "unbelievable",
        "</s>",
    ]
    assert [member for group in groups for member in group.members] == list(range(len(tokens)))
    assert [group.text for group in groups[:-1]] == [text[group.start : group.end] for group in groups[:-1]]
    assert groups[-1].special and groups[-1].word == -1
    singles = words.piece_groups(tokens)
    assert [group.label for group in singles] == [token.label for token in tokens]
