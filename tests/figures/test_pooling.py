"""Pooling of large maps: no strong cell is lost, no number changes, and the payload stops growing."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from atlas.figures.heatmap import HeadMap, heatmap
from atlas.figures.lines import lines_payload
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


def make_map(tokens: int, sharpness: float = 0.05) -> HeadMap:
    weights = np.random.default_rng(1).dirichlet(np.full(tokens, sharpness), size=tokens).astype(np.float32)
    labels = tuple(f"w{place}" for place in range(tokens))
    return HeadMap(weights, labels, labels, np.log(np.maximum(weights, 1e-30)))


def sent(payload: dict[str, Any]) -> dict[int, float]:
    """The weights that travelled, by ``query * K + key``."""
    weights = np.frombuffer(base64.b64decode(payload["weights"]), "<f4")
    places = np.frombuffer(base64.b64decode(payload["cells"]), "<u4")
    return dict(zip(places.tolist(), weights.tolist(), strict=True))


@pytest.mark.parametrize("threshold", [0.02, 0.3])
def test_lines_under_the_threshold_stay_behind_and_are_counted(threshold: float) -> None:
    head = make_map(100)
    payload = lines_payload(head, threshold=threshold)
    flat = head.weights.ravel()
    assert sent(payload) == {place: flat[place] for place in np.flatnonzero(flat >= threshold).tolist()}
    assert payload["left_out"] == np.count_nonzero((flat > 0) & (flat < threshold))


def test_of_too_many_lines_the_strongest_are_sent() -> None:
    head = make_map(200, sharpness=1.0)
    payload = lines_payload(head, threshold=0.0)
    found, flat = sent(payload), head.weights.ravel()
    assert len(found) == 4096
    assert sorted(found.values(), reverse=True) == np.sort(flat)[::-1][:4096].tolist()
    assert payload["left_out"] == np.count_nonzero(flat) - 4096


def test_a_small_map_travels_whole() -> None:
    payload = lines_payload(make_map(64), threshold=0.5)
    assert payload["cells"] is None and payload["left_out"] == 0
    assert len(base64.b64decode(payload["weights"])) == 4 * 64 * 64


def test_a_heatmap_costs_its_numbers_and_not_a_text_a_cell() -> None:
    small, large = (len(heatmap(make_map(tokens)).to_json()) for tokens in (128, 256))
    numbers = (256**2 - 128**2) * (4 + 4 + 2) * 4 / 3
    assert large - small < 1.1 * numbers
