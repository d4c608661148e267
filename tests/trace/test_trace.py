"""Reading a trace: nodes, texts, labels and the attention along a path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.trace import Fate, Trace, TraceError, label_tokens
from atlas.trace.pieces import encode_text
from tests.traces import EMOJI, END, SOURCE, START, TARGET, make_trace, piece_id

TRACE = make_trace(beam=4, seed=3, extras=True)


def traces() -> st.SearchStrategy[Trace]:
    """Synthetic traces of many shapes."""
    return st.builds(
        make_trace,
        st.sampled_from([SOURCE, "Hi", EMOJI]),
        st.sampled_from([TARGET, "Salut", "", "J'aime 🦊 !"]),
        layers=st.tuples(st.integers(1, 3), st.integers(1, 3)),
        heads=st.integers(1, 3),
        beam=st.integers(1, 5),
        seed=st.integers(0, 10_000),
    )


def test_the_builder_makes_every_fate():
    assert set(TRACE.search.fate.tolist()) == {int(fate) for fate in Fate}
    assert TRACE.path().text == TARGET


@pytest.mark.case("B10")
@settings(max_examples=25, deadline=None)
@given(traces())
def test_rows_of_a_path_are_those_of_its_own_parents(trace: Trace):
    search = trace.search
    for node in range(1, len(search)):
        path = trace.path(node)
        child = node
        for row in reversed(range(len(path.nodes))):
            parent = int(search.parent[child])
            read = int(search.expanded[parent])
            assert path.nodes[row] == child and path.rows[row] == read
            assert np.array_equal(path.cross[:, :, row], search.cross[read])
            assert np.array_equal(path.decoder[:, :, row, : row + 1], search.decoder[read, ..., : row + 1])
            assert not path.decoder[:, :, row, row + 1 :].any()
            assert path.logprobs[row] == search.logprob[child]
            child = parent
        assert child == 0


@pytest.mark.case("B10")
def test_reading_one_beam_slot_all_along_would_be_seen():
    """The mistake that the test above guards against changes rows in this search."""
    search, wrong = TRACE.search, 0
    slots = [
        [int(row) for row in search.expanded[(search.step == step) & (search.expanded >= 0)]]
        for step in range(int(search.step.max()))
    ]
    for node in range(1, len(search)):
        rows = TRACE.path(node).rows.tolist()
        slot = slots[len(rows) - 1].index(rows[-1])
        wrong += [held[min(slot, len(held) - 1)] for held in slots[: len(rows)]] != rows
    assert wrong > 20  # nodes whose attention such a reader would show wrongly


@settings(max_examples=25, deadline=None)
@given(traces())
def test_rows_of_every_path_sum_to_one_and_the_future_is_exactly_zero(trace: Trace):
    for node in [*trace.hypotheses.tolist(), len(trace.search) - 1]:
        path = trace.path(node)
        length = len(path.nodes)
        assert path.cross.shape[-2:] == (length, len(trace.source_tokens))
        assert path.decoder.shape[-2:] == (length, length)
        assert np.allclose(path.cross.sum(-1), 1, atol=1e-5) and np.allclose(
            path.decoder.sum(-1), 1, atol=1e-5
        )
        assert not np.triu(path.decoder, 1).any()
        assert path.decoder_scores is not None and path.cross_scores is not None
        assert np.isneginf(path.decoder_scores[..., ~np.tri(length, dtype=bool)]).all()
        assert path.cross_scores.shape == path.cross.shape


def test_siblings_share_the_pass_that_predicted_them_pruned_ones_too():
    pruned = np.flatnonzero(TRACE.search.fate == Fate.PRUNED)
    parent = int(TRACE.search.parent[pruned[-1]])
    children = TRACE.search.children[parent]
    assert len(children) > 1
    rows = [TRACE.path(child).cross[:, :, -1] for child in children]
    assert all(np.array_equal(row, rows[0]) for row in rows)


@pytest.mark.case("A5")
def test_a_row_reads_its_input_and_predicts_its_output():
    path = TRACE.path()
    assert path.inputs[0].id == START and path.outputs[-1].id == END
    assert path.inputs[1:] == path.outputs[:-1]
    assert [token.id for token in path.outputs] == list(TRACE.token_path(int(TRACE.hypotheses[0])))
    parents = TRACE.search.parent[path.nodes]
    assert [token.id for token in path.inputs] == TRACE.search.token[parents].tolist()


@pytest.mark.case("A8")
@pytest.mark.parametrize("layers", [(1, 4), (4, 1)])
def test_encoder_and_decoder_may_differ_in_depth(layers: tuple[int, int]):
    trace = make_trace(layers=layers)
    path = trace.path()
    assert (trace.encoder.shape[0], path.cross.shape[0], path.decoder.shape[0]) == (
        layers[0],
        layers[1],
        layers[1],
    )


@pytest.mark.case("T6")
def test_one_token_keeps_every_axis():
    trace = make_trace("Hi", "")
    path = trace.path()
    assert path.cross.shape == (2, 4, 1, 2) and path.decoder.shape == (2, 4, 1, 1) and path.text == ""


def test_the_root_has_a_path_of_no_rows():
    path = TRACE.path(0)
    assert path.text == "" and path.inputs == path.outputs == ()
    assert path.cross.shape[2] == 0 and path.decoder.shape[2:] == (0, 0)


@settings(max_examples=25, deadline=None)
@given(traces())
def test_a_token_path_names_its_node(trace: Trace):
    for node in range(len(trace.search)):
        assert trace.node_for(trace.token_path(node)) == node
        assert trace.token(node).id == trace.search.token[node]


@settings(max_examples=15, deadline=None)
@given(traces())
def test_labels_of_all_nodes_are_those_of_their_paths(trace: Trace):
    assert list(trace.labels) == [trace.token(node).label for node in range(len(trace.search))]


def test_texts_of_partial_paths_grow_to_the_hypothesis():
    path = TRACE.path()
    texts = [TRACE.text(int(node)) for node in path.nodes]
    assert texts[0] == "L'" and texts[-1] == texts[-2] == TARGET
    assert all(longer.startswith(shorter) for shorter, longer in zip(texts, texts[1:], strict=False))


@pytest.mark.case("T8")
def test_a_path_that_ends_inside_a_character_shows_bytes():
    trace = make_trace(target="J'aime 🦊.")
    fox = [piece_id(piece) for piece in encode_text("🦊")[1:]]
    whole = trace.token_path(int(trace.hypotheses[0]))
    node = trace.node_for(whole[: whole.index(fox[0]) + 1])
    assert trace.text(node) == "J'aime ‹F0 9F›"
    assert trace.token(node).label == trace.labels[node] == "‹9F›"
    numbered = [token.label for token in trace.path().outputs if "🦊" in token.label]
    assert numbered == ["🦊 1/4", "🦊 2/4", "🦊 3/4", "🦊 4/4"]


@pytest.mark.case("T9")
def test_each_side_has_its_own_labels_even_for_equal_ids():
    shared = {number: encode_text(f" source{number}") for number in TRACE.vocabulary}
    ids = [number for number in TRACE.vocabulary if number not in TRACE.special_ids][:4]
    text = " ".join(f"source{number}" for number in ids)
    tokens = label_tokens(text, [*(shared[number] for number in ids), "</s>"], [*ids, END], TRACE.special_ids)
    trace = replace(TRACE, source=text, source_tokens=tokens)
    assert [token.label for token in trace.source_tokens[:-1]] == text.split()
    assert [token.label for token in trace.path().outputs] == [token.label for token in TRACE.path().outputs]


def test_unknown_nodes_and_paths_are_refused():
    with pytest.raises(TraceError, match="node 99999 is not in this search"):
        TRACE.path(99_999)
    with pytest.raises(TraceError, match="node -1 is not"):
        TRACE.text(-1)
    with pytest.raises(TraceError, match=r"never met the token path 5\.6"):
        TRACE.node_for([5, 6])


def test_keeping_the_n_best_rows_keeps_their_paths_and_says_so():
    small = TRACE.with_n_best_rows_only()
    small.validate()
    assert small.rows_kept == "n-best" and small.nbytes < TRACE.nbytes
    for node in TRACE.hypotheses.tolist():
        one, two = small.path(node), TRACE.path(node)
        for name in ("cross", "decoder", "cross_scores", "decoder_scores", "logprobs"):
            assert np.array_equal(getattr(one, name), getattr(two, name))
        read = [int(row) for row in one.rows], [int(row) for row in two.rows]
        assert np.array_equal(small.extras["logits"][read[0]], TRACE.extras["logits"][read[1]])
        assert np.array_equal(small.search.top_ids[read[0]], TRACE.search.top_ids[read[1]])
    kept = set(np.flatnonzero(small.search.expanded >= 0).tolist())
    lost = next(
        node for node in range(1, len(TRACE.search)) if TRACE.search.expanded[node] >= 0 and node not in kept
    )
    child = TRACE.search.children[lost][0]
    with pytest.raises(TraceError, match="was not kept"):
        small.path(child)
    assert small.text(child) == TRACE.text(child)
