"""From traces to pictures of heads: names, masks, words, summaries, comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atlas.figures.attention import as_map, disagreement, head_grid, head_map, head_name, masked_cells
from atlas.figures.heatmap import heatmap
from atlas.figures.mosaic import heads_mosaic
from atlas.trace import TraceError, view
from tests.traces import EMOJI, HTML_LIKE, REPEATED, make_trace


@pytest.mark.case("A1")
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("unit", ["pieces", "words"])
@pytest.mark.parametrize("special", [True, False])
def test_a_head_is_the_same_alone_and_in_the_grid(kind: Any, unit: Any, special: bool) -> None:
    trace = make_trace("One two three four.", "Un deux.")
    shown = {"unit": unit, "special": special}
    grid = head_grid(trace, kind, **shown)
    for layer, head, column in ((0, 1, 1), (1, "mean", 4), (1, "max", 5)):
        one = head_map(trace, kind, layer=layer, head=head, **shown)
        np.testing.assert_array_equal(one.weights, grid.tiles[layer, column])
        assert one.queries == grid.queries and one.keys == grid.keys


def test_names_count_from_one() -> None:
    assert head_name(0, 4) == "layer 1 · head 5" and head_name(2, "mean") == "layer 3 · mean over heads"
    head = head_map(make_trace(), "cross", layer=1, head=0, rows="input")
    assert (head.name, head.rows, head.kind) == ("layer 2 · head 1", "query (token read)", "cross")


def test_several_heads_are_no_picture_of_one() -> None:
    with pytest.raises(ValueError, match="one layer and one head"):
        as_map(view(make_trace(), "encoder", layer=0))
    with pytest.raises(TraceError, match="layer is 9"):
        head_map(make_trace(), "encoder", layer=9, head=0)


@pytest.mark.case("A3")
@pytest.mark.parametrize("unit", ["pieces", "words"])
@pytest.mark.parametrize("special", [True, False])
def test_the_mask_is_where_no_piece_may_look(unit: Any, special: bool) -> None:
    shown = view(make_trace(), "decoder", layer=0, head=0, unit=unit, special=special)
    masked = masked_cells(shown)
    assert masked is not None and masked.any()
    assert not np.nan_to_num(shown.weights)[masked].any(), "a masked cell is exactly 0"
    filled = ~np.isnan(shown.weights).all(axis=1)
    assert (shown.weights[filled][~masked[filled]] > 0).all(), "every other cell was looked at"
    assert masked_cells(view(make_trace(), "cross", layer=0, head=0)) is None


@pytest.mark.case("T1")
@pytest.mark.case("T3")
@pytest.mark.case("T6")
@pytest.mark.case("T8")
@pytest.mark.parametrize("source", [REPEATED, HTML_LIKE, EMOJI, "Hi", ""])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_any_sentence_draws_with_a_cell_a_token(source: str, kind: Any) -> None:
    trace = make_trace(source, source or "Oui")
    for unit in ("pieces", "words"):
        head = head_map(trace, kind, layer=0, head=0, unit=unit)
        drawn = heatmap(head)
        assert drawn.data[0].z.shape == (len(head.queries), len(head.keys))
        assert len(drawn.layout.xaxis.ticktext) == len(head.keys)
        assert "�" not in "".join(head.keys + head.queries)
        heads_mosaic(head_grid(trace, kind, unit=unit))


@pytest.mark.case("A5")
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_row_conventions_shift_the_labels_and_not_the_numbers(kind: Any) -> None:
    read, predicted = (
        head_map(make_trace(), kind, layer=0, head=0, rows=rows) for rows in ("input", "output")
    )
    assert read.queries[1:] == predicted.queries[:-1] and read.rows != predicted.rows
    np.testing.assert_array_equal(read.weights, predicted.weights)


def test_disagreement_is_the_total_variation_of_the_rows() -> None:
    trace = make_trace()
    first, second = (head_map(trace, "encoder", layer=0, head=head) for head in (0, 1))
    apart = disagreement(first, second)
    assert disagreement(first, first) == 0 and apart is not None and 0 < apart < 1
    expected = 0.5 * np.abs(first.weights - second.weights).sum(axis=1).mean()
    assert apart == pytest.approx(expected, rel=1e-5)
    assert disagreement(first, head_map(trace, "cross", layer=0, head=0)) is None
