import numpy as np
import pytest

from atlas.figures import position_models
from atlas.figures.length_scores import LengthCurve, length_curves

VALUES = np.array([50.0, 40.0, np.nan])


@pytest.mark.parametrize("dark", [False, True])
def test_scores_with_their_intervals_and_the_part_beyond_training(dark: bool) -> None:
    curves = [
        LengthCurve(f"<{kind}>", VALUES - place, VALUES - place - 3, VALUES - place + 2, place)
        for place, kind in enumerate(("sinusoidal", "learned", "none"))
    ]
    figure = length_curves(
        curves, ["up to 8", "9–12", "13 <"], [10, 2000, 0], score="BLEU", within=2, dark=dark
    )
    assert [trace.name for trace in figure.data] == ["&lt;sinusoidal&gt;", "&lt;learned&gt;", "&lt;none&gt;"]
    for place, trace in enumerate(figure.data):
        np.testing.assert_array_equal(trace.y, VALUES - place)
        np.testing.assert_array_equal(trace.error_y.array[:2], [2, 2])
        np.testing.assert_array_equal(trace.error_y.arrayminus[:2], [3, 3])
    assert len({trace.line.color for trace in figure.data}) == 3
    assert len({trace.marker.symbol for trace in figure.data}) == 3
    assert list(figure.layout.xaxis.ticktext) == [
        "up to 8<br>n = 10",
        "9–12<br>n = 2,000",
        "13 &lt;<br>n = 0",
    ]
    (beyond,) = figure.layout.shapes
    assert (beyond.x0, beyond.x1) == (1.5, 2.5)


def test_a_model_trained_on_every_length_has_no_part_beyond() -> None:
    curves = [LengthCurve("none", VALUES, VALUES, VALUES, 2)]
    figure = length_curves(curves, ["a", "b", "c"], [1, 1, 0], score="chrF", within=3)
    assert not figure.layout.shapes


def test_similarity_and_where_training_ended() -> None:
    cosines = np.linspace(-1, 1, 25).reshape(5, 5)
    figure = position_models.row_similarity(cosines, trained=2)
    (heat,) = figure.data
    np.testing.assert_allclose(heat.z, cosines, rtol=1e-6)
    assert (heat.zmin, heat.zmax) == (-1, 1)
    assert {(line.x0, line.x1) for line in figure.layout.shapes} == {(1.5, 1.5), (-0.5, 4.5)}
    assert not position_models.row_similarity(cosines, trained=5).layout.shapes
    assert not position_models.row_similarity(cosines).layout.shapes
