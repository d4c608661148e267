"""The causal mask: exact zeros, no light from the future, and a constant that a softmax does not notice."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from atlas.analysis.masks import (
    Head,
    MaskError,
    additive_difference,
    additive_mask,
    blind_row,
    change_token,
    chunk_with_ones,
    hidden_weights,
    shift_differences,
)
from atlas.analysis.passes import forced_pass
from atlas.model import Transformer, TransformerConfig

SOURCE, TARGET = [5, 9, 14, 2], [7, 7, 21, 4, 30]


def model(*, causal: bool = True, norm: str = "pre") -> Transformer:
    torch.manual_seed(1)
    sizes = {"encoder_layers": 2, "decoder_layers": 2, "heads": 2, "width": 16, "ffn": 32}
    return Transformer(TransformerConfig(vocabulary=40, causal=causal, norm=norm, **sizes)).eval()


def head() -> Head:
    return Head.of(forced_pass(model(), SOURCE, TARGET), 1, 0)


def softmax(rows: np.ndarray) -> np.ndarray:
    powers = np.exp(rows - rows.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_the_mask_is_written_out() -> None:
    hidden = -math.inf
    assert additive_mask(3).tolist() == [[0, hidden, hidden], [0, 0, hidden], [0, 0, 0]]
    assert additive_mask(2, 1.0).tolist() == [[1, hidden], [1, 1]]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_no_weight_above_the_diagonal(norm: str) -> None:
    seen = forced_pass(model(norm=norm), SOURCE, TARGET)
    found = hidden_weights([seen[f"decoder.{layer}.self.weights"] for layer in range(2)])
    length = len(TARGET) + 1
    assert (found.cells, found.heads) == (4 * length * (length - 1) // 2, 4)
    assert (found.nonzero, found.largest) == (0, 0.0)


def test_without_a_mask_the_weights_are_counted() -> None:
    seen = forced_pass(model(causal=False), SOURCE, TARGET)
    weights = [seen[f"decoder.{layer}.self.weights"] for layer in range(2)]
    found = hidden_weights(weights)
    above = np.triu(np.ones((6, 6), bool), 1)
    assert found.nonzero == found.cells == 60
    assert found.largest == max(layer[:, above].max() for layer in weights)


@pytest.mark.parametrize("place", [1, 3, 5])
def test_a_replaced_token_changes_nothing_before_it(place: int) -> None:
    found = change_token(model(), SOURCE, TARGET, place, 11)
    assert found.before == 0.0
    assert found.after > 1e-3
    assert (found.old, found.new) == (TARGET[place - 1], 11)
    changed = [*TARGET[: place - 1], 11, *TARGET[place:]]
    with torch.inference_mode():
        source = torch.tensor([SOURCE])
        ours = [
            model()(source, source > 0, torch.tensor([[1, *ids]]))[0].numpy() for ids in (TARGET, changed)
        ]
    change = np.abs(ours[1] - ours[0]).max(axis=1)
    assert change[:place].max() == 0.0  # also in the fused attention that generation uses
    np.testing.assert_allclose(found.differences, change, atol=1e-5)


def test_without_a_mask_the_future_is_seen() -> None:
    assert change_token(model(causal=False), SOURCE, TARGET, 3, 11).before > 1e-3


@pytest.mark.parametrize("place", [0, 6])
def test_a_place_that_is_not_there(place: int) -> None:
    with pytest.raises(MaskError, match=f"from 1 to 5, not {place}"):
        change_token(model(), SOURCE, TARGET, place, 11)


def test_heads_that_are_not_there() -> None:
    seen = forced_pass(model(), SOURCE, TARGET)
    for layer, number in ((2, 0), (0, 2)):
        with pytest.raises(MaskError, match=f"layer {layer + 1} with a head {number + 1}"):
            Head.of(seen, layer, number)


@pytest.mark.parametrize("allowed", [0.0, 1.0, -7.5])
def test_an_added_mask_gives_the_model_s_own_heads(allowed: float) -> None:
    assert additive_difference(head(), allowed) < 1e-6


def test_an_added_mask_that_hides_nothing_does_not() -> None:
    unmasked = head()
    wrong = softmax(unmasked.scores) @ unmasked.v
    assert additive_difference(replace(unmasked, heads=wrong)) > 1e-4


def test_a_constant_is_not_noticed_but_for_rounding() -> None:
    scores = np.random.default_rng(0).normal(size=(9, 9)) * 3
    found = shift_differences(scores)
    masks = additive_mask(9), additive_mask(9, 1.0)
    by_hand = np.abs(softmax(scores + masks[0]) - softmax(scores + masks[1])).max()
    assert found["float64"] < 1e-15 and by_hand < 1e-15
    assert 0 < found["float32"] < 1e-6
    assert found["float32"] < found["float16"] < found["bfloat16"] < 0.1
    numpy = [
        softmax(scores.astype(np.float32) + mask.astype(np.float32)).astype(np.float32) for mask in masks
    ]
    assert found["float32"] == pytest.approx(np.abs(numpy[0] - numpy[1]).max(), abs=1e-7)


def test_a_chunk_after_a_cache_does_notice() -> None:
    scores = np.random.default_rng(1).normal(size=(6, 6))
    found = chunk_with_ones(scores, 3)
    row = scores[3, :4]
    np.testing.assert_allclose(found.right, softmax(row), rtol=1e-12)
    np.testing.assert_allclose(found.wrong, softmax(row + [0, 0, 0, 1]), rtol=1e-12)
    odds = [weights[3] / weights[0] for weights in (found.right, found.wrong)]
    assert odds[1] / odds[0] == pytest.approx(math.e)
    assert found.largest > 0.01


@pytest.mark.parametrize("past", [0, 6])
def test_a_chunk_needs_a_cache_and_a_token(past: int) -> None:
    with pytest.raises(MaskError, match=f"1 to 5 of 6 tokens, not {past}"):
        chunk_with_ones(np.zeros((6, 6)), past)


def test_a_row_that_sees_nothing() -> None:
    found = blind_row(head())
    assert found.additive == found.width == 8
    assert found.ours == 0.0
