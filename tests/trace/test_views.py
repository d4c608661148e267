"""What a picture is given: weights, scores, labels, the maths, and the numbers to download."""

from __future__ import annotations

import csv
import io
import json
from itertools import product
from typing import Any

import numpy as np
import pytest

from atlas.trace import TraceError, view
from tests.traces import EMOJI, REPEATED, SOURCE, TARGET, make_trace

TRACE = make_trace(seed=1)
PATH = TRACE.path()


@pytest.mark.parametrize(
    ("kind", "layer", "head", "unit", "special", "rows"),
    list(product(("encoder", "decoder", "cross"), (None, 1), (None, 2, "mean", "max"), ("pieces", "words"),
                 (True, False), ("input", "output"))),
)  # fmt: skip
def test_every_view_has_rows_of_one_labels_for_its_axes_and_says_its_maths(
    kind: Any, layer: Any, head: Any, unit: Any, special: Any, rows: Any
):
    shown = view(TRACE, kind, layer=layer, head=head, unit=unit, special=special, rows=rows)
    layers, heads = {"encoder": 3}.get(kind, 2), 4
    lead = ([layers] if layer is None else []) + ([heads] if head is None else [])
    assert shown.weights.shape == (*lead, len(shown.query_labels), len(shown.key_labels))
    assert shown.layers == (tuple(range(layers)) if layer is None else (1,))
    assert shown.heads == (tuple(range(heads)) if head is None else (head,))
    empty = np.isnan(shown.weights).all(-1)
    gaps = np.abs(shown.weights[~empty].sum(-1) - 1)
    assert shown.sums_to_one == (head != "max") and (gaps.max() < 1e-5) == shown.sums_to_one
    assert any(group.special for group in (*shown.queries, *shown.keys)) == special
    assert (shown.scores is None) == (unit == "words" or head in ("mean", "max"))
    assert shown.scores is None or shown.scores.shape == shown.weights.shape
    assert ("Words" in shown.note) == (unit == "words")
    assert ("hidden" in shown.note) == (not special)
    assert ("do not sum to 1" in shown.note) == (head == "max") and ("Mean" in shown.note) == (head == "mean")
    for text in (shown.to_csv(), shown.to_json()):
        assert "nan" not in text.lower() and "inf" not in text.lower()


@pytest.mark.case("A1")
@pytest.mark.parametrize(("source", "target"), [("Hi", TARGET), (SOURCE, "Salut"), (SOURCE, TARGET)])
def test_queries_go_down_and_keys_across_whatever_the_lengths(source: str, target: str):
    trace = make_trace(source, target)
    shown = view(trace, "cross", layer=1, head=2)
    assert shown.weights.shape == (len(trace.path().nodes), len(trace.source_tokens))
    for row, node in enumerate(trace.path().nodes):
        read = trace.search.expanded[trace.search.parent[node]]
        assert np.array_equal(shown.weights[row], trace.search.cross[read, 1, 2])
    encoder = view(trace, "encoder", layer=0, head=1)
    assert np.array_equal(encoder.weights, trace.encoder[0, 1])


@pytest.mark.case("A5")
@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_both_row_conventions_name_the_same_numbers(kind: Any):
    read, predicted = view(TRACE, kind, rows="input"), view(TRACE, kind, rows="output")
    assert np.array_equal(read.weights, predicted.weights)
    assert read.query_labels[0] == "<s>" and predicted.query_labels[-1] == "</s>"
    assert read.query_labels[1:] == predicted.query_labels[:-1]
    assert "being read" in read.note and "being predicted" in predicted.note
    assert (read.rows, predicted.rows) == ("input", "output")
    if kind == "decoder":
        assert read.key_labels == predicted.key_labels == read.query_labels


@pytest.mark.case("A8")
@pytest.mark.parametrize("layers", [(1, 4), (4, 1)])
def test_every_layer_of_both_depths_is_there(layers: tuple[int, int]):
    trace = make_trace(layers=layers)
    depths = [view(trace, kind).weights.shape[0] for kind in ("encoder", "decoder", "cross")]
    assert depths == [layers[0], layers[1], layers[1]]


@pytest.mark.case("A6")
def test_masked_cells_are_exactly_zero_and_their_scores_minus_infinity():
    shown = view(TRACE, "decoder")
    future = ~np.tri(len(shown.queries), dtype=bool)
    assert not shown.weights[..., future].any()
    assert shown.scores is not None and np.isneginf(shown.scores[..., future]).all()


@pytest.mark.case("T1")
def test_repeated_words_are_columns_of_their_own():
    shown = view(make_trace(REPEATED), "encoder", layer=0, head=0, unit="words", special=False)
    assert shown.key_labels == shown.query_labels == tuple(REPEATED.split())
    assert shown.weights.shape == (8, 8)


