"""The pictures of the Heads page: heads on a plane, cells that can be clicked."""

from __future__ import annotations

import numpy as np
import pytest

from atlas.figures import style
from atlas.figures.head_table import head_table
from atlas.figures.heads_map import clickable, heads_map

PLACES = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
NAMES = ("1.1", "1.2", "2.1")
DOES = ("<b>", "", "end-mark sink")


@pytest.mark.parametrize("dark", [False, True])
def test_each_head_stands_in_its_place_with_its_name_and_value(dark: bool) -> None:
    values = np.array([0.25, 0.5, 0.75], np.float32)
    points, ring = heads_map(PLACES, NAMES, DOES, values, title="A <metric>", chosen=2, dark=dark).data
    np.testing.assert_array_equal(np.stack([points.x, points.y], -1), PLACES)
    np.testing.assert_array_equal(points.marker.color, values)
    assert points.text == NAMES
    assert points.customdata.tolist() == [
        ["&lt;b&gt;", "0.250"],
        ["no name", "0.500"],
        ["end-mark sink", "0.750"],
    ]
    assert "A &lt;metric&gt;" in points.hovertemplate
    assert (ring.x[0], ring.y[0]) == (4.0, 5.0)


def test_colours_are_those_of_the_table_of_the_same_values() -> None:
    values = np.array([-2.0, 0.5, 1.0], np.float32)
    for signed in (False, True):
        points = heads_map(PLACES, NAMES, DOES, values, title="m", signed=signed, largest=2.0).data[0].marker
        cells = head_table(values[None], signed=signed, largest=2.0).data[0]
        assert (points.cmin, points.cmax) == (cells.zmin, cells.zmax)
        assert points.colorscale == cells.colorscale


def test_a_head_without_a_value_is_a_cross_and_says_so() -> None:
    points = heads_map(PLACES, NAMES, DOES, np.array([0.5, np.nan, 0.0], np.float32), title="m").data[0]
    assert points.marker.symbol == ("circle", "circle-cross", "circle")
    assert points.customdata[:, 1].tolist() == ["0.500", "not defined", "0.000"]
    assert np.isfinite(points.marker.color).all()


def test_every_cell_of_a_table_is_a_point_in_the_order_of_heads() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tips = [[f"<{layer}.{head}>" for head in range(3)] for layer in range(2)]
    figure = clickable(head_table(values), tips)
    heat, _, points = figure.data
    assert heat.hoverinfo == "skip" and heat.hovertemplate is None
    for number, (x, y) in enumerate(zip(points.x, points.y, strict=True)):
        layer, head = divmod(number, 3)
        assert (heat.y[layer], heat.x[head]) == (y, x)
        assert points.hovertext[number] == f"&lt;{layer}.{head}&gt;"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_the_numbers_of_a_table_can_be_read_on_every_cell(dark: bool, signed: bool) -> None:
    values = np.linspace(-1 if signed else 0, 1, 40, dtype=np.float32).reshape(4, 10)
    heat, written = head_table(values, signed=signed, dark=dark).data
    assert len(written.text) == 40 and written.text[0] == ("−1.00" if signed else "0.00")
    shares = (values.ravel() - heat.zmin) / (heat.zmax - heat.zmin)
    grounds = style.sampled(heat.colorscale, shares.tolist())
    for ground, ink in zip(grounds, written.textfont.color, strict=True):
        assert style.contrast("#{:02x}{:02x}{:02x}".format(*ground), ink) >= 4.5


def test_a_table_without_any_value_keeps_its_rows_and_columns() -> None:
    layout = head_table(np.full((2, 3), np.nan, np.float32)).layout
    assert layout.xaxis.range == (0.5, 3.5) and layout.yaxis.range == (2.5, 0.5)
