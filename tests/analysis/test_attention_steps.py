"""Every step of an attention sub-layer computed again: as the model did it, as PyTorch does, and by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from atlas.analysis.attention_steps import (
    STEPS,
    WANTED,
    AttentionSteps,
    attention_steps,
    softmax,
)
from atlas.analysis.comparison import Check, compare
from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.errors import AtlasError
from atlas.model import Transformer, TransformerConfig
from atlas.model.attention import attend, causal_mask

SOURCE, TARGET = [5, 9, 12, 5, 3], [7, 8, 7]
KINDS = ("encoder", "decoder", "cross")
POINTS = (*WANTED, "memory")


def model_of(norm: str, **options: object) -> Transformer:
    torch.manual_seed(1)
    sizes = {"vocabulary": 30, "encoder_layers": 2, "decoder_layers": 2, "heads": 4, "width": 32, "ffn": 64}
    model = Transformer(TransformerConfig(**{**sizes, "norm": norm, **options})).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.fixture(scope="module", params=["pre", "post"])
def passed(request: pytest.FixtureRequest) -> tuple[Transformer, ForcedPass]:
    model = model_of(request.param)
    return model, forced_pass(model, SOURCE, TARGET, wanted=POINTS)


def steps_of(passed: tuple[Transformer, ForcedPass], kind: str, layer: int = 1) -> AttentionSteps:
    return attention_steps(*passed, kind, layer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layer", [0, 1])
def test_every_step_is_what_the_model_did(
    passed: tuple[Transformer, ForcedPass], kind: str, layer: int
) -> None:
    checks = steps_of(passed, kind, layer).checks
    assert tuple(checks) == STEPS
    for step, check in checks.items():
        assert check.largest < 1e-5, step
        assert check.numbers > 0, step


def test_shapes_and_counts(passed: tuple[Transformer, ForcedPass]) -> None:
    steps = steps_of(passed, "cross")
    rows, columns = len(TARGET) + 1, len(SOURCE)
    assert (steps.heads, steps.head_width) == (4, 8)
    assert steps.q.shape == (4, rows, 8)
    assert steps.k.shape == steps.v.shape == (4, columns, 8)
    assert steps.weights.shape == (4, rows, columns)
    assert steps.checks["project"].numbers == 32 * (rows + 2 * columns)
    assert steps.checks["softmax"].numbers == 4 * rows * columns
    assert steps.checks["join"].numbers == 3 * rows * 32


def test_in_double_precision_only_rounding_is_left() -> None:
    model = model_of("pre").double()
    points = forced_pass(model, SOURCE, TARGET, wanted=POINTS)
    for kind in KINDS:
        for step, check in attention_steps(model, points, kind, 0).checks.items():
            assert check.largest <= 4e-7 * max(check.scale, 1), step  # what is recorded is float32


@pytest.mark.parametrize("kind", KINDS)
def test_heads_are_those_of_pytorch(passed: tuple[Transformer, ForcedPass], kind: str) -> None:
    steps = steps_of(passed, kind)
    q, k, v = (torch.from_numpy(array).double()[None] for array in (steps.q, steps.k, steps.v))
    expected = functional.scaled_dot_product_attention(q, k, v, attn_mask=torch.from_numpy(steps.visible))
    np.testing.assert_allclose(steps.mixed, expected[0].numpy(), atol=1e-12)


def test_a_later_token_is_hidden_in_the_decoder_only(passed: tuple[Transformer, ForcedPass]) -> None:
    decoder = steps_of(passed, "decoder")
    rows = len(TARGET) + 1
    hidden = np.triu(np.ones((rows, rows), bool), 1)
    assert (np.isneginf(decoder.masked) == hidden).all()
    assert (decoder.weights[:, hidden] == 0).all()
    assert decoder.checks["dot"].numbers == 4 * (rows * (rows + 1) // 2)
    for kind in ("encoder", "cross"):
        assert np.isfinite(steps_of(passed, kind).masked).all()


def test_a_model_without_a_causal_mask_hides_nothing() -> None:
    model = model_of("post", causal=False)
    steps = attention_steps(model, forced_pass(model, SOURCE, TARGET, wanted=POINTS), "decoder", 0)
    assert np.isfinite(steps.masked).all()
    assert max(check.largest for check in steps.checks.values()) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_parts_add_up(passed: tuple[Transformer, ForcedPass], kind: str) -> None:
    steps = steps_of(passed, kind)
    for query in range(steps.q.shape[1]):
        products = np.array([steps.products(2, query, key).sum() for key in range(steps.k.shape[1])])
        np.testing.assert_allclose(products, steps.dots[2, query], atol=1e-12)
        np.testing.assert_allclose(
            steps.contributions(2, query).sum(axis=0), steps.mixed[2, query], atol=1e-12
        )
        np.testing.assert_allclose(
            steps.parts(query).sum(axis=0) + steps.bias, steps.change[query], atol=1e-12
        )
    np.testing.assert_allclose(steps.concat[:, 16:24], steps.mixed[2])
    np.testing.assert_allclose(steps.scaled * math.sqrt(8), steps.dots)


def test_a_wrong_weight_is_seen(passed: tuple[Transformer, ForcedPass]) -> None:
    model, points = passed
    changed = dict(points.points)
    changed["encoder.1.self.weights"] = changed["encoder.1.self.weights"] + 0.01
    other = ForcedPass(points.source_ids, points.target_ids, changed, points.logits)
    checks = attention_steps(model, other, "encoder", 1).checks
    assert checks["softmax"].largest == pytest.approx(0.01, rel=1e-3)
    assert checks["mix"].largest < 1e-5


def test_a_layer_that_is_not_there(passed: tuple[Transformer, ForcedPass]) -> None:
    with pytest.raises(AtlasError, match="layer 3 is not here: the decoder has 2 layers"):
        steps_of(passed, "cross", 2)
    with pytest.raises(AtlasError, match="layer 0 is not here"):
        steps_of(passed, "encoder", -1)


def test_softmax_by_hand() -> None:
    scores = np.array([[math.log(1), math.log(3), -np.inf], [-np.inf] * 3, [1000.0, 1000.0, 0.0]])
    np.testing.assert_allclose(softmax(scores), [[0.25, 0.75, 0], [0, 0, 0], [0.5, 0.5, 0]])


def test_compare() -> None:
    ours, theirs = np.array([1.0, -np.inf, 3.0]), np.array([1.5, -np.inf, 3.0])
    assert compare(ours, theirs) == Check(0.5, 3.0, 3)
    assert compare(ours, theirs, np.array([False, True, True])) == Check(0.0, 3.0, 2)
    assert compare(ours, np.array([1.0, 0.0, 3.0])).largest == math.inf
    assert compare(ours, np.array([1.0, np.nan, 3.0])).largest == math.inf
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(ours, theirs[:2])


def additive_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """What the published fragment computes: the mask is added, the width is that of the last axis."""
    scores = torch.einsum("bhtk,bhsk->bhts", query, key) / query.shape[-1] ** 0.5
    return torch.einsum("bhts,bhsk->bhtk", torch.softmax(scores + mask, dim=-1), value)


def test_a_mask_that_is_added_and_ours_that_replaces_are_the_same() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 6, 8, dtype=torch.float64).unbind(0)
    visible = causal_mask(6, 6)
    added = torch.zeros(6, 6, dtype=torch.float64).masked_fill(~visible, -math.inf)
    ours = attend(query, key, value, visible, explicit=True)
    torch.testing.assert_close(additive_attention(query, key, value, added), ours, atol=1e-14, rtol=0)


def test_they_part_where_a_query_sees_nothing() -> None:
    query, key, value = torch.ones(3, 1, 1, 2, 4).unbind(0)
    visible = torch.tensor([[True, True], [False, False]])
    added = torch.zeros(2, 2).masked_fill(~visible, -math.inf)
    assert additive_attention(query, key, value, added)[0, 0, 1].isnan().all()
    assert (attend(query, key, value, visible, explicit=True)[0, 0, 1] == 0).all()


def test_the_difference_of_an_added_mask_is_printed(passed: tuple[Transformer, ForcedPass]) -> None:
    model, seen = passed
    for kind in ("encoder", "decoder", "cross"):
        added = steps_of(passed, kind).added
        assert 0 <= added.largest < 1e-6
        assert added.numbers == steps_of(passed, kind).weights.size
    name = "decoder.1.self.weights"
    wrong = replace(seen, points={**seen.points, name: seen[name] * 0.9})
    assert steps_of((model, wrong), "decoder").added.largest > 0.01
