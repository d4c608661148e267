import numpy as np
import pytest

from atlas.figures import pronouns

SHAPE = (3, 2, 4)
ARRAYS = {
    "top": np.linspace(0.1, 0.6, 24).reshape(SHAPE).astype(np.float32),
    "untrained_top": np.linspace(0.3, 0.0, 24).reshape(SHAPE).astype(np.float32),
}
ARRAYS["top_low"], ARRAYS["top_high"] = ARRAYS["top"] - 0.05, ARRAYS["top"] + 0.1


@pytest.mark.parametrize("dark", [False, True])
def test_the_best_head_of_each_group_with_its_controls(dark: bool) -> None:
    arrays = {name: array.copy() for name, array in ARRAYS.items()}
    arrays["top"][2, 0, 1] = 0.9
    figure = pronouns.best_heads(["all", "it", "she <"], [30, 0, 1200], [0.2, None, 0.1], arrays, dark=dark)
    best, untrained, chance = figure.data
    np.testing.assert_allclose(best.y, [ARRAYS["top"][0].max(), 0.9], rtol=1e-6)
    assert [told[0] for told in best.customdata] == ["layer 2 head 4", "layer 1 head 2"]
    np.testing.assert_allclose(best.error_y.array[0], 0.1, rtol=1e-5)
    np.testing.assert_allclose(best.error_y.arrayminus[0], 0.05, rtol=1e-5)
    np.testing.assert_allclose(untrained.y, [0.3, ARRAYS["untrained_top"][2].max()], rtol=1e-6)
    assert list(chance.y) == [0.2, 0.1]
    assert list(figure.layout.xaxis.ticktext) == ["all<br>n = 30", "she &lt;<br>n = 1,200"]


def test_heads_without_a_value_are_never_the_best() -> None:
    arrays = {name: array.copy() for name, array in ARRAYS.items()}
    arrays["top"][0, 1, 3] = np.nan
    figure = pronouns.best_heads(["all"], [5], [0.2], {name: array[:1] for name, array in arrays.items()})
    assert figure.data[0].customdata[0][0] == "layer 2 head 3"
