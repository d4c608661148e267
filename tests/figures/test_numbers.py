"""The tidy table of a figure: every number and label that the figure holds, whatever kind it is."""

from __future__ import annotations

import base64
import csv
import io
import json

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas.figures.attention import head_grid, head_map
from atlas.figures.heads_map import heads_map
from atlas.figures.heatmap import heatmap
from atlas.figures.lines import head_lines
from atlas.figures.mosaic import heads_mosaic
from atlas.figures.numbers import figure_json, figure_table, plain
from atlas.figures.style import escape, token_axis
from atlas.figures.tree import search_tree
from atlas.text.tables import write_table
from tests.traces import HTML_LIKE, make_trace

LABELS = st.lists(st.text(min_size=1), min_size=1, max_size=6)


def typed(values: np.ndarray) -> dict[str, str]:
    """An array as Plotly writes it in JSON."""
    return {
        "bdata": base64.b64encode(values.tobytes()).decode(),
        "dtype": values.dtype.str[1:],
        "shape": ", ".join(map(str, values.shape)),
    }


def test_a_heatmap_has_a_row_a_cell() -> None:
    head = head_map(make_trace("the cat saw the cat", "le chat"), "cross", layer=0, head=1)
    table = figure_table(heatmap(head))
    assert len(table["z"]) == head.weights.size
    np.testing.assert_array_equal(np.array(table["z"], np.float32).reshape(head.weights.shape), head.weights)
    assert table["x_label"][: len(head.keys)] == list(head.keys)
    assert table["y_label"][:: len(head.keys)] == list(head.queries)
    assert table["x"][:3] == [0, 1, 2] and table["type"][0] == "heatmap"
    np.testing.assert_allclose(table["custom_1"], np.asarray(head.scores).ravel(), rtol=1e-6)


def test_cells_without_a_number_are_empty_and_hidden_traces_are_left_out() -> None:
    figure = go.Figure(
        [
            go.Heatmap(
                z=[[1.0, np.nan], [np.inf, 4.0]], x=[10, 20], y0=5, dy=2, text=[["a", "b"], ["c", "d"]]
            ),
            go.Scatter(x=[1], y=[1], visible=False),
            go.Scatter(x=[1], y=[2], visible="legendonly", name="later"),
        ]
    )
    table = figure_table(figure)
    assert table["z"] == [1.0, None, None, 4.0, None]
    assert table["x"] == [10, 20, 10, 20, 1] and table["y"] == [5, 5, 7, 7, 2]
    assert table["text"] == ["a", "b", "c", "d", None]
    assert table["trace"] == [0, 0, 0, 0, 2] and table["name"][-1] == "later"


def test_scatter_points_with_all_that_belongs_to_them() -> None:
    figure = go.Figure(
        go.Scatter(
            x=np.array([1.5, 2.5, np.nan]),
            y=[1, 2, None],
            name="<b>one</b> &amp; two",
            text=["a<br>b", "&lt;s&gt;", "gap"],
            customdata=[["u", 1], ["v", 2], ["w", 3]],
            marker={"color": np.array([3, 4, 5], np.uint8), "size": [7, 8, 9]},
            error_y={"array": [0.1, 0.2, 0.3]},
        )
    )
    assert figure_table(figure) == {
        "trace": [0, 0],
        "type": ["scatter", "scatter"],
        "name": ["one & two"] * 2,
        "x": [1.5, 2.5],
        "y": [1, 2],
        "text": ["a; b", "<s>"],
        "color": [3, 4],
        "size": [7, 8],
        "error_y": [0.1, 0.2],
        "custom_1": ["u", "v"],
        "custom_2": [1, 2],
    }


def test_bars_count_their_places_and_read_the_labels_of_their_axis() -> None:
    figure = go.Figure(go.Bar(y=[3, 4]), layout={"xaxis": token_axis(["<s>", "$x$"])})
    table = figure_table(figure)
    assert (table["x"], table["x_label"], table["y"]) == ([0, 1], ["<s>", "$x$"], [3, 4])
    sideways = figure_table(go.Figure(go.Bar(x=[3, 4], orientation="h")))
    assert (sideways["x"], sideways["y"]) == ([3, 4], [0, 1])


