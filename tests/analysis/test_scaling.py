"""The divisor: closed forms, random vectors against them, and the live model."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from atlas.analysis.attention_steps import WANTED
from atlas.analysis.information import entropy
from atlas.analysis.passes import forced_pass
from atlas.analysis.scaling import (
    WIDTHS,
    divisor_curves,
    divisors,
    jacobian_norm,
    own_variance,
    random_scores,
    scale_edits,
    scope_scores,
    score_points,
    spread,
    variance_error,
)
from atlas.engine import Engine
from atlas.errors import AtlasError

SENTENCE = "The cat saw the dog and the cat ran away."


@pytest.fixture(scope="module")
def engine(tiny_bundle: Path) -> Engine:
    return Engine.load(tiny_bundle)


@pytest.mark.parametrize("count", [2, 5, 16])
def test_equal_weights(count: int) -> None:
    weights = np.full(count, 1 / count)
    assert entropy(weights, math.e) == pytest.approx(math.log(count))
    assert jacobian_norm(weights) == pytest.approx(math.sqrt(count - 1) / count)


def test_one_sure_key() -> None:
    weights = np.array([0.0, 1.0, 0.0])
    assert entropy(weights, math.e) == 0
    assert jacobian_norm(weights) == 0


@given(arrays(np.float64, 6, elements=st.floats(-8, 8)))
def test_the_closed_form_is_the_norm_of_the_jacobian_of_pytorch(scores: np.ndarray) -> None:
    vector = torch.from_numpy(scores)
    jacobian = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, -1), vector)
    weights = torch.softmax(vector, -1).numpy()
    assert jacobian_norm(weights) == pytest.approx(float(jacobian.norm()), abs=2e-8)
    assert jacobian_norm(weights) <= 0.5 + 1e-12
    expected = float(torch.distributions.Categorical(logits=vector).entropy())
    assert entropy(weights, math.e) == pytest.approx(expected, abs=1e-9)


def test_random_vectors_have_the_variance_of_the_closed_form() -> None:
    drawn = random_scores(400, seed=3)
    assert tuple(drawn.widths) == WIDTHS
    np.testing.assert_array_less(np.abs(drawn.variance / drawn.widths - 1), 4 * drawn.error)
    np.testing.assert_allclose(drawn.scaled_variance * drawn.widths, drawn.variance)
    assert (np.diff(drawn.entropy) < 0).all()
    assert drawn.scaled_entropy.min() > 2.2 > drawn.entropy[-1] * 10
    assert drawn.jacobian[-1] < 0.1 < 0.25 < drawn.scaled_jacobian.min()
    assert drawn.entropy[0] == drawn.scaled_entropy[0]


def test_a_seed_is_a_draw() -> None:
    first, again, other = (random_scores(20, seed, [4]) for seed in (1, 1, 2))
    assert first.variance == again.variance != other.variance


@pytest.mark.parametrize("width", [1, 8, 64])
def test_the_standard_error_is_that_of_repeated_draws(width: int) -> None:
    queries = 30
    found = [random_scores(queries, seed, [width]).variance[0] / width for seed in range(400)]
    assert np.std(found) == pytest.approx(variance_error(width, queries), rel=0.15)


@pytest.mark.parametrize("width", [1, 2, 16, 32, 48, 64])
def test_divisors_run_from_one_to_four_roots(width: int) -> None:
    tried = divisors(width)
    assert tried[0] == 1.0
    assert tried[-1] == pytest.approx(4 * math.sqrt(width))
    assert math.sqrt(width) in tried
    assert list(tried) == sorted(set(tried))
    assert max(np.diff(np.log(tried))) == pytest.approx(math.log(2) / 4)


def test_spread_by_hand() -> None:
    scores = np.log(np.array([[0.25, 0.75], [0.5, 0.5]]))
    found = spread([scores, np.array([[[0.0, -np.inf]]])])
    assert found.rows == 3
    assert found.largest == pytest.approx((0.75 + 0.5 + 1) / 3)
    quarter = -(0.25 * math.log(0.25) + 0.75 * math.log(0.75))
    assert found.entropy == pytest.approx((quarter + math.log(2)) / 3)
    assert found.jacobian == pytest.approx((2 * 0.25 * 0.75 + 0.5) / 3)


def test_a_larger_divisor_flattens() -> None:
    products = [np.random.default_rng(0).normal(0, 6, (3, 5, 7))]
    curves = divisor_curves(products, [1.0, 2.0, 8.0])
    assert (np.diff(curves.entropy) > 0).all()
    assert (np.diff(curves.largest) < 0).all()
    assert curves.rows == 15


def test_points_of_a_scope(engine: Engine) -> None:
    config = engine.model.config
    assert score_points(config, "head", "cross", 1) == ["decoder.1.cross.scores"]
    assert score_points(config, "layer", "encoder", 0) == ["encoder.0.self.scores"]
    everything = score_points(config, "all", "decoder", 1)
    assert len(everything) == len(set(everything)) == 6
    assert {name.split(".")[0] for name in everything} == {"encoder", "decoder"}


def test_one_head_is_scaled_and_its_neighbours_are_not(engine: Engine) -> None:
    config = engine.model.config
    (edit,) = scale_edits(config, "head", "decoder", 0, 2, 8.0).values()
    scores = torch.randn(3, config.heads, 1, 4)
    scores[..., -1] = -math.inf
    before = scores.clone()
    changed = edit(scores)
    assert torch.equal(scores, before)
    factor = math.sqrt(config.head_width) / 8
    assert torch.equal(changed[:, 2], before[:, 2] * factor)
    assert torch.equal(changed[:, [0, 1, 3]], before[:, [0, 1, 3]])
    assert (changed[..., -1] == -math.inf).all()
    (edit,) = scale_edits(config, "layer", "decoder", 0, 2, 8.0).values()
    assert torch.equal(edit(scores), before * factor)


def test_the_true_divisor_changes_nothing_and_another_one_does(engine: Engine) -> None:
    config = engine.model.config
    root = math.sqrt(config.head_width)
    plain = engine.trace(SENTENCE)
    same = engine.trace(SENTENCE, edits=scale_edits(config, "all", "encoder", 0, 0, root))
    np.testing.assert_array_equal(plain.encoder, same.encoder)
    other = engine.trace(SENTENCE, edits=scale_edits(config, "head", "encoder", 0, 1, 1.0))
    expected = torch.softmax(torch.from_numpy(plain.extras["encoder.scores"][0, 1]) * root, -1)
    np.testing.assert_allclose(other.encoder[0, 1], expected.numpy(), atol=1e-5)
    np.testing.assert_array_equal(other.encoder[0, 0], plain.encoder[0, 0])


@pytest.mark.parametrize("divisor", [0.0, -1.0, math.nan])
def test_a_divisor_is_above_zero(engine: Engine, divisor: float) -> None:
    with pytest.raises(AtlasError, match="a number above 0"):
        scale_edits(engine.model.config, "all", "encoder", 0, 0, divisor)


def test_scores_of_a_scope_are_the_products_of_q_and_k(engine: Engine) -> None:
    model, config = engine.model, engine.model.config
    passed = forced_pass(model, engine.tokenizer.source(SENTENCE), [9, 8], wanted=WANTED)
    (products,) = scope_scores(passed, config, "head", "encoder", 1, 3)
    q, k = passed["encoder.1.self.q"][3], passed["encoder.1.self.k"][3]
    np.testing.assert_allclose(products, q @ k.T, atol=1e-4)
    assert len(scope_scores(passed, config, "all", "encoder", 0, 0)) == 6
    own = own_variance(passed, config, "encoder")
    assert own.dots.shape == (2, config.heads)
    assert own.dots[1, 3] == pytest.approx(np.var(q.astype(np.float64) @ k.astype(np.float64).T), rel=1e-6)
    assert own.queries[1, 3] == pytest.approx(q.var(axis=0).mean(), rel=1e-4)
    hidden = own_variance(passed, config, "decoder")
    q, k = (passed[f"decoder.0.self.{what}"][0].astype(np.float64) for what in "qk")
    seen = np.tril(np.ones((3, 3), bool))
    assert hidden.dots[0, 0] == pytest.approx((q @ k.T)[seen].var(), rel=1e-6)
