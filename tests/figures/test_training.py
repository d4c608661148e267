"""Pictures of the Training page: their numbers, awkward labels, both themes."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from atlas.figures import (
    training_codes,
    training_curves,
    training_dropout,
    training_forming,
    training_smoothing,
)
from atlas.figures.training import Bars, token_bars

P, Q = np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.25, 0.5])
NAMES = ("A", "B", "C")


def values(trace: go.Bar | go.Scatter | go.Heatmap, field: str = "y") -> list[float]:
    return np.asarray(trace[field], dtype=float).tolist()


def text(figure: go.Figure) -> str:
    return figure.to_json()


def test_bars_of_repeated_and_dangerous_tokens() -> None:
    figure = token_bars(
        ["the", "<b>", "the"],
        [Bars("one", np.array([1.0, 2.0, 3.0]), "#2f7fd0", ["a", "<i>", "c"])],
        unit="nats",
        title="cost",
    )
    assert values(figure.data[0]) == [1, 2, 3]
    assert list(figure.layout.xaxis.ticktext) == ["the", "&lt;b&gt;", "the"]
    assert list(figure.data[0].customdata[1]) == ["&lt;b&gt;", "<br>&lt;i&gt;"]
    with pytest.raises(ValueError, match="2 values for 1 tokens"):
        token_bars(["a"], [Bars("one", np.ones(2), "#2f7fd0")], unit="nats", title="cost")


def test_two_distributions() -> None:
    figure = training_codes.distributions(NAMES, P, Q)
    assert [values(trace) for trace in figure.data] == [P.tolist(), Q.tolist()]


def test_areas_are_entropy_and_cross_entropy() -> None:
    figure = training_codes.code_areas(NAMES, P, -np.log2(P), -np.log2(Q), unit="bits")
    areas = [float(np.dot(values(trace, "width"), values(trace))) for trace in figure.data]
    assert areas == pytest.approx([1.5, 0.5 * 2 + 0.25 * 2 + 0.25 * 1])
    assert values(figure.data[0], "x") == [0, 0.5, 0.75]


def test_an_infinite_code_word_ends_at_the_edge_and_says_so() -> None:
    with np.errstate(divide="ignore"):
        spent = -np.log2(np.array([1.0, 0.0, 0.0]))
        ideal = -np.log2(np.array([0.5, 0.5, 0.0]))
    figure = training_codes.code_areas(NAMES, np.array([0.5, 0.5, 0.0]), ideal, spent, unit="bits")
    assert max(values(figure.data[1])) == pytest.approx(figure.layout.yaxis.range[1])
    assert figure.data[1].customdata[1][2] == "infinitely many"
    assert len(figure.data[0].x) == 2


def test_curves_keep_one_colour_a_run() -> None:
    x = np.array([1.0, 2.0])
    curves = [
        training_curves.Curve("<b>", "loss", x, x),
        training_curves.Curve("<b>", "bleu", x, 2 * x),
        training_curves.Curve("<b>", "loss", x, 3 * x, faint=True),
        training_curves.Curve("other", "rate", x, x),
    ]
    figure = training_curves.learning_curves(curves, across="updates")
    first, second, faint, other = figure.data
    assert first.line.color == second.line.color != other.line.color
    assert first.name == "&lt;b&gt;"
    assert [trace.showlegend for trace in figure.data] == [True, False, False, True]
    assert values(second) == [2, 4]
    assert faint.line.dash == "dot"
    assert {first.yaxis, second.yaxis, other.yaxis} == {"y", "y4", "y3"}


@pytest.mark.parametrize(
    ("panel", "count", "words"), [("speed", 2, "panel must be"), ("loss", 3, "2 places and 3 values")]
)
def test_wrong_curves_are_refused(panel: str, count: int, words: str) -> None:
    curve = training_curves.Curve("run", panel, np.ones(2), np.ones(count))
    with pytest.raises(ValueError, match=words):
        training_curves.learning_curves([curve], across="updates")


def test_the_smoothed_target_of_few_and_many_classes() -> None:
    few = training_smoothing.target_bars(0.91, 0.01, 10)
    assert values(few.data[0]) == [0.91] + [0.01] * 9
    many = training_smoothing.target_bars(0.9, 1e-5, 10_000)
    assert len(many.data[0].x) == 12
    assert many.layout.xaxis.ticktext[-1] == "… 9,989 more"


def test_the_least_loss_lines() -> None:
    alphas = np.linspace(0, 1, 3)
    figure = training_smoothing.least_loss(alphas, [("K = 2", alphas), ("K = 3", 2 * alphas)], alpha=0.5)
    assert [values(trace) for trace in figure.data] == [[0, 0.5, 1], [0, 1, 2]]
    assert figure.layout.shapes[0].x0 == 0.5


def test_a_reliability_diagram_leaves_empty_bins_out() -> None:
    counts, confidence, accuracy = np.array([1, 0, 3]), np.array([0.2, 0, 0.9]), np.array([0.0, 0, 0.7])
    figure = training_smoothing.reliability_diagram(counts, confidence, accuracy, colour="#2f7fd0")
    assert values(figure.data[0]) == [0.0, 0.7]
    assert values(figure.data[0], "x") == pytest.approx([1 / 6, 5 / 6])
    assert list(figure.data[0].customdata[1]) == pytest.approx([3, 0.9, -0.2])
    assert values(figure.data[1]) == [0.2, 0.9]
    assert values(figure.data[3]) == [0.25, 0, 0.75]


def test_histograms_are_shares() -> None:
    figure = training_smoothing.two_histograms(
        np.array([0.0, 1.0, 2.0]), np.array([1, 3]), np.array([2, 0]), names=("a", "b"), title="x"
    )
    assert [values(trace) for trace in figure.data] == [[0.25, 0.75], [1, 0]]
    assert values(figure.data[0], "x") == [0.5, 1.5]


def test_gradients_and_the_clip() -> None:
    figure = training_smoothing.gradient_strips([("a, <b>", np.array([0.5, 2.0]), "#2f7fd0")], clip=1.0)
    assert list(figure.layout.xaxis.ticktext) == ["a<br>&lt;b&gt;"]
    assert values(figure.data[0]) == [0.5, 2]
    assert figure.layout.shapes[0].y0 == 1
    assert figure.layout.yaxis.title.text == "gradient norm of a batch, clipped above 1"
    assert not training_smoothing.gradient_strips([("a", np.ones(2), "#2f7fd0")], clip=None).layout.shapes


def test_probabilities_of_every_pass() -> None:
    chances = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    figure = training_dropout.probability_strips(["<s>", "<s>"], chances, np.array([0.7, 0.8]))
    x, y = values(figure.data[0], "x"), values(figure.data[0])
    assert [value for place, value in zip(x, y, strict=True) if place == 1] == [0.2, 0.4, 0.6]
    assert values(figure.data[1]) == [0.7, 0.8]
    assert list(figure.data[0].customdata[0]) == ["&lt;s&gt;"]


def test_spread_with_its_mean() -> None:
    spread, mean = np.array([[0.1, 0.0]]), np.array([[0.6, 0.4]])
    figure = training_dropout.spread_heatmap(spread, mean, ["<b>"], ["x", "x"])
    assert np.asarray(figure.data[0].z, dtype=float) == pytest.approx(spread)
    assert figure.data[0].text[0][0] == "<b>&lt;b&gt; → x</b><br>0.600 ± 0.100"
    still = training_dropout.spread_heatmap(np.zeros((1, 2)), mean, ["a"], ["x", "x"])
    assert still.data[0].zmax == 1


def test_losses_mark_the_chosen_moment() -> None:
    history = (np.array([100.0, 200.0]), np.array([5.0, 4.0]))
    figure = training_forming.losses_by_update([8, 250], np.array([9.0, 3.0]), history, chosen=1)
    held_out, sentence, mark = figure.data
    assert values(held_out) == [5, 4]
    assert values(sentence) == [9, 3]
    assert (mark.x[0], mark.y[0]) == (250, 3)
    assert list(figure.layout.xaxis.ticktext) == ["8", "250"]
    assert len(training_forming.losses_by_update([8], np.ones(1), None, chosen=0).data) == 2


def test_distances_of_layers_and_of_a_head() -> None:
    layers = np.array([[0.5, 0.0], [0.7, 0.0]])
    figure = training_forming.distances_by_update(
        [8, 250], layers, ("layer 1 · head 1", np.array([0.4, 0.0])), chosen=0
    )
    assert [values(trace) for trace in figure.data[:3]] == [[0.5, 0], [0.7, 0], [0.4, 0]]
    assert (figure.data[3].x[0], figure.data[3].y[0]) == (8, 0.4)


def test_dark_and_light_differ() -> None:
    for dark in (False, True):
        ink = training_codes.distributions(NAMES, P, Q, dark=dark).layout.font.color
        assert (ink == "#e8ecf2") is dark
    light, night = (
        training_dropout.spread_heatmap(np.ones((1, 1)), np.ones((1, 1)), ["a"], ["b"], dark=d)
        for d in (False, True)
    )
    assert text(light) != text(night)