def test_second_axes_have_their_own_labels() -> None:
    figure = go.Figure(
        [go.Bar(x=[0], y=[1]), go.Bar(x=[0], y=[2], xaxis="x2")],
        layout={"xaxis": token_axis(["one"]), "xaxis2": token_axis(["two"])},
    )
    assert figure_table(figure)["x_label"] == ["one", "two"]


@pytest.mark.parametrize("dtype", ["<f4", "<f8", "<i2", "|u1"])
def test_typed_arrays_are_read(dtype: str) -> None:
    values = np.arange(6).reshape(2, 3).astype(dtype)
    spec = {"type": "heatmap", "z": typed(values), "x": typed(np.array([5.0, 6.0, 7.0]))}
    table = figure_table(go.Figure({"data": [spec]}))
    assert table["z"] == list(range(6)) and table["x"] == [5, 6, 7] * 2
    again = go.Figure(json.loads(go.Figure(go.Scatter(x=values[0], y=values[1])).to_json()))
    assert figure_table(again)["y"] == [3, 4, 5]


@given(LABELS)
def test_any_label_comes_out_as_it_went_in(labels: list[str]) -> None:
    figure = go.Figure(
        go.Bar(x=list(range(len(labels))), y=[1] * len(labels), text=[escape(label) for label in labels]),
        layout={"xaxis": token_axis(labels), "title": {"text": f"<b>{escape(labels[0])}</b>"}},
    )
    shown = [label.translate({10: "⏎", 13: "␍", 9: "⇥"}) for label in labels]
    table = figure_table(figure)
    assert table["text"] == shown and table["x_label"] == shown
    written = json.loads(figure_json(figure, labels[0]))
    assert written["columns"]["text"] == shown and written["about"] == labels[0]
    assert written["title"] == shown[0]
    rows = list(csv.DictReader(io.StringIO(write_table(table, "csv").decode("utf-8-sig"), newline="")))
    assert [row["text"].removeprefix("'") for row in rows] == [
        label.encode("utf-8", "backslashreplace").decode().removeprefix("'") for label in shown
    ]


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)", "＝1"])
def test_a_formula_is_text_in_a_cell(label: str) -> None:
    figure = go.Figure(go.Bar(x=[1], y=[1], text=[label], name=label))
    rows = list(csv.DictReader(io.StringIO(write_table(figure_table(figure), "csv").decode("utf-8-sig"))))
    assert rows[0]["text"] == rows[0]["name"] == f"'{label}"


def test_the_figures_of_a_trace_have_tables() -> None:
    trace = make_trace(HTML_LIKE, "le chat")
    tree = figure_table(search_tree(trace, replay=False))
    nodes = [row for row, size in enumerate(tree["size"]) if tree["custom_1"][row] is not None]
    assert sorted(tree["custom_1"][row] for row in nodes) == list(range(len(trace.search)))
    mosaic = figure_table(heads_mosaic(head_grid(trace, "encoder")))
    assert mosaic["type"].count("heatmap") > 0 and "head 1: strongest" in " ".join(map(str, mosaic["hover"]))
    lines = figure_table(head_lines(head_map(trace, "cross", layer=0, head=0), threshold=0.2))
    assert len(lines["x"]) % 2 == 0 and set(lines["x"]) == {0.0, 1.0}
    heads = figure_table(
        heads_map(np.zeros((2, 2)), ["1.1", "1.2"], ["<does>", ""], np.array([0.5, np.nan]), title="t")
    )
    assert heads["custom_1"] == ["<does>", "no name"] and heads["custom_2"] == ["0.500", "not defined"]


def test_the_json_names_the_axes() -> None:
    figure = go.Figure(go.Bar(x=[1], y=[float("nan")]), layout={"xaxis": {"title": {"text": "a &amp; b"}}})
    assert json.loads(figure_json(figure, "words")) == {
        "format": "attention-atlas-figure",
        "version": 1,
        "about": "words",
        "title": "",
        "axes": {"xaxis": "a & b"},
        "columns": {"trace": [0], "type": ["bar"], "x": [1]},
    }


def test_an_empty_figure_has_an_empty_table() -> None:
    assert figure_table(go.Figure()) == {"trace": [], "type": []}
    assert write_table(figure_table(go.Figure()), "csv").decode("utf-8-sig") == "trace,type\r\n"


def test_plain_reads_what_plotly_shows() -> None:
    assert plain("<b>1</b><br><i>2</i><extra></extra> &#36;x&#36; &lt;b&gt;") == "1; 2 $x$ <b>"
