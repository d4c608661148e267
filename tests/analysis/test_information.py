"""Code lengths against closed forms, PyTorch's losses and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from atlas.analysis.information import (
    DistributionError,
    best_logit_gap,
    cross_entropy,
    divergence,
    entropy,
    huffman_code,
    normalise,
    perplexity,
    shannon_lengths,
    smoothed_target,
    smoothing_floor,
    surprise,
    uncertainty,
)

DYADIC = normalise([8, 4, 2, 1, 1])
weights = st.lists(st.integers(0, 100), min_size=5, max_size=5).filter(any)
full = st.lists(st.integers(1, 100), min_size=5, max_size=5)


def test_a_dyadic_distribution_by_hand() -> None:
    assert entropy(DYADIC) == pytest.approx(0.5 * 1 + 0.25 * 2 + 0.125 * 3 + 2 * 0.0625 * 4)
    assert surprise(DYADIC).tolist() == [1, 2, 3, 4, 4]
    assert shannon_lengths(DYADIC).tolist() == [1, 2, 3, 4, 4]
    assert sorted(map(len, huffman_code(DYADIC))) == [1, 2, 3, 4, 4]


def test_a_uniform_distribution_is_that_many_choices() -> None:
    for count in (1, 2, 7, 1000):
        even = normalise(np.ones(count))
        assert perplexity(entropy(even).item()) == pytest.approx(count)
        assert perplexity(entropy(even, math.e).item(), math.e) == pytest.approx(count)


def test_one_right_answer_costs_its_own_surprise() -> None:
    p, q = normalise([0, 1, 0]), normalise([1, 2, 5])
    assert entropy(p) == 0
    assert cross_entropy(p, q, math.e) == pytest.approx(-math.log(2 / 8))
    assert divergence(p, q, math.e) == pytest.approx(-math.log(2 / 8))


@given(weights, full)
def test_cross_entropy_is_entropy_and_divergence(some: list[int], others: list[int]) -> None:
    p, q = normalise(some), normalise(others)
    for base in (2.0, math.e):
        assert cross_entropy(p, q, base) == pytest.approx(
            entropy(p, base) + divergence(p, q, base), abs=1e-12
        )
        assert divergence(p, q, base) >= -1e-12
    assert divergence(p, p) == 0


@given(full, full)
def test_pytorch_agrees(some: list[int], others: list[int]) -> None:
    p, q = normalise(some), normalise(others)
    logs, target = torch.tensor(np.log(q)), torch.tensor(p)
    assert cross_entropy(p, q, math.e) == pytest.approx(float(functional.cross_entropy(logs, target)))
    assert divergence(p, q, math.e) == pytest.approx(
        float(functional.kl_div(logs, target, reduction="sum")), abs=1e-12
    )
    assert entropy(p, math.e) == pytest.approx(float(torch.distributions.Categorical(target).entropy()))


def test_bits_and_nats_differ_by_a_factor() -> None:
    p, q = normalise([3, 1, 2]), normalise([1, 1, 1])
    assert cross_entropy(p, q, math.e) == pytest.approx(cross_entropy(p, q) * math.log(2))


def test_what_q_does_not_allow_costs_infinitely_much() -> None:
    p, q = normalise([1, 1]), normalise([1, 0])
    assert cross_entropy(p, q) == divergence(p, q) == perplexity(cross_entropy(p, q)) == math.inf
    assert cross_entropy(q, p) == pytest.approx(1)
    assert shannon_lengths(q).tolist() == [0, math.inf]


def shortest_by_force(p: np.ndarray) -> float:
    """The least mean length over all lists of lengths that satisfy Kraft's inequality."""
    return min(
        float(p @ lengths)
        for lengths in itertools.product(range(1, 6), repeat=len(p))
        if sum(2.0**-length for length in lengths) <= 1
    )


@pytest.mark.parametrize("some", [[48, 24, 16, 8, 4], [1, 1, 1, 1, 1], [90, 4, 3, 2, 1], [5, 5, 5, 1, 84]])
def test_huffman_is_as_short_as_any(some: list[int]) -> None:
    p = normalise(some)
    words = huffman_code(p)
    assert float(p @ [len(word) for word in words]) == pytest.approx(shortest_by_force(p))


