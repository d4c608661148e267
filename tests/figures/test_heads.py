"""Pictures of attention heads from arrays: shapes, labels, scales, masks, and what is downloaded."""

from __future__ import annotations

import base64
import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from atlas.figures import export, style
from atlas.figures.attended import head_bars, key_bars, summed
from atlas.figures.export import ExportError, picture, picture_trouble
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.figures.lines import head_lines, lines_payload
from atlas.figures.mosaic import HeadGrid, heads_mosaic, mosaic_payload

HOSTILE = ("<s>", "<b>x</b>", "<a href=x>", "&lt;", "<img src=x onerror=alert(1)>", "</script>", "$x$")
ESCAPED = (
    "&lt;s&gt;",
    "&lt;b&gt;x&lt;/b&gt;",
    "&lt;a href=x&gt;",
    "&amp;lt;",
    "&lt;img src=x onerror=alert(1)&gt;",
    "&lt;/script&gt;",
    "&#36;x&#36;",
)


def softmax(scores: NDArray[Any]) -> NDArray[np.float32]:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)


def make_map(queries: tuple[str, ...], keys: tuple[str, ...], *, seed: int = 0, **more: Any) -> HeadMap:
    scores = np.random.default_rng(seed).normal(size=(len(queries), len(keys))).astype(np.float32) * 2
    return HeadMap(softmax(scores), queries, keys, scores, name="layer 1 · head 1", **more)


def make_grid(
    layers: int, heads: int, queries: tuple[str, ...], keys: tuple[str, ...], kind: str = "encoder"
) -> HeadGrid:
    shape = (layers, heads, len(queries), len(keys))
    weights = softmax(np.random.default_rng(1).normal(size=shape) * 2)
    return HeadGrid(weights, weights.mean(axis=1), weights.max(axis=1), queries, keys, kind)


def numbers(count: int, prefix: str = "w") -> tuple[str, ...]:
    return tuple(f"{prefix}{place}" for place in range(count))


@pytest.mark.case("T1")
@pytest.mark.case("T2")
@pytest.mark.parametrize("sentence", ["the cat saw the dog and the cat", "2019 2020 1E1 2026-01 5 or more"])
def test_a_heatmap_has_a_column_for_each_token_and_labels_as_typed(sentence: str) -> None:
    words = tuple(sentence.split())
    figure = heatmap(make_map(words, words))
    assert figure.data[0].z.shape == (len(words), len(words))
    for axis in (figure.layout.xaxis, figure.layout.yaxis):
        assert axis.type == "linear"
        assert axis.tickvals == tuple(range(len(words)))
        assert axis.ticktext == words


@pytest.mark.case("T3")
def test_markup_in_words_is_escaped_everywhere() -> None:
    head = make_map(HOSTILE, HOSTILE)
    grid = make_grid(2, 2, HOSTILE, HOSTILE)
    figures = {
        "heatmap": heatmap(head),
        "lines": head_lines(head),
        "bars": key_bars(head, grid, [0]),
        "heads": head_bars(grid, [0]),
        "mosaic": heads_mosaic(grid),
    }
    assert figures["heatmap"].layout.xaxis.ticktext == ESCAPED
    assert [note.text for note in figures["lines"].layout.annotations] == [*ESCAPED, *ESCAPED]
    allowed = ("<b>", "</b>", "<br>", "<extra></extra>")
    for name, figure in figures.items():
        text = json.dumps(json.loads(figure.to_json()), ensure_ascii=False)
        for tag in allowed:
            text = text.replace(tag, "")
        assert "<" not in text, name
        assert "&lt;" in text, name


@pytest.mark.case("A1")
@pytest.mark.parametrize(("rows", "columns"), [(3, 7), (7, 3), (1, 1), (1, 5)])
def test_queries_run_down_and_keys_across(rows: int, columns: int) -> None:
    head = make_map(numbers(rows, "q"), numbers(columns, "k"), kind="cross")
    figure = heatmap(head)
    np.testing.assert_array_equal(figure.data[0].z, head.weights)
    assert figure.layout.yaxis.ticktext == head.queries and figure.layout.xaxis.ticktext == head.keys
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first query is at the top"
    payload = lines_payload(head)
    back = np.frombuffer(base64.b64decode(payload["weights"]), "<f4").reshape(rows, columns)
    np.testing.assert_array_equal(back, head.weights)
    assert payload["queries"] == list(head.queries) and payload["keys"] == list(head.keys)


