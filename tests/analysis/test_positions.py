import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.analysis import positions
from atlas.analysis.positions import PositionsError

even_widths = st.integers(1, 32).map(lambda pairs: 2 * pairs)


def test_table_is_the_published_formula():
    table = positions.published_table(60, 16)
    for pos in (0, 1, 7, 59):
        for i in range(8):
            angle = pos / 10000 ** (2 * i / 16)
            assert table[pos, 2 * i] == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[pos, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-12)


def test_a_dimension_repeats_after_its_wavelength():
    width = 12
    waves = positions.wavelengths(width)
    assert waves[0] == waves[1] == pytest.approx(2 * math.pi)
    assert waves[-1] == pytest.approx(2 * math.pi * 10000 ** (10 / 12))
    angle = waves * np.repeat(positions.frequencies(width), 2)
    np.testing.assert_allclose(angle, 2 * math.pi)


@given(even_widths, st.integers(-50, 50))
def test_one_matrix_moves_every_position(width, shift):
    residual = positions.rotation_residual(positions.published_table(64, width), shift)
    assert residual.largest < 1e-11
    assert residual.positions == 64 - abs(shift)


@given(even_widths, st.integers(-9, 9), st.integers(-9, 9))
def test_rotations_compose_and_invert(width, a, b):
    first, second = positions.rotation(a, width), positions.rotation(b, width)
    np.testing.assert_allclose(first @ second, positions.rotation(a + b, width), atol=1e-12)
    np.testing.assert_allclose(first.T, positions.rotation(-a, width), atol=1e-12)


def test_residual_names_where_a_table_does_not_turn():
    table = positions.published_table(20, 8)
    table[13, 5] += 0.25
    residual = positions.rotation_residual(table, 3)
    assert (residual.position, residual.dimension) in {(10, 5), (13, 4), (13, 5)}
    assert 0.1 < residual.largest <= 0.25 + 1e-9


@pytest.mark.parametrize("shift", [20, -20, 99])
def test_a_shift_longer_than_the_table_is_refused(shift):
    with pytest.raises(PositionsError, match="nothing to compare"):
        positions.rotation_residual(positions.published_table(20, 8), shift)


@pytest.mark.parametrize("width", [0, 1, 7])
def test_an_odd_width_is_refused(width):
    with pytest.raises(PositionsError, match="even width"):
        positions.wavelengths(width)


def test_dot_product_depends_on_distance_alone():
    width = 32
    profile = positions.distance_profile(positions.published_table(40, width))
    np.testing.assert_allclose(profile.low, profile.high, atol=1e-11)
    expected = [np.cos(positions.frequencies(width) * k).sum() for k in profile.distance]
    np.testing.assert_allclose(profile.mean, expected, atol=1e-11)
    assert profile.distance[profile.mean.argmax()] == 0
    assert profile.mean.max() == pytest.approx(width / 2)


def test_profile_of_any_table_is_symmetric_and_ordered():
    table = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    profile = positions.distance_profile(table, furthest=4)
    assert profile.distance.tolist() == list(range(-4, 5))
    np.testing.assert_allclose(profile.mean, profile.mean[::-1])
    assert (profile.low <= profile.mean).all()
    assert (profile.mean <= profile.high).all()
    assert profile.mean[6] == pytest.approx(np.mean([table[i] @ table[i + 2] for i in range(7)]), rel=1e-5)
    with pytest.raises(PositionsError, match="from 0 to 8"):
        positions.distance_profile(table, furthest=9)


def test_altered_tables():
    table = positions.published_table(10, 4)
    assert not positions.zeroed(table).any()
    moved = positions.shifted(table, 3, 5)
    np.testing.assert_array_equal(moved, table[3:8])
    moved[:] = 7
    assert table.max() <= 1, "the model's own table must not change"
    with pytest.raises(PositionsError, match="needs 11 positions, the table has 10"):
        positions.shifted(table, 6, 5)
    with pytest.raises(PositionsError, match="at least 0"):
        positions.shifted(table, -1, 5)
    with pytest.raises(PositionsError, match="shape"):
        positions.zeroed(table[0])


@given(st.lists(st.sampled_from("abc"), max_size=6), st.integers(0, 1000))
def test_a_shuffle_reads_differently_and_keeps_every_word(words, seed):
    order = positions.shuffled_order(words, seed)
    assert sorted(order) == list(range(len(words)))
    assert order == positions.shuffled_order(words, seed)
    assert ([words[i] for i in order] != words) == (len(set(words)) > 1)


def test_tokens_of_a_word_stay_together():
    assert positions.token_order([1, 3, 2], [2, 0, 1]) == [4, 5, 0, 1, 2, 3, 6]
    assert positions.token_order([], []) == [0]


def _encoder(width: int):
    """A stand-in for an encoder: one attention layer over embeddings plus positions."""
    generator = np.random.default_rng(3)
    embedding = generator.normal(size=(50, width))
    table = positions.published_table(64, width)

    def encode(ids, source_positions):
        x = embedding[list(ids)] + (table if source_positions is None else source_positions)[: len(ids)]
        scores = x @ x.T / math.sqrt(width)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True) @ x

    return encode


def test_without_positions_outputs_are_shuffled_with_positions_they_change():
    ids, order = [5, 9, 12, 3, 2], [3, 1, 0, 2, 4]
    result = positions.shuffle_experiment(_encoder(8), ids, order, 8)
    assert result.largest_without < 1e-12
    assert result.largest_with > 0.01
    assert result.with_positions.shape == result.without_positions.shape == (5,)
    assert result.scale > 0


def test_an_order_that_is_no_permutation_is_refused():
    with pytest.raises(PositionsError, match="each of the 2 tokens once"):
        positions.shuffle_experiment(_encoder(8), [5, 9], [0, 0], 8)
