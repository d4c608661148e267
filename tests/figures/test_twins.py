"""Figures that stand in for components: the drawing of the architecture, and the switches of What if."""

from __future__ import annotations

import numpy as np

from atlas.figures.architecture import drawing
from atlas.figures.architecture_figure import architecture_figure
from atlas.figures.architecture_sheet import Plan
from atlas.figures.numbers import figure_table
from atlas.figures.what_if_switches import switches_figure

PLAN = Plan(
    encoder_layers=2,
    decoder_layers=1,
    heads=4,
    width=8,
    ffn=16,
    vocabulary=50,
    norm="pre",
    positions="sinusoidal",
    activation="relu",
    tied=True,
    causal=True,
    weights={"source_embedding": [("weight", (50, 8))], "encoder.0.self_attention": [("q", (8, 8))]},
)


def test_every_box_line_and_word_of_the_drawing_is_in_its_figure() -> None:
    drawn = drawing(PLAN, lambda name: f"Opens <{name}>")
    figure = architecture_figure(drawn)
    table = figure_table(figure)
    assert table["hover"] == [box["title"] for box in drawn["boxes"]]
    assert table["custom_1"] == [box["name"] for box in drawn["boxes"]]
    assert table["custom_2"] == [box["count"] for box in drawn["boxes"]]
    words = {annotation.text for annotation in figure.layout.annotations}
    assert {text["text"] for text in drawn["texts"] if text["kind"] != "end"} <= words
    assert {frame["title"] for frame in drawn["frames"]} <= words
    tips = sum(path["arrow"] for path in drawn["paths"])
    rings = sum(text["kind"] == "ring" for text in drawn["texts"])
    boxes = 2 * len(drawn["boxes"])
    assert len(figure.layout.shapes) == len(drawn["frames"]) + len(drawn["paths"]) + tips + boxes + rings
    inside = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert all(0 <= shape.x0 < shape.x1 <= drawn["width"] for shape in inside)
    assert all(0 <= shape.y0 < shape.y1 <= drawn["height"] for shape in inside)
    assert tuple(figure.layout.yaxis.range) == (drawn["height"], 0), "y grows downwards"


def test_an_arrow_ends_where_its_line_ends() -> None:
    drawn = drawing(PLAN, str)
    arrow = next(path for path in drawn["paths"] if path["arrow"])
    x, y = arrow["points"][-1]
    tips = [shape for shape in architecture_figure(drawn).layout.shapes if (shape.path or "").endswith("Z")]
    assert tips[0].path.startswith(f"M{x:g},{y:g}L")


def test_switches_say_which_heads_were_changed_and_how() -> None:
    grids = [
        {"label": "encoder self-attention", "rows": [[["trained", "1", "as trained"], ["off", "0", "off"]]]},
        {"label": "cross-attention", "rows": [[["uniform", "u", "uniform"], ["less", "0.5", "times 0.5"]]]},
    ]
    table = figure_table(switches_figure(grids))
    np.testing.assert_array_equal(table["z"], [0, 1, 1, 1])
    assert table["text"] == ["", "0", "u", "0.5"]
    assert table["hover"] == ["as trained", "off", "uniform", "times 0.5"]
    assert table["y_label"][::2] == ["encoder self-attention, layer 1", "cross-attention, layer 1"]
    assert table["x_label"][:2] == ["1", "2"]
    assert len(switches_figure([]).data[0].z) == 0
