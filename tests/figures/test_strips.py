import numpy as np
import pytest

from atlas.figures import style
from atlas.figures.strips import strips

ROWS = np.random.default_rng(0).normal(size=(3, 16)).astype(np.float32)


@pytest.mark.parametrize("dark", [False, True])
def test_a_row_is_a_vector_and_zero_is_the_colour_of_the_page(dark):
    (trace,) = strips(ROWS, ["q", "k", "v"], dark=dark).data
    np.testing.assert_array_equal(trace.z, ROWS)
    assert trace.zmax == -trace.zmin == pytest.approx(np.abs(ROWS).max())
    assert trace.colorscale[2][1] == style.background(dark)
    assert list(trace.colorbar.tickvals) == [trace.zmin, 0, trace.zmax], "both ends and zero are named"
    assert [float(text.replace("−", "-")) for text in trace.colorbar.ticktext] == pytest.approx(
        [trace.zmin, 0, trace.zmax], rel=0.01
    )


def test_the_first_row_is_on_top_and_repeated_labels_stay_apart():
    figure = strips(ROWS, ["the", "the", "<s>$x$"])
    assert list(figure.layout.yaxis.ticktext) == ["the", "the", "&lt;s&gt;&#36;x&#36;"]
    assert list(figure.layout.yaxis.tickvals) == [0, 1, 2]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]


def test_a_limit_keeps_two_pictures_on_one_scale():
    (trace,) = strips(ROWS, ["a", "b", "c"], limit=10.0).data
    assert (trace.zmin, trace.zmax) == (-10, 10)


def test_zeros_are_drawn():
    (trace,) = strips(np.zeros((1, 4)), ["x"]).data
    assert (trace.zmin, trace.zmax) == (-1, 1)


@pytest.mark.parametrize(
    ("rows", "labels", "limit", "words"),
    [
        (np.zeros((2, 3)), ["a"], None, "2 vectors have 1 labels"),
        (np.zeros((0, 3)), [], None, "not nothing"),
        (np.zeros(3), ["a"], None, r"shape \(3,\)"),
        (np.array([[1.0, -np.inf]]), ["a"], None, "finite numbers only"),
        (np.zeros((1, 3)), ["a"], 0.0, "above 0, not at 0"),
    ],
)
def test_what_cannot_be_drawn_is_refused(rows, labels, limit, words):
    with pytest.raises(ValueError, match=words):
        strips(rows, labels, limit=limit)