@given(full)
def test_huffman_words_form_a_prefix_code_near_the_entropy(some: list[int]) -> None:
    p = normalise(some)
    words = huffman_code(p)
    assert not any(one != other and other.startswith(one) for one in words for other in words)
    mean = float(p @ [len(word) for word in words])
    assert entropy(p) - 1e-12 <= mean < entropy(p) + 1
    assert sum(2.0**-length for length in shannon_lengths(p)) <= 1 + 1e-12


@pytest.mark.parametrize("bad", [[0, 0], [-1, 2], [math.nan, 1], []])
def test_what_is_no_distribution_is_refused(bad: list[float]) -> None:
    with pytest.raises(DistributionError):
        normalise(bad)


def test_different_outcomes_cannot_be_compared() -> None:
    for measure in (cross_entropy, divergence):
        with pytest.raises(DistributionError, match="2 and 3"):
            measure(normalise([1, 1]), normalise([1, 1, 1]))


@given(st.floats(0, 1), st.integers(1, 50))
def test_the_smoothed_target_is_pytorchs(alpha: float, classes: int) -> None:
    right, other = smoothed_target(alpha, classes)
    assert right + (classes - 1) * other == pytest.approx(1)
    logits = torch.linspace(-1, 1, classes, dtype=torch.float64)
    ours = -(right * logits.log_softmax(0)[0] + other * logits.log_softmax(0)[1:].sum())
    theirs = functional.cross_entropy(logits[None], torch.tensor([0]), label_smoothing=alpha)
    assert float(ours) == pytest.approx(float(theirs), abs=1e-9)


def test_ninety_percent_is_not_what_the_right_class_gets() -> None:
    assert smoothed_target(0.1, 10) == pytest.approx((0.91, 0.01))


@pytest.mark.parametrize(("alpha", "classes"), [(0.1, 10), (0.3, 3), (0.1, 10_000), (1.0, 4)])
def test_the_floor_is_the_entropy_of_the_target(alpha: float, classes: int) -> None:
    right, other = smoothed_target(alpha, classes)
    target = normalise([right, *[other] * (classes - 1)])
    assert smoothing_floor(alpha, classes) == pytest.approx(entropy(target, math.e).item())


def test_no_logits_go_below_the_floor_and_the_best_gap_reaches_it() -> None:
    alpha, classes = 0.1, 8

    def loss(gap: float) -> float:
        logits = torch.zeros(1, classes, dtype=torch.float64)
        logits[0, 3] = gap
        return float(functional.cross_entropy(logits, torch.tensor([3]), label_smoothing=alpha))

    gap = best_logit_gap(alpha, classes)
    floor = smoothing_floor(alpha, classes)
    assert loss(gap) == pytest.approx(floor)
    assert min(loss(other) for other in np.linspace(0, 12, 200)) >= floor


def test_without_smoothing_there_is_no_floor_and_no_best_gap() -> None:
    assert smoothing_floor(0, 10) == 0
    assert best_logit_gap(0, 10) == math.inf


@pytest.mark.parametrize(("alpha", "classes"), [(-0.1, 10), (1.1, 10), (0.1, 0)])
def test_impossible_smoothing_is_refused(alpha: float, classes: int) -> None:
    with pytest.raises(DistributionError):
        smoothed_target(alpha, classes)


def test_uncertainty_of_logits() -> None:
    logits = torch.tensor(np.random.default_rng(0).normal(size=(4, 9)) * 3)
    found = uncertainty(logits.numpy(), [1, 8, 0, 3], shown=2)
    chances = logits.softmax(-1)
    assert found.entropy == pytest.approx(torch.distributions.Categorical(chances).entropy().numpy())
    losses = functional.cross_entropy(logits, torch.tensor([1, 8, 0, 3]), reduction="none")
    assert found.surprise == pytest.approx(losses.numpy())
    assert found.likeliest.tolist() == chances.topk(2).indices.tolist()
    assert found.probabilities == pytest.approx(chances.topk(2).values.numpy())