@pytest.mark.case("A1")
def test_swapped_labels_are_refused() -> None:
    head = make_map(numbers(3), numbers(7))
    with pytest.raises(ValueError, match=r"weights must be \(queries, keys\) = \(7, 3\), not \(3, 7\)"):
        HeadMap(head.weights, head.keys, head.queries)
    with pytest.raises(ValueError, match="scores must be"):
        HeadMap(head.weights, head.queries, head.keys, head.weights.T)
    with pytest.raises(ValueError, match="kind must be one of"):
        HeadMap(head.weights, head.queries, head.keys, kind="sideways")
    with pytest.raises(ValueError, match="must lie in 0..1"):
        HeadMap(head.weights * 5, head.queries, head.keys)


def test_ranks_count_from_the_largest_and_ties_share() -> None:
    head = HeadMap(np.array([[0.1, 0.5, 0.2, 0.2]], np.float32), ("q",), ("a", "b", "c", "d"))
    assert head.ranks.tolist() == [[4, 1, 2, 2]]
    assert heatmap(head).data[0].text.tolist() == [[4, 1, 2, 2]]


def test_hover_tells_weight_score_and_rank() -> None:
    head = make_map(numbers(3), numbers(4))
    trace = heatmap(head).data[0]
    assert all(part in trace.hovertemplate for part in ("weight", "score before softmax", "rank", "of 4"))
    np.testing.assert_array_equal(trace.customdata, head.scores)
    without = heatmap(HeadMap(head.weights, head.queries, head.keys)).data[0]
    assert "score" not in without.hovertemplate


def test_many_tokens_keep_every_cell_and_name_it_on_hover() -> None:
    words = ("<s>", *numbers(69))
    figure = heatmap(make_map(words, words))
    trace = figure.data[0]
    assert trace.z.shape == (70, 70) and (trace.xaxis, trace.yaxis) == ("x2", "y2")
    assert figure.layout.xaxis2.ticktext == ("&lt;s&gt;", *words[1:]) and "%{x}" in trace.hovertemplate


@pytest.mark.case("A3")
def test_masked_cells_and_empty_rows_say_so_and_weights_stay() -> None:
    weights = np.array([[1, 0, 0], [0.25, 0.75, 0], [np.nan] * 3], np.float32)
    scores = np.array([[1, -np.inf, -np.inf], [0, 1, -np.inf], [0, 0, 0]], np.float32)
    head = HeadMap(weights, numbers(3), numbers(3), scores, np.isneginf(scores), kind="decoder")
    figure = heatmap(head)
    base, masked, empty = figure.data
    assert base.z[0, 1] == 0 and base.z[1, 2] == 0, "masked weights are drawn as exactly 0"
    assert (~np.isnan(masked.z)).tolist() == np.isneginf(scores).tolist() and "masked" in masked.hovertemplate
    assert (~np.isnan(empty.z)).tolist() == [[False] * 3, [False] * 3, [True] * 3]
    assert head.peak == 1.0 and head.empty.tolist() == [False, False, True]
    assert lines_payload(head)["empty"] == [2]


@pytest.mark.case("A8")
@pytest.mark.parametrize(("layers", "heads"), [(6, 8), (2, 4), (1, 1)])
def test_every_layer_and_head_is_in_the_mosaic(layers: int, heads: int) -> None:
    grid = make_grid(layers, heads, numbers(3, "q"), numbers(5, "k"), kind="cross")
    assert grid.shades("head").shape == (layers, heads + 2, 3, 5)
    figure = heads_mosaic(grid, chosen=(0, 1))
    assert figure.layout.yaxis.ticktext == tuple(str(layer + 1) for layer in range(layers))
    assert figure.layout.xaxis.ticktext == (*(str(head + 1) for head in range(heads)), "mean", "max")
    drawn = figure.data[0].z
    assert np.count_nonzero(~np.isnan(drawn)) == layers * (heads + 2) * 15
    np.testing.assert_array_equal(drawn[:3, :5], grid.shades("head")[0, 0])
    payload = mosaic_payload(grid, chosen=(0, 1))
    packed = np.frombuffer(base64.b64decode(payload["shades"]), np.uint8).reshape(payload["shape"])
    np.testing.assert_array_equal(packed, grid.shades("head"))
    assert len(payload["tips"]) == layers and {len(row) for row in payload["tips"]} == {heads + 2}
    json.dumps(payload, allow_nan=False)


