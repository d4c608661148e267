import numpy as np
import pytest

from atlas.figures import positions

TABLE = np.random.default_rng(0).normal(size=(12, 8)).astype(np.float32)


@pytest.mark.parametrize("dark", [False, True])
def test_curves_draw_the_chosen_columns(dark):
    figure = positions.curves(TABLE, [0, 5], dark=dark)
    assert [trace.name for trace in figure.data] == ["dimension 0", "dimension 5"]
    np.testing.assert_array_equal(figure.data[1].y, TABLE[:, 5])
    assert figure.data[0].line.color != figure.data[1].line.color
    assert figure.data[0].line.dash != figure.data[1].line.dash


def test_a_dimension_that_does_not_exist_is_refused():
    with pytest.raises(IndexError, match=r"dimension 8 is not in 0\.\.7"):
        positions.curves(TABLE, [8])


def test_heatmap_holds_the_table_and_zero_is_the_middle_colour():
    (trace,) = positions.table_heatmap(TABLE).data
    np.testing.assert_array_equal(trace.z, TABLE)
    assert trace.zmin == -trace.zmax == pytest.approx(-np.abs(TABLE).max())


def test_heatmap_of_zeros_is_drawn():
    (trace,) = positions.table_heatmap(np.zeros((3, 4))).data
    assert (trace.zmin, trace.zmax) == (-1, 1)


def test_wavelengths_with_the_two_levels():
    figure = positions.wavelength_curve(np.array([6.28, 6.28, 628.0, 628.0]), length=100, tokens=14)
    assert list(figure.data[0].y) == [6.28, 6.28, 628.0, 628.0]
    assert figure.layout.yaxis.type == "log"
    assert [list(trace.y) for trace in figure.data[1:]] == [[14, 14], [100, 100]]
    assert [trace.name for trace in figure.data[1:]] == ["this sentence: 14 tokens", "positions shown: 100"]


def test_distance_curve_shows_mean_and_band():
    distance, mean = np.arange(-2, 3), np.array([1.0, 2, 3, 2, 1])
    figure = positions.distance_curve(distance, mean, mean - 0.5, mean + 0.5)
    by_name = {trace.name: trace for trace in figure.data}
    np.testing.assert_array_equal(by_name["mean over pairs"].y, mean)
    np.testing.assert_array_equal(
        by_name["mean over pairs"].customdata, np.stack([mean - 0.5, mean + 0.5], axis=1)
    )
    assert by_name["lowest to highest pair"].fill == "tonexty"


def test_plane_puts_cosine_across_and_the_turned_point_on_its_target():
    angle = np.arange(10) * 0.3
    pairs = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    figure = positions.rotation_plane(pairs, pairs[6], position=2, shift=4, pair=3)
    by_name = {trace.name: trace for trace in figure.data if trace.name}
    np.testing.assert_allclose(by_name["all positions"].x, np.cos(angle))
    np.testing.assert_allclose(by_name["PE(6)"].x, by_name["matrix × PE(2)"].x)
    assert "dimension 7" in figure.layout.xaxis.title.text
    with pytest.raises(IndexError, match=r"position 10 is not in 0\.\.9"):
        positions.rotation_plane(pairs, pairs[0], position=6, shift=4, pair=0)


def test_matrix_shows_its_corner():
    matrix = np.eye(64)
    (trace,) = positions.rotation_matrix(matrix, shown=8).data
    np.testing.assert_array_equal(trace.z, np.eye(8, dtype=np.float32))


def test_shuffle_without_a_second_series():
    figure = positions.shuffle_differences(["a", "b"], None, np.array([0.0, 1e-7]))
    assert [trace.name for trace in figure.data] == ["without positions"]


def test_shuffle_differences_label_tokens_literally_and_survive_exact_zero():
    figure = positions.shuffle_differences(
        ["the", "the", "<s>"], np.array([1.0, 0.5, 0.1]), np.array([0.0, 1e-6, 2e-6])
    )
    assert list(figure.layout.xaxis.ticktext) == ["the", "the", "&lt;s&gt;"]
    with_, without = figure.data
    assert len(with_.x) == len(without.x) == 3
    assert without.y[0] > 0
    assert without.customdata[0][1] == 0.0
    assert without.customdata[2][0] == "&lt;s&gt;"
