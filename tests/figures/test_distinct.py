import numpy as np
import pytest

from atlas.figures import distinct


def curve(values):
    places = np.arange(len(values))
    return np.asarray(values, dtype=float), places, places + 1


@pytest.mark.parametrize("dark", [False, True])
def test_every_change_of_a_curve_is_drawn(dark: bool) -> None:
    values = np.concatenate([np.full(4000, 2.0), np.full(3, 1.5), np.full(5000, 0.01)])
    distance, first, second = curve(values)
    figure = distinct.distance_by_length([("a <b>", distance, first, second)], length=9004, dark=dark)
    (line,) = figure.data
    assert len(line.x) < 1500
    drawn = dict(zip(line.x, line.y, strict=True))
    assert drawn[2] == 2.0
    assert (drawn[4002], drawn[4005], drawn[9004]) == (1.5, 0.01, 0.01)
    assert line.customdata[-1].tolist() == [9002, 9003]
    assert "&lt;b&gt;" in line.name
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert figure.layout.shapes[0].x0 == 9004


def test_equal_rows_end_a_curve() -> None:
    figure = distinct.distance_by_length([("table", *curve([1.0, 0.5, 0.0]))], length=3)
    np.testing.assert_array_equal(figure.data[0].y, [1.0, 0.5, np.nan])
    assert np.isfinite(figure.layout.yaxis.range).all()


def test_widths_mark_the_models_own() -> None:
    widths, shifts = (2, 4, 8), np.array([710, 9, 1])
    values = np.array([1e-4, 0.1, 2.0])
    figure = distinct.distance_by_width(widths, values, shifts, length=1000, width=4)
    line, own = figure.data
    np.testing.assert_array_equal(line.y, values)
    np.testing.assert_array_equal(line.customdata, shifts)
    assert (list(own.x), list(own.y)) == ([4], [0.1])
    assert list(figure.layout.xaxis.ticktext) == ["2", "4", "8"]
    assert len(distinct.distance_by_width(widths, values, shifts, length=1000, width=5).data) == 1
