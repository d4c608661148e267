"""A figure made larger for a projector."""

from __future__ import annotations

import copy
import json

import numpy as np
import plotly.graph_objects as go
import pytest

from atlas.figures.heatmap import HeadMap, heatmap
from atlas.figures.style import arrange, token_axis
from atlas.ui.talk.projector import FIGURE, HOVER, for_projector


def make_figure() -> go.Figure:
    figure = go.Figure(
        [
            go.Scatter(x=[1, 2], y=[3, 4], mode="lines+markers"),
            go.Scatter(x=[1, 2], y=[3, 4], mode="markers", marker={"size": np.array([4.0, 8.0])}),
            go.Scatter(x=[1], y=[1], mode="text", text=["a"], textfont={"size": 10}),
            go.Heatmap(z=np.eye(3, dtype=np.float32), xgap=2, colorbar={"thickness": 10}),
        ]
    )
    figure.update_xaxes(**token_axis(["the", "cat", "the"], tickfont={"size": 13}))
    figure.add_shape(type="rect", x0=0, x1=1, y0=0, y1=1, line_width=3)
    return arrange(figure, title="A title", height=300, legend={"y": 1.1}, margin={"l": 8, "t": 20})


def test_everything_measured_in_pixels_grows_by_the_factor() -> None:
    shown = for_projector(make_figure(), 2 / FIGURE)
    lines, points, words, cells = shown.data
    assert (lines.line.width, lines.marker.size) == (4.0, 12.0)
    assert list(points.marker.size) == [8.0, 16.0]
    assert words.textfont.size == 20
    assert (cells.xgap, cells.colorbar.thickness, cells.colorbar.tickfont.size) == (4, 20, 24)
    layout = shown.layout
    assert (layout.height, layout.margin.l, layout.margin.t) == (600, 16, 40)
    assert (layout.font.size, layout.title.font.size, layout.title.pad.t) == (26, 30, 20)
    assert (layout.xaxis.tickfont.size, layout.yaxis.tickfont.size, layout.legend.font.size) == (26, 24, 24)
    assert layout.shapes[0].line.width == 6
    assert layout.hoverlabel.font.size == 2 * HOVER


def test_numbers_places_and_the_figure_itself_stay() -> None:
    figure = make_figure()
    before = copy.deepcopy(figure)
    shown = for_projector(figure, 1.25)
    assert figure == before
    assert shown.data[0].x == (1, 2)
    sent = [json.loads(drawn.to_json())["data"][3]["z"] for drawn in (shown, figure)]
    assert sent[0] == sent[1]
    assert list(shown.layout.xaxis.range) == [-0.5, 2.5]
    assert shown.layout.xaxis.ticktext == ("the", "cat", "the")
    assert shown.layout.legend.y == 1.1
    assert (shown.layout.shapes[0].x1, shown.layout.shapes[0].y1) == (1, 1)


@pytest.mark.parametrize("top", [None, 0.3])
def test_a_colour_of_attention_ends_at_one(top: float | None) -> None:
    head = HeadMap(np.full((2, 2), 0.2, dtype=np.float32), ("a", "b"), ("a", "b"))
    figure = heatmap(head, top=top)
    assert figure.data[0].zmax == pytest.approx(top or 0.2)
    shown = for_projector(figure, 1.25).data[0]
    assert (shown.zmin, shown.zmax) == (0, 1)


def test_other_colours_keep_their_ends() -> None:
    shown = for_projector(go.Figure(go.Heatmap(z=[[0.2]], zmin=-3, zmax=3)), 1.25)
    assert (shown.data[0].zmin, shown.data[0].zmax) == (-3, 3)
