"""Pictures in vectors: the cells of a heatmap as paths, text as text, no pixels."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest

from atlas.figures import vector
from atlas.figures.attention import head_map
from atlas.figures.export import picture, picture_trouble
from atlas.figures.heatmap import heatmap
from atlas.figures.vector import edges, with_cells, without_pixels
from tests.traces import HTML_LIKE, make_trace

WHITE = "#ffffff"
GREY = [[0, "#000000"], [1, "#ffffff"]]


def rectangles(figure: go.Figure) -> dict[str, list[tuple[float, float, float, float]]]:
    """Colour -> (left, top, right, bottom) of each of its paths."""
    drawn = with_cells(figure, WHITE)
    assert drawn is not None
    found = {}
    for shape in drawn.layout.shapes:
        corners = re.findall(r"M(.+?),(.+?)L(.+?),.+?L.+?,(.+?)L.+?Z", shape.path)
        found[shape.fillcolor] = [tuple(map(float, corner)) for corner in corners]
    return found


def test_each_cell_has_the_colour_and_the_place_that_plotly_gives_it() -> None:
    figure = go.Figure(
        go.Heatmap(z=[[0, 1], [2, np.nan]], x=[0, 10], y=[0, 2], colorscale=GREY, zmin=0, zmax=2, xgap=1)
    )
    assert rectangles(figure) == {
        "rgba(0,0,0,1)": [(-5, -1, 5, 1)],
        "rgba(128,128,128,1)": [(5, -1, 15, 1)],
        "rgba(255,255,255,1)": [(-5, 1, 5, 3)],
    }
    assert len(figure.layout.shapes) == 0, "the figure itself is not changed"


def test_neighbours_of_one_colour_are_one_rectangle_where_no_gap_parts_them() -> None:
    z = [[1, 1, 0, 1]]
    assert [len(found) for found in rectangles(go.Figure(go.Heatmap(z=z, colorscale=GREY))).values()] == [
        1,
        2,
    ]
    parted = rectangles(go.Figure(go.Heatmap(z=z, colorscale=GREY, xgap=1)))
    assert [len(found) for found in parted.values()] == [1, 3]


def test_a_middle_makes_the_scale_even() -> None:
    figure = go.Figure(
        go.Heatmap(z=[[-1, 0, 3]], zmid=0, colorscale=[[0, "#ff0000"], [0.5, "#ffffff"], [1, "#0000ff"]])
    )
    colours = list(rectangles(figure))
    assert colours[1] in ("rgba(255,255,255,1)", "rgba(254,254,255,1)")
    assert colours[2] == "rgba(0,0,255,1)"
    red, green, _ = map(int, re.findall(r"\d+", colours[0])[:3])
    assert red == 255 and green == pytest.approx(170, abs=2), "a third of the way to red"


@pytest.mark.parametrize(
    ("values", "count", "expected"),
    [
        (None, 3, [-0.5, 0.5, 1.5, 2.5]),
        ([2], 1, [1.5, 2.5]),
        ([0, 1, 4], 3, [-0.5, 0.5, 2.5, 5.5]),
        ([0, 1, 4, 5], 3, [0, 1, 4, 5]),
    ],
)
def test_borders_lie_halfway(values: list[float] | None, count: int, expected: list[float]) -> None:
    found = edges(values, count)
    assert found is not None
    np.testing.assert_allclose(found, expected)


def test_what_cannot_be_drawn_so_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert with_cells(go.Figure(go.Bar(y=[1])), WHITE) is None
    assert with_cells(go.Figure(go.Heatmap(z=[[1]], x=["a"], colorscale=GREY)), WHITE) is None
    assert with_cells(go.Figure(go.Heatmap(z=[[1]], colorscale=GREY, zsmooth="best")), WHITE) is None
    figure = go.Figure(go.Heatmap(z=np.eye(4), colorscale=GREY))
    assert with_cells(figure, WHITE) is not None
    monkeypatch.setattr(vector, "MOST", 3)
    assert with_cells(figure, WHITE) is None


def test_pixels_are_taken_out_and_nothing_else() -> None:
    svg = b'<svg><image a="1"/><g><image href="data:x"></image></g><text>an &lt;image/&gt;</text></svg>'
    assert without_pixels(svg) == b"<svg><g></g><text>an &lt;image/&gt;</text></svg>"


@pytest.mark.slow
def test_an_svg_is_vectors_and_text() -> None:
    if picture_trouble():
        pytest.skip(str(picture_trouble()))
    head = head_map(make_trace(HTML_LIKE[:30], "le chat a vu"), "decoder", layer=0, head=0)
    svg = picture(heatmap(head), "svg")
    root = ElementTree.fromstring(svg)
    names = [element.tag.rpartition("}")[2] for element in root.iter()]
    assert "image" not in names and "foreignObject" not in names
    texts = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text")]
    assert set(head.queries) <= set(texts) and set(head.keys) <= set(texts)
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg.decode())]
    assert min(sizes) >= 9, "readable in a paper"
    corner = picture(heatmap(head), "png")
    assert corner.startswith(b"\x89PNG")
