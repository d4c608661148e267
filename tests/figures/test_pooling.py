"""Pooling of large maps: no strong cell is lost, no number changes, and the payload stops growing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from atlas.figures.mosaic import TILE, HeadGrid, mosaic_payload
from atlas.figures.pooling import block, pool_max


def make_grid(tokens: int, layers: int = 2, heads: int = 3) -> HeadGrid:
    weights = np.random.default_rng(0).dirichlet(np.full(tokens, 0.05), size=(layers, heads, tokens))
    weights = weights.astype(np.float32)
    labels = tuple(f"w{place}" for place in range(tokens))
    return HeadGrid(weights, weights.mean(axis=1), weights.max(axis=1), labels, labels)


@given(
    arrays(np.float32, array_shapes(min_dims=1, max_dims=3, max_side=40), elements=st.floats(0, 1, width=32)),
    st.integers(1, 50),
)
def test_each_place_is_the_largest_of_its_block(array: np.ndarray, most: int) -> None:
    pooled = pool_max(array, most)
    size = block(array.shape[-1], most)
    assert pooled.shape[-1] == -(-array.shape[-1] // size) <= most
    for place in range(pooled.shape[-1]):
        np.testing.assert_array_equal(
            pooled[..., place], array[..., place * size : (place + 1) * size].max(-1)
        )


def test_an_array_that_fits_is_left_alone_and_empty_cells_are_nothing() -> None:
    small = np.eye(3, dtype=np.float32)
    assert pool_max(small, 3) is small
    row = np.array([np.nan, 0.25, np.nan, np.nan, 0.5], np.float32)
    np.testing.assert_array_equal(pool_max(row, 3), np.array([0.25, np.nan, 0.5], np.float32))
    with pytest.raises(ValueError, match="at least one place"):
        block(3, 0)


def test_one_strong_cell_among_a_quarter_of_a_million_is_in_full_ink() -> None:
    weights = np.full((1, 1, 512, 512), 1e-3, np.float32)
    weights[0, 0, 300, 77] = 0.9
    labels = tuple(f"w{place}" for place in range(512))
    grid = HeadGrid(weights, weights[:, 0], weights[:, 0], labels, labels)
    shades = grid.shades("head")[0, 0]
    assert shades.shape == (64, 64) and grid.blocks == (8, 8)
    assert shades[300 // 8, 77 // 8] == 255 and np.count_nonzero(shades > 1) == 1
    assert grid.strongest(0, 0) == "layer 1 · head 1: strongest w300 → w77 0.90"
    assert "largest of 8 × 8 weights" in grid.pooling and grid.pooling in mosaic_payload(grid)["label"]


@pytest.mark.parametrize("tokens", [5, TILE, TILE + 1, 200])
def test_peaks_and_strongest_pairs_are_those_of_the_single_weights(tokens: int) -> None:
    grid = make_grid(tokens)
    np.testing.assert_array_equal(grid.peaks, grid.tiles.max(axis=(2, 3)))
    for layer, column in np.ndindex(grid.peaks.shape):
        tile = grid.tiles[layer, column]
        query, key = np.unravel_index(tile.argmax(), tile.shape)
        assert grid.strongest(layer, column).endswith(f"w{query} → w{key} {tile.max():.2f}")
    assert bool(grid.pooling) == (tokens > TILE)


def test_the_overview_stops_growing_with_the_sentence() -> None:
    sizes = [len(json.dumps(mosaic_payload(make_grid(tokens)))) for tokens in (TILE, 2 * TILE, 6 * TILE)]
    labels = 2 * 6 * TILE * len('"w000", ')
    assert max(sizes) - min(sizes) < labels + 1000
