"""The pictures of the What if page hold the numbers that they are given."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.figures import style
from atlas.figures.what_if import logprob_change, moved_maps, row_bars
from atlas.figures.what_if_explanations import correlations, readings

WORDS = ["the", "<b>cat</b>", "the", "$x$"]


def test_bars_are_the_change_and_tell_both_sides() -> None:
    before, after = np.array([-1.0, -0.5, -0.2, -3.0]), np.array([-2.0, -0.5, -0.1, -3.5])
    for dark in (False, True):
        figure = logprob_change(WORDS, before, after, dark=dark)
        (bars,) = figure.data
        assert np.allclose(bars.y, [-1, 0, 0.1, -0.5])
        assert bars.customdata.tolist() == np.stack([before, after], -1).tolist()
        low, high = style.diverging(dark)[0][1], style.diverging(dark)[-1][1]
        assert list(bars.marker.color) == [low, high, high, low]
        assert list(figure.layout.xaxis.ticktext) == [style.escape(word) for word in WORDS]
    with pytest.raises(ValueError, match="4 labels"):
        logprob_change(WORDS, before[:3], after)


def test_a_row_before_and_after() -> None:
    before, after = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.9, 0.1, 0, 0])
    figure = row_bars(WORDS, before, after, kind="cross")
    assert [list(bars.y) for bars in figure.data] == [before.tolist(), after.tolist()]
    assert figure.data[1].marker.color == style.COLOURS["cross"]
    assert figure.layout.legend.orientation == "h"


def test_maps_share_one_scale_and_frame_what_was_changed() -> None:
    moved = {"encoder": np.full((3, 4), 0.1), "decoder": np.zeros((2, 4)), "cross": np.full((2, 4), 0.25)}
    figure = moved_maps(moved, changed=[("cross", 1, 2)])
    assert {trace.zmax for trace in figure.data} == {0.25}
    assert [trace.z.shape for trace in figure.data] == [(3, 4), (2, 4), (2, 4)]
    (frame,) = figure.layout.shapes
    assert (frame.xref, frame.x0, frame.y0) == ("x3", 1.54, 0.54)
    assert list(figure.layout.yaxis.ticktext) == ["1", "2", "3"]
    nothing = moved_maps({"encoder": np.zeros((1, 1))})
    assert nothing.data[0].zmax == 1.0


def test_readings_stand_on_one_scale_around_zero() -> None:
    shares = np.array([[0.1, 0.2, 0.3, 0.4], [-0.8, 0.1, 0.1, 0.0]])
    figure = readings(shares, WORDS, ["one", "two"], tops=[3, 0])
    (cells,) = figure.data
    assert (cells.zmin, cells.zmax) == (-0.8, 0.8)
    assert cells.z.tolist() == shares.tolist()
    assert [(frame.x0 + 0.48, frame.y0 + 0.44) for frame in figure.layout.shapes] == [(3, 0), (0, 1)]
    assert list(figure.layout.xaxis.ticktext)[1] == "&lt;b&gt;cat&lt;/b&gt;"
    with pytest.raises(ValueError, match="3 readings"):
        readings(shares, WORDS, ["one", "two", "three"])


def test_correlations_are_written_and_gaps_marked() -> None:
    matrix = np.array([[1.0, -0.25], [-0.25, np.nan]])
    (cells,) = correlations(matrix, ["a", "b"], dark=True).data
    assert [list(row) for row in cells.text] == [["1.00", "−0.25"], ["−0.25", "–"]]
    assert (cells.zmin, cells.zmax) == (-1, 1)
    with pytest.raises(ValueError, match="1 readings"):
        correlations(matrix, ["a"])
