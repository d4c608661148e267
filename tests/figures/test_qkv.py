"""Pictures of attention step by step and of the divisor: their numbers, hidden keys, awkward words."""

from __future__ import annotations

import math

import numpy as np
import pytest

from atlas.figures import qkv, qkv_join, qkv_lab, qkv_scores, style
from atlas.figures.head_table import head_table

LABELS = ("the", "cat", "the", "<b>", "$x$", "2019")
N, K = len(LABELS), 8


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(0)


def ticks(axis: object) -> list[str]:
    return list(axis.ticktext)


@pytest.mark.parametrize("dark", [False, True])
def test_projections_are_three_panels(numbers: np.random.Generator, dark: bool) -> None:
    query, keys, values = numbers.normal(size=K), numbers.normal(size=(N, K)), numbers.normal(size=(N, K))
    figure = qkv.projections(query, keys, values, LABELS, "<i>", dark=dark)
    for trace, expected in zip(figure.data, (query[None], keys, values), strict=True):
        np.testing.assert_allclose(trace.z, expected, rtol=1e-6)
        assert trace.zmax == -trace.zmin == max(np.abs(part).max() for part in (query, keys, values))
    assert ticks(figure.layout.yaxis) == ["the", "cat", "the", "&lt;b&gt;", "&#36;x&#36;", "2019"]
    assert ticks(figure.layout.yaxis2) == ["&lt;i&gt;"]
    assert "<i>" not in figure.data[0].hovertemplate.replace("&lt;i&gt;", "")


def test_products_stand_beside_their_sums(numbers: np.random.Generator) -> None:
    parts = numbers.normal(size=(N, K))
    figure = qkv.products(parts, parts.sum(axis=1), LABELS, chosen=2)
    np.testing.assert_allclose(np.sum(figure.data[0].z, axis=1), figure.data[1].x, atol=1e-5)
    chosen = figure.layout.shapes[-1]
    assert (chosen.y0, chosen.y1) == (1.5, 2.5)
    low, high = figure.layout.xaxis2.range
    assert low < parts.sum(axis=1).min() and parts.sum(axis=1).max() < high


def test_the_running_sum_ends_at_the_score() -> None:
    parts = np.array([1.0, -3.0, 0.5, 4.0])
    figure = qkv.dimension_bars(parts, "it · <s>")
    np.testing.assert_allclose(figure.data[0].y, parts)
    np.testing.assert_allclose(figure.data[1].y, [1, -2, -1.5, 2.5])
    assert figure.layout.annotations[0].text == "it · &lt;s&gt; = <b>2.50</b>"
    up, down = figure.data[0].marker.color[0], figure.data[0].marker.color[1]
    assert up != down


def test_bars_before_and_after_the_division(numbers: np.random.Generator) -> None:
    dots = numbers.normal(size=N) * 9
    figure = qkv_scores.scaling_bars(dots, dots / 3, LABELS)
    np.testing.assert_allclose(figure.data[0].x, dots, rtol=1e-6)
    np.testing.assert_allclose(figure.data[1].x, dots / 3, rtol=1e-6)
    assert figure.data[2].text[0].strip() == f"{dots[0]:.2f} → {dots[0] / 3:.2f}"


def masked_scores() -> np.ndarray:
    scores = np.arange(16.0).reshape(4, 4) - 8
    return np.where(np.tril(np.ones((4, 4), bool)), scores, -np.inf)


def test_what_is_hidden_says_minus_infinity_and_is_hatched() -> None:
    masked = masked_scores()
    figure = qkv_scores.mask_matrix(masked, LABELS[:4], LABELS[:4], 1)
    cells, hatching, signs = figure.data
    assert np.isnan(cells.z)[~np.isfinite(masked)].all()
    np.testing.assert_allclose(np.asarray(cells.z)[np.isfinite(masked)], masked[np.isfinite(masked)])
    assert set(zip(signs.y, signs.x, strict=True)) == set(zip(*np.nonzero(np.isinf(masked)), strict=True))
    assert set(signs.text) == {"−∞"}
    assert len(hatching.x) == 3 * 6
    assert (figure.layout.shapes[-1].y0, figure.layout.shapes[-1].y1) == (0.5, 1.5)


def test_a_large_mask_keeps_its_hatching_without_signs() -> None:
    size = 40
    masked = np.where(np.tril(np.ones((size, size), bool)), 0.0, -np.inf)
    figure = qkv_scores.mask_matrix(masked, ["a"] * size, ["a"] * size, 0)
    assert figure.data[2].mode == "markers"
    assert len(figure.data[2].x) == size * (size - 1) / 2


def test_nothing_hidden_draws_no_hatching() -> None:
    assert len(qkv_scores.mask_matrix(np.zeros((2, 3)), LABELS[:2], LABELS[:3], 0).data) == 1