@pytest.mark.case("T6")
def test_one_token_on_each_side_keeps_both_axes():
    trace = make_trace("Hi", "")
    assert view(trace, "cross", layer=0, head=0).weights.shape == (1, 2)
    assert view(trace, "cross", layer=0, head=0, special=False).weights.shape == (0, 1)
    assert view(trace, "decoder", layer=0, head="mean", unit="words").weights.shape == (1, 1)


@pytest.mark.case("T9")
def test_rows_have_target_labels_and_columns_source_labels():
    shown = view(make_trace(SOURCE, TARGET), "cross", unit="words", special=False)
    assert "".join(shown.key_labels) == SOURCE.replace(" ", "")
    assert "".join(shown.query_labels) == TARGET.replace(" ", "")


def test_a_row_that_saw_only_the_start_mark_is_empty_when_it_is_hidden():
    shown = view(TRACE, "decoder", special=False, rows="output")
    assert np.isnan(shown.weights[..., 0, :]).all() and not np.isnan(shown.weights[..., 1:, :]).any()


def test_the_mean_map_is_the_mean_of_the_maps_shown():
    each = view(TRACE, "cross", unit="words", special=False)
    mean = view(TRACE, "cross", unit="words", special=False, head="mean")
    assert np.allclose(mean.weights, each.weights.mean(1), atol=1e-6)
    highest = view(TRACE, "cross", unit="words", special=False, head="max")
    assert np.array_equal(highest.weights, each.weights.max(1))


def test_a_split_character_is_one_word():
    shown = view(make_trace(EMOJI), "encoder", unit="words", special=False)
    assert shown.key_labels == ("I", "love", "🦊", "and", "you", ".")
    assert [len(group.members) for group in shown.keys] == [1, 1, 4, 1, 1, 1]


def test_another_node_has_its_own_rows_and_labels():
    node = int(np.flatnonzero(TRACE.search.parent == TRACE.search.parent[TRACE.hypotheses[0]])[-1])
    shown = view(TRACE, "cross", node=node)
    assert shown.query_labels[-1] == TRACE.labels[node]
    assert np.array_equal(shown.weights, TRACE.path(node).cross)


def test_csv_reads_back_to_the_same_float32():
    shown = view(TRACE, "cross", layer=1, rows="input")
    table = list(csv.DictReader(io.StringIO(shown.to_csv())))
    assert len(table) == shown.weights.size
    weights = np.array([line["weight"] for line in table], np.float32).reshape(shown.weights.shape)
    assert shown.scores is not None and np.array_equal(weights, shown.weights)
    scores = np.array([line["score"] for line in table], np.float32).reshape(shown.scores.shape)
    assert np.array_equal(scores, shown.scores)
    assert [line["key"] for line in table[: len(shown.keys)]] == list(shown.key_labels)
    assert {line["layer"] for line in table} == {"1"} and {line["head"] for line in table} == set("0123")


def test_csv_quotes_labels_and_leaves_empty_rows_blank():
    trace = make_trace('say "a,b"', 'dis "a,b"')
    table = list(csv.DictReader(io.StringIO(view(trace, "cross", head="mean").to_csv())))
    assert {line["key"] for line in table} == {"say", '"', "a", ",", "b", "</s>"} and "score" not in table[0]
    assert {line["head"] for line in table} == {"mean"}
    lines = list(csv.DictReader(io.StringIO(view(trace, "decoder", special=False).to_csv())))
    assert {line["weight"] for line in lines if line["query_index"] == "0"} == {""}


def test_json_reads_back_to_the_same_float32_with_null_for_masked_and_empty():
    shown = view(TRACE, "decoder", special=False)
    content = json.loads(shown.to_json())
    weights = np.array(content["weights"], dtype=object).astype(np.float32)
    assert np.array_equal(weights, shown.weights, equal_nan=True)
    assert content["scores"][0][0][0][1] is None and content["weights"][0][0][0][0] is None
    assert content["queries"] == list(shown.query_labels) and content["keys"] == list(shown.key_labels)
    assert content["note"] == shown.note and content["format"] == "attention-atlas-view"


def test_scores_are_none_when_they_were_not_recorded():
    assert view(make_trace(scores=False), "cross").scores is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "self"}, "kind is 'self', not one of encoder, decoder, cross"),
        ({"unit": "letters"}, "unit is 'letters'"),
        ({"rows": "both"}, "rows is 'both'"),
        ({"layer": 2}, "layer is 2; cross attention has layers 0 to 1"),
        ({"layer": True}, "layer is True"),
        ({"head": -1}, "head is -1; cross attention has heads 0 to 3"),
        ({"head": "median"}, "head is 'median'"),
        ({"node": 9999}, "node 9999 is not in this search"),
    ],
)
def test_what_is_not_there_is_refused_by_name(options: dict[str, Any], message: str):
    with pytest.raises(TraceError, match=message):
        view(TRACE, **({"kind": "cross"} | options))