def test_scales_own_and_shared() -> None:
    weights = np.array([[[[0.5, 0.5]], [[1.0, 0.0]]]], np.float32)
    grid = HeadGrid(weights, weights.mean(axis=1), weights.max(axis=1), ("q",), ("a", "b"))
    assert grid.shades("head")[0, 0].tolist() == [[255, 255]]
    assert grid.shades("shared")[0, 0].tolist() == [[128, 128]]
    assert grid.top("shared", 0, 0) == 1.0 and grid.top("head", 0, 0) == 0.5
    with pytest.raises(ValueError, match="scale must be one of head, shared"):
        grid.shades("other")


def test_an_empty_tile_is_background_and_says_empty() -> None:
    weights = np.full((1, 1, 2, 2), np.nan, np.float32)
    grid = HeadGrid(weights, weights[:, 0], weights[:, 0], numbers(2), numbers(2))
    assert not grid.shades("head").any() and not grid.shades("shared").any()
    assert grid.strongest(0, 1) == "layer 1 · mean over heads: empty"


def test_the_strongest_pair_of_a_tile_is_named() -> None:
    weights = np.array([[[[0.1, 0.9], [0.6, 0.4]]]], np.float32)
    grid = HeadGrid(weights, weights.mean(axis=1), weights.max(axis=1), ("<it>", "was"), ("cat", "<b>"))
    assert grid.strongest(0, 0) == "layer 1 · head 1: strongest <it> → <b> 0.90"


def test_a_grid_of_wrong_shape_is_refused() -> None:
    grid = make_grid(2, 3, numbers(2), numbers(4))
    with pytest.raises(ValueError, match=r"mean must be \(2, 2, 4\)"):
        HeadGrid(grid.weights, grid.maximum[:1], grid.maximum, grid.queries, grid.keys)
    with pytest.raises(ValueError, match="layers, heads, queries, keys"):
        HeadGrid(grid.weights[0], grid.mean, grid.maximum, grid.queries, grid.keys)


@pytest.mark.parametrize("threshold", [0.0, 0.2, 1.0])
def test_lines_at_or_over_the_threshold_are_drawn(threshold: float) -> None:
    head = make_map(numbers(4), numbers(6))
    figure = head_lines(head, threshold=threshold)
    pairs = {
        (int(trace.y[place]), int(trace.y[place + 1]))
        for trace in figure.data
        for place in range(0, len(trace.y), 3)
    }
    assert pairs == {tuple(pair) for pair in np.argwhere(head.weights >= threshold).tolist()}


@pytest.mark.parametrize("draw", [head_lines, lines_payload])
def test_a_threshold_outside_is_refused(draw: Any) -> None:
    with pytest.raises(ValueError, match=r"threshold must lie in 0\.\.1"):
        draw(make_map(numbers(2), numbers(2)), threshold=1.5)


