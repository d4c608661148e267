"""What wakes a unit: against counting one sentence at a time, in plain loops."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from atlas.analysis.feed_forward import UnitError
from atlas.analysis.passes import forced_pass
from atlas.analysis.units import layer_from, measure_units, to_arrays
from tests.model.reference import VOCABULARY, small_model

SOURCES = [[5, 9, 2], [9, 9, 11, 5, 2], [7, 2], [5, 7, 9, 9, 3, 2]]
TARGETS = [[1, 4, 6], [1, 4, 4, 8, 6], [1, 6], [1, 8, 4]]
MODEL = small_model().float()


def counted(side: str, layer: int) -> tuple[dict, list, list]:
    """Activations of every unit by token, and of every unit at every place."""
    by_token, everything, tokens = defaultdict(list), [], []
    for source, target in zip(SOURCES, TARGETS, strict=True):
        hidden = forced_pass(MODEL, source, target[1:], wanted=("hidden",))[f"{side}.{layer}.ffn.hidden"]
        for token, row in zip(source if side == "encoder" else target, hidden, strict=True):
            by_token[token].append(row)
            everything.append(row)
            tokens.append(token)
    return by_token, everything, tokens


@pytest.mark.parametrize("batch", [1, 3, 32])
@pytest.mark.parametrize(("side", "layer"), [("encoder", 0), ("encoder", 1), ("decoder", 2)])
def test_means_and_silence_are_those_of_a_count(side, layer, batch):
    units = measure_units(MODEL, SOURCES, TARGETS, kept=2, least=2, batch=batch)
    found = units.layers[side, layer]
    by_token, everything, tokens = counted(side, layer)
    rows = np.stack(everything)
    for unit in range(24):
        means = {
            token: float(np.mean([row[unit] for row in held]))
            for token, held in by_token.items()
            if len(held) >= 2
        }
        best = sorted(means.values(), reverse=True)[:2]
        np.testing.assert_allclose(found.means[unit], best, rtol=1e-4, atol=1e-6)
        for token, mean in zip(found.tokens[unit], found.means[unit], strict=True):
            assert means[token] == pytest.approx(mean, rel=1e-4, abs=1e-6)
        assert found.silent[unit] == pytest.approx(np.mean([row[unit] == 0 for row in everything]))
        assert found.largest[unit] == pytest.approx(rows[:, unit].max(), rel=1e-4, abs=1e-6)
        at = {tokens[place] for place in np.flatnonzero(rows[:, unit] >= rows[:, unit].max() - 1e-5)}
        assert found.at[unit] in at
    side_rows = SOURCES if side == "encoder" else TARGETS
    flat = [token for row in side_rows for token in row]
    assert units.counts[side].tolist() == [flat.count(token) for token in range(VOCABULARY)]


def test_rare_tokens_are_not_ranked():
    units = measure_units(MODEL, SOURCES, TARGETS, kept=8, least=3)
    found = units.layers["encoder", 0]
    assert set(found.tokens.ravel().tolist()) <= {5, 9, 2, 0}
    assert (found.tokens[:, 3:] == 0).all(), "three tokens are read three times; the rest is <pad>"
    assert (found.means[:, 3:] == 0).all()


def test_stored_arrays_give_the_same_layer():
    units = measure_units(MODEL, SOURCES, TARGETS)
    arrays = to_arrays(units)
    assert {array.dtype for array in arrays.values()} == {*map(np.dtype, (np.uint16, np.float16, np.int32))}
    found, again = units.layers["decoder", 1], layer_from(arrays, "decoder", 1)
    np.testing.assert_array_equal(again.tokens, found.tokens)
    np.testing.assert_array_equal(again.at, found.at)
    for what in ("means", "silent", "largest"):
        np.testing.assert_allclose(getattr(again, what), getattr(found, what), rtol=1e-3, atol=1e-6)
    with pytest.raises(UnitError, match="no decoder layer 3"):
        layer_from(arrays, "decoder", 3)


def test_progress_counts_sentences():
    told: list[tuple[int, int]] = []
    measure_units(MODEL, SOURCES, TARGETS, batch=3, progress=lambda done, total: told.append((done, total)))
    assert told == [(3, 4), (4, 4)]


def test_nothing_to_read_is_refused():
    with pytest.raises(UnitError, match="0 sentences with 0 translations"):
        measure_units(MODEL, [], [])
    with pytest.raises(UnitError, match="4 sentences with 3 translations"):
        measure_units(MODEL, SOURCES, TARGETS[:3])
