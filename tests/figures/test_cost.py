"""The pictures of Masks & cost: the numbers in them, repeated words, and words that look like HTML."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import pytest

from atlas.figures.cost_cache import (
    AGAIN,
    COMPUTED,
    LATER,
    READ,
    cache_passes,
    computed,
    pass_names,
    passes,
)
from atlas.figures.cost_curves import Curve, by_length, step_operations, step_times
from atlas.figures.cost_leak import loss_curves, shares
from atlas.figures.cost_masks import change_by_position, mask_matrix
from atlas.figures.cost_memory import cache_sizes

WORDS = ("<s>", "the", "the", "<b>", "$x$")


def mask(count: int, allowed: float = 0.0) -> np.ndarray:
    return np.where(np.tri(count, dtype=bool), allowed, -math.inf)


def ticks(axis: go.layout.XAxis) -> list[str]:
    return list(axis.ticktext)


@pytest.mark.parametrize("dark", [False, True])
def test_the_mask_is_written_into_its_cells(dark: bool) -> None:
    figure = mask_matrix(mask(5), WORDS, dark=dark)
    (cells,) = figure.data
    assert cells.z.tolist() == (~np.tri(5, dtype=bool)).astype(int).tolist()
    assert [row[0] for row in cells.text] == ["0"] * 5
    assert list(cells.text[0]) == ["0", "−∞", "−∞", "−∞", "−∞"]
    assert cells.texttemplate == "%{text}"
    assert ticks(figure.layout.xaxis) == ["&lt;s&gt;", "the", "the", "&lt;b&gt;", "&#36;x&#36;"]
    assert list(figure.layout.yaxis.range) == [4.5, -0.5]


def test_a_mask_of_ones_says_one() -> None:
    assert list(mask_matrix(mask(2, 1.0), WORDS[:2]).data[0].text[1]) == ["1", "1"]


def test_a_large_mask_is_told_by_hover_only() -> None:
    figure = mask_matrix(mask(30), ["word"] * 30)
    assert figure.data[0].texttemplate is None
    assert len(figure.data[0].text) == 30
    assert [trace.name for trace in figure.data[1:]] == ["0: visible", "−∞: hidden"], "a legend instead"
    assert mask_matrix(mask(30, 1.0), ["word"] * 30).data[1].name == "1: visible"


def test_a_mask_has_a_row_for_each_word() -> None:
    with pytest.raises(ValueError, match=r"\(5, 5\), not \(4, 4\)"):
        mask_matrix(mask(4), WORDS)


def test_changes_before_and_after_are_told_apart() -> None:
    figure = change_by_position(WORDS, np.array([0, 0, 2.5, 0.25, 1]), 2)
    before, after = figure.data
    assert (before.x.tolist(), before.y.tolist()) == ([0, 1], [0, 0])
    assert (after.x.tolist(), after.y.tolist()) == ([2, 3, 4], [2.5, 0.25, 1])
    assert list(before.text) == ["0", "0"] and list(after.text) == ["2.5", "0.25", "1"]
    assert list(after.customdata) == ["the", "&lt;b&gt;", "&#36;x&#36;"]
    assert figure.layout.yaxis.range[1] > 2.5


def test_nothing_changed_is_a_flat_picture() -> None:
    assert change_by_position(WORDS, np.zeros(5), 1).layout.yaxis.range[1] > 0


def test_passes_with_and_without_a_cache() -> None:
    assert passes(5, 3, cached=True).tolist() == [
        [COMPUTED, COMPUTED, COMPUTED, LATER, LATER],
        [READ, READ, READ, COMPUTED, LATER],
        [READ, READ, READ, READ, COMPUTED],
    ]
    assert passes(5, 3, cached=False).tolist()[2] == [AGAIN, AGAIN, AGAIN, AGAIN, COMPUTED]
    assert passes(4, 4, cached=True).tolist() == [[COMPUTED] * 4]
    assert pass_names(5, 3) == ["prefill", "decode 1", "decode 2"]


@pytest.mark.parametrize(("tokens", "prompt"), [(7, 1), (7, 3), (7, 7), (1, 1)])
def test_computed_tokens_have_a_closed_form(tokens: int, prompt: int) -> None:
    last = tokens - prompt
    for step in range(last + 1):
        assert computed(passes(tokens, prompt, cached=True), step) == prompt + step
        again = sum(prompt + number for number in range(step + 1))
        assert computed(passes(tokens, prompt, cached=False), step) == again


@pytest.mark.parametrize("prompt", [0, 6])
def test_a_prompt_that_cannot_be(prompt: int) -> None:
    with pytest.raises(ValueError, match=f"from 1 to 5 tokens, not {prompt}"):
        passes(5, prompt, cached=True)


@pytest.mark.parametrize("cached", [True, False])
def test_passes_are_drawn_up_to_the_step(cached: bool) -> None:
    states = passes(5, 2, cached=cached)
    figure = cache_passes(states, WORDS, 2, 1)
    cells = figure.data[0]
    assert cells.z[:2].tolist() == states[:2].tolist()
    assert (np.array(cells.z[2:]) == LATER).all()
    frame = figure.layout.shapes[0]
    assert (frame.y0, frame.y1) == (0.5, 1.5)
    assert ticks(figure.layout.yaxis) == ["prefill", "decode 1", "decode 2", "decode 3"]
    assert cells.customdata[0][0].startswith("prefill: &lt;s&gt;")
    second = "read from the cache" if cached else "computed again"
    assert [trace.name.split(" ", 1)[1] for trace in figure.data[1:]] == ["key and value computed", second]


def test_a_step_that_is_no_pass() -> None:
    with pytest.raises(ValueError, match="pass 4 of 4"):
        cache_passes(passes(5, 2, cached=True), WORDS, 2, 4)


def test_curves_hold_their_numbers() -> None:
    curve = Curve("work", np.array([10.0, 40.0]), "#123456", "dot")
    figure = by_length([8, 16], [curve], "multiply-adds", "multiply-adds")
    assert (figure.data[0].x.tolist(), figure.data[0].y.tolist()) == ([8, 16], [10, 40])
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert ticks(figure.layout.xaxis) == ["8", "16"]


def test_step_times_are_in_milliseconds() -> None:
    figure = step_times({"with": np.array([0.001, 0.002]), "without": np.array([0.003, 0.004])})
    found = {trace.name: trace.y.tolist() for trace in figure.data}
    assert found == {"without a cache": [3, 4], "with a cache": [1, 2]}
    assert figure.data[0].x.tolist() == [1, 2]


def test_parts_of_a_step_are_stacked() -> None:
    figure = step_operations({"one": np.array([1.0, 2.0]), "two": np.array([5.0, 5.0])})
    assert [trace.name for trace in figure.data] == ["one", "two"]
    assert {trace.stackgroup for trace in figure.data} == {"parts"}


def test_both_histories_are_on_one_chart() -> None:
    numbers = {"step": [20.0, 40.0], "train_loss": [8.0, 2.0], "development_loss": [7.0, 1.0]}
    history = {name: np.array(column) for name, column in numbers.items()}
    figure = loss_curves({"without": history, "baseline": history})
    assert [trace.name for trace in figure.data] == [
        "no mask, training",
        "no mask, development",
        "mask, training",
        "mask, development",
    ]
    assert figure.data[1].y.tolist() == [7, 1]
    assert figure.data[0].line.color != figure.data[2].line.color


def test_shares_are_side_by_side() -> None:
    figure = shares(["visible", "hidden"], {"without": [0.99, 0.01], "baseline": [0.6, 0.6]})
    assert [list(trace.text) for trace in figure.data] == [["99.0%", "1.0%"], ["60.0%", "60.0%"]]
    assert figure.layout.barmode == "group"


def test_one_bar_is_marked() -> None:
    figure = cache_sizes(["tiny", "GPT-3"], [2048, 2**33], ["2 KiB", "8 GiB"], chosen=1)
    (bars,) = figure.data
    assert bars.x.tolist() == [2048, 2**33]
    assert len(set(bars.marker.color)) == 2
    low, high = figure.layout.xaxis.range
    assert low < math.log10(2048) and high > math.log10(2**33)
    with pytest.raises(ValueError, match="number 2 marked"):
        cache_sizes(["a", "b"], [1, 2], ["1", "2"], chosen=2)