def test_softmax_bars_hide_what_is_masked() -> None:
    masked = np.array([0.0, math.log(3), -np.inf])
    weights = np.array([0.25, 0.75, 0.0])
    figure = qkv_scores.softmax_bars(masked, weights, LABELS[:3])
    scores, shares, hidden = figure.data
    assert np.isnan(scores.x[2])
    np.testing.assert_allclose(shares.x, weights)
    assert shares.text == ("0.250", "0.750", "0")
    np.testing.assert_allclose(shares.marker.color, weights)
    assert (shares.marker.cmin, shares.marker.cmax) == (0, 1)
    assert [list(stop) for stop in shares.marker.colorscale] == style.sequential(), "the scale of weights"
    assert list(hidden.y) == [2]
    assert list(hidden.text) == ["−∞"]
    assert hidden.marker.pattern.shape == "/"
    assert len(qkv_scores.softmax_bars(np.zeros(3), np.full(3, 1 / 3), LABELS[:3]).data) == 2


def test_the_weighted_values_stand_over_their_sum(numbers: np.random.Generator) -> None:
    weights = np.full(N, 1 / N)
    contributions = weights[:, None] * numbers.normal(size=(N, K))
    figure = qkv_scores.mixing(weights, contributions, LABELS)
    np.testing.assert_allclose(figure.data[1].z, contributions, rtol=1e-5)
    np.testing.assert_allclose(figure.data[2].z[0], contributions.sum(axis=0), rtol=1e-5)
    assert figure.data[1].zmax == figure.data[2].zmax


def test_heads_are_blocks(numbers: np.random.Generator) -> None:
    concat, change = numbers.normal(size=32), numbers.normal(size=32) * 100
    figure = qkv_join.joined(concat, 2, 4, [qkv_join.Row(change, "after")])
    np.testing.assert_allclose(figure.data[0].z[0], concat, rtol=1e-6)
    np.testing.assert_allclose(figure.data[1].z[0], change, rtol=1e-6)
    assert list(figure.data[0].customdata[0][::8]) == [1, 2, 3, 4]
    chosen = figure.layout.shapes[-1]
    assert (chosen.x0, chosen.x1) == (15.5, 23.5)
    assert figure.data[1].zmax == np.abs(change).max() > figure.data[0].zmax
    assert "4 × 8 = 32" in figure.layout.annotations[0].text
    parts = qkv_join.head_parts(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    assert len(set(parts.data[0].marker.color)) == 2


def test_a_title_of_a_row_is_literal() -> None:
    figure = qkv_join.vector_rows([qkv_join.Row(np.ones(4), "x of “<b>$”")], "dimension")
    assert figure.layout.annotations[0].text.startswith("x of “&lt;b&gt;&#36;”")


def test_variances_and_what_is_expected() -> None:
    widths = np.array([1, 4, 16])
    variance, error = np.array([1.1, 3.9, 16.2]), np.array([0.1, 0.05, 0.02])
    figure = qkv_lab.variance_lines(widths, variance, variance / widths, error)
    expected, one, plain, divided = figure.data
    np.testing.assert_allclose(expected.y, widths)
    np.testing.assert_allclose(one.y, 1)
    np.testing.assert_allclose(plain.y, variance)
    np.testing.assert_allclose(plain.error_y.array, 2 * error * variance)
    np.testing.assert_allclose(divided.y, variance / widths)


def test_softmax_lines() -> None:
    widths, flat = np.array([1, 4]), np.array([0.3, 0.2])
    figure = qkv_lab.softmax_lines(widths, (flat, flat + 1), (flat, flat + 2), 16)
    np.testing.assert_allclose(figure.data[0].y, math.log(16))
    assert [list(trace.y) for trace in figure.data[1:]] == [
        list(values) for values in (flat, flat + 1, flat, flat + 2)
    ]


def test_the_chosen_divisor_is_marked() -> None:
    tried, rising, falling = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0]), np.array([0.9, 0.5, 0.1])
    figure = qkv_lab.divisor_panels(tried, [("entropy", rising), ("largest", falling)], true=2.0, chosen=4.0)
    assert [trace.text for trace in figure.data[1::2]] == [("3.000",), ("0.100",)]
    assert [trace.x[0] for trace in figure.data[1::2]] == [4.0, 4.0]
    assert {shape.x0 for shape in figure.layout.shapes} == {2.0}
    assert [trace.textposition for trace in figure.data[1::2]] == ["top left", "bottom left"]


def test_variances_of_the_model_in_multiples_of_d_k() -> None:
    figure = qkv_lab.own_variances(np.array([[32.0, 64.0], [16.0, 320.0]]), 32, chosen=(1, 0))
    points = figure.data[0]
    np.testing.assert_allclose(points.y, [1, 2, 0.5, 10])
    assert [place for place, colour in enumerate(points.marker.color) if colour == qkv_lab.PLAIN] == [2]
    low, high = (10**end for end in figure.layout.yaxis.range)
    assert low < 0.5 and high > 10


def test_a_number_a_head() -> None:
    values = np.array([[0.1, 0.9], [np.nan, 0.2]])
    figure = head_table(values, chosen=(0, 1), between=(values - 0.1, values + 0.1))
    np.testing.assert_allclose(figure.data[0].z, values, rtol=1e-6)
    assert figure.data[0].customdata.shape == (2, 2, 2)
    box = figure.layout.shapes[0]
    assert (box.x0, box.x1, box.y0, box.y1) == (1.5, 2.5, 0.5, 1.5)
    assert head_table(values, signed=True).data[0].zmin == -1