def test_chosen_words_are_summed_in_every_head() -> None:
    grid = make_grid(2, 3, numbers(4, "q"), numbers(5, "k"))
    totals = summed(grid.weights, [1, 3])
    np.testing.assert_allclose(totals.sum(axis=-1), 2.0, rtol=1e-5)
    head = HeadMap(grid.weights[1, 2], grid.queries, grid.keys, name="layer 2 · head 3")
    here, everywhere = key_bars(head, grid, [1, 3]).data
    np.testing.assert_array_equal(here.y, totals[1, 2])
    np.testing.assert_allclose(everywhere.y, totals.mean(axis=(0, 1)))
    weak, strong = head_bars(grid, [1, 3], highlight=(1, 2)).data[:2]
    np.testing.assert_array_equal(weak.customdata[:, 0], totals.reshape(6, 5)[:5].ravel())
    np.testing.assert_array_equal(strong.customdata[:, 0], totals[1, 2])
    assert np.unique(strong.customdata[:, 1:], axis=0).tolist() == [[2, 3]], "layer 2, head 3"
    assert strong.marker.color == style.COLOURS["encoder"] != weak.marker.color
    with pytest.raises(ValueError, match="at least one"):
        summed(grid.weights, [])
    with pytest.raises(ValueError, match=r"0\.\.3"):
        summed(grid.weights, [4])


def test_of_many_keys_the_highest_stands_for_its_neighbours() -> None:
    grid = make_grid(1, 2, numbers(3, "q"), numbers(130, "k"))
    totals = summed(grid.weights, [0])
    figure = head_bars(grid, [0])
    bars = figure.data[0]
    assert len(bars.x) == 2 * 33, "130 keys, four a bar"
    assert bars.customdata[5, 0] == totals[0, 0, 20:24].max()
    assert bars.hovertext[5] == grid.keys[20 + int(totals[0, 0, 20:24].argmax())]
    assert "a bar for 4 keys" in figure.layout.xaxis.title.text


def test_of_many_tokens_every_cell_still_has_both_labels() -> None:
    head = make_map(numbers(41, "q"), numbers(50, "k"))
    figure = heatmap(head)
    cells = figure.data[0]
    assert (cells.xaxis, cells.yaxis) == ("x2", "y2") and cells.text.dtype == np.uint16, "ranks alone"
    assert figure.layout.xaxis2.ticktext == head.keys and figure.layout.yaxis2.ticktext == head.queries
    assert figure.layout.xaxis2.matches == "x" and figure.layout.yaxis2.range == figure.layout.yaxis.range
    assert len(figure.layout.xaxis.ticktext) < len(head.keys), "not every tick is drawn"
    assert "%{y} → %{x}" in cells.hovertemplate


def test_a_picture_without_kaleido_or_browser_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = heatmap(make_map(numbers(2), numbers(2)))
    with pytest.raises(ValueError, match="one of png, svg"):
        picture(figure, "gif")
    pytest.importorskip("kaleido")
    with monkeypatch.context() as patch:
        patch.setattr(export, "find_spec", lambda name: None)
        assert "export extra: pip install" in str(picture_trouble())
        with pytest.raises(ExportError, match="export extra"):
            picture(figure, "png")
    from choreographer.browsers.chromium import Chromium

    with monkeypatch.context() as patch:
        patch.setattr(Chromium, "find_browser", lambda **_: None)
        assert "none was found" in str(picture_trouble())
        with pytest.raises(ExportError, match="none was found"):
            picture(figure, "svg")


def test_a_browser_that_fails_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    kaleido = pytest.importorskip("kaleido")
    from choreographer.browsers.chromium import Chromium
    from kaleido.errors import BrowserFailedError

    def fail(*_: Any, **__: Any) -> bytes:
        raise BrowserFailedError("it\ndied")

    monkeypatch.setattr(Chromium, "find_browser", lambda **_: "/somewhere/chromium")
    monkeypatch.setattr(kaleido, "calc_fig_sync", fail)
    with pytest.raises(ExportError, match=r"^the browser that draws PNG and SVG failed: it died$"):
        picture(heatmap(make_map(numbers(2), numbers(2))), "png")


@pytest.mark.browser
@pytest.mark.case("T1")
@pytest.mark.case("T2")
@pytest.mark.case("T3")
def test_an_svg_shows_each_label_literally() -> None:
    words = (*HOSTILE, "the", "2019", "1E1", "2026-01", "the")
    root = ElementTree.fromstring(picture(heatmap(make_map(words, words)), "svg", width=900))
    texts = ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]
    for word in set(words):
        assert texts.count(word) == 2 * words.count(word), word
    assert not list(root.iter("{http://www.w3.org/2000/svg}a"))
