"""The Beam search page on a real engine with random weights, and on a saved trace without one."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.figures.fates import percent
from atlas.trace import Fate, Trace
from atlas.ui.search_state import SEARCH_KEYS
from tests.app.conftest import component, html_of, open_page
from tests.traces import HTML_LIKE, make_trace

SENTENCE = "She was too tired to cross the street."
LIMIT = 8


@pytest.fixture
def real_bundle(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle.parent))
    return tiny_bundle


@pytest.fixture(scope="module")
def searched(tiny_bundle: Path) -> Trace:
    """The search that the page shows for :func:`open_search` without further words."""
    return Engine.load(tiny_bundle, "cpu").trace(SENTENCE, SearchOptions(beam=3, n_best=3, max_length=LIMIT))


def open_search(**query: str) -> AppTest:
    test = open_page("beam_search", **({"text": SENTENCE, "beam": "3", "limit": str(LIMIT)} | query))
    assert not test.exception
    return test


def tree_of(test: AppTest) -> dict[str, Any]:
    """The data of the tree component."""
    data: dict[str, Any] = json.loads(component(test, "search_tree"))
    return data


def bars_of(test: AppTest) -> dict[str, Any]:
    """The bars of the ten likeliest tokens."""
    bars: dict[str, Any] = json.loads(test.get("plotly_chart")[1].proto.spec)["data"][0]
    return bars


def captions(test: AppTest) -> str:
    return "\n".join(caption.value for caption in test.caption)


def path(trace: Trace, node: int) -> str:
    return ".".join(map(str, trace.token_path(node)))


def first(trace: Trace, fate: Fate) -> int:
    return int(np.flatnonzero((trace.search.fate == fate) & (trace.search.step > 1))[0])


def test_it_opens_on_the_whole_search_and_the_best_hypothesis(real_bundle: Path, searched: Trace) -> None:
    test = open_search()
    data = tree_of(test)
    assert len(data["tree"]["column"]) == len(searched.search)
    assert data["node"] == searched.hypotheses[0]
    assert data["step"] == data["tree"]["steps"] == LIMIT
    assert {key.name for key in SEARCH_KEYS} <= set(test.query_params)


def test_the_address_chooses_a_pruned_node_and_a_step(real_bundle: Path, searched: Trace) -> None:
    node = first(searched, Fate.PRUNED)
    test = open_search(node=path(searched, node), step="4")
    assert (tree_of(test)["node"], tree_of(test)["step"]) == (node, 4)
    shown = html_of(test)
    assert "pruned: rank" in shown
    assert "the worst kept" in shown


def test_its_ten_alternatives_come_from_the_pass_of_its_parent(real_bundle: Path, searched: Trace) -> None:
    node = first(searched, Fate.PRUNED)
    test = open_search(node=path(searched, node))
    row = searched.search.expanded[searched.search.parent[node]]
    assert len(bars_of(test)["customdata"]) == len(searched.search.top_ids[row]) == 10
    assert node in bars_of(test)["customdata"]


def test_what_a_pruned_node_would_have_said_next_is_asked_of_the_engine(
    real_bundle: Path, searched: Trace
) -> None:
    node = first(searched, Fate.PRUNED)
    test = open_search(node=path(searched, node), beside="next")
    assert "never read this candidate" in captions(test)
    assert len(test.get("plotly_chart")) == 1
    test.button(key="atlas.search.ask").click().run()
    assert not test.exception
    assert test.query_params["ask"] == "1"
    assert len(test.get("plotly_chart")) == 2
    follow = Engine.load(real_bundle, "cpu").trace(
        SENTENCE, SearchOptions(method="greedy", max_length=1), prefix_ids=searched.token_path(node)
    )
    asked = follow.search.expanded[follow.node_for(searched.token_path(node))]
    assert bars_of(test)["text"] == [percent(float(value)) for value in follow.search.top_logprobs[asked]]


def test_an_expanded_node_tells_what_came_next(real_bundle: Path, searched: Trace) -> None:
    node = int(np.flatnonzero((searched.search.expanded >= 0) & (searched.search.step == 2))[0])
    test = open_search(node=path(searched, node), beside="next")
    assert len(test.get("plotly_chart")) == 2


def test_the_search_goes_on_from_a_chosen_node(real_bundle: Path, searched: Trace) -> None:
    node = first(searched, Fate.PRUNED)
    prefix = searched.token_path(node)
    test = open_search(node=path(searched, node))
    test.button(key="atlas.search.go_on").click().run()
    assert not test.exception
    assert test.query_params["from"] == path(searched, node)
    data = tree_of(test)
    assert data["tree"]["token"][1 : len(prefix) + 1] == list(prefix)
    assert all(
        hover.split("\n")[-1].startswith("forced") for hover in data["tree"]["hover"][1 : len(prefix) + 1]
    )
    test.button(key="atlas.search.free").click().run()
    assert not test.exception
    assert tree_of(test)["tree"]["identity"] != data["tree"]["identity"]
    assert test.query_params["from"] == ""


def test_another_sentence_sets_the_search_free(real_bundle: Path, searched: Trace) -> None:
    test = open_search(**{"from": path(searched, first(searched, Fate.PRUNED))})
    test.text_input(key="atlas.widget.beam_search.text").set_value("It rains.").run()
    assert not test.exception
    assert test.query_params["from"] == ""
    assert 'role="alert"' not in html_of(test)


def test_the_beam_can_be_changed_and_an_old_choice_is_dropped_without_a_word(
    real_bundle: Path, searched: Trace
) -> None:
    test = open_search(node=path(searched, first(searched, Fate.PRUNED)), step=str(LIMIT))
    test.slider(key="atlas.widget.beam_search.beam").set_value(1).run()
    test.number_input(key="atlas.widget.beam_search.limit").set_value(3).run()
    assert not test.exception
    assert 'role="alert"' not in html_of(test)
    assert tree_of(test)["tree"]["rows"] == 2
    assert tree_of(test)["step"] == 3


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"node": "999999"}, "never met the node 999999"),
        ({"step": "77"}, "has no step 77"),
        ({"step": "x"}, "step"),
        ({"cross_layer": "9"}, "a layer from 1 to 2"),
        ({"from": "399.2"}, "cannot be made to go on"),
        ({"top_p": "7"}, "a number from 0.05 to 1"),
    ],
)
def test_what_the_address_asks_for_in_vain_is_said(
    real_bundle: Path, query: dict[str, str], said: str
) -> None:
    test = open_search(**query)
    assert any(
        'role="alert"' in element.proto.body and said in element.proto.body for element in test.get("html")
    )
    assert tree_of(test)["step"] == LIMIT


def test_n_best_greedy_and_a_sample_stand_side_by_side(real_bundle: Path, searched: Trace) -> None:
    test = open_search()
    shown = html_of(test)
    for node in searched.hypotheses.tolist():
        assert f"{searched.search.score[node]:.3f}".replace("-", "−") in shown
    assert shown.count("than the best of the beam") + shown.count("the same as the best") >= 1
    sampled = test.main.get("html")[-1].proto.body
    test.number_input(key="atlas.widget.beam_search.seed").set_value(7).run()
    assert not test.exception
    assert test.query_params["seed"] == "7"
    assert test.main.get("html")[-1].proto.body != sampled


def test_a_hypothesis_of_the_list_can_be_shown_in_the_tree(real_bundle: Path, searched: Trace) -> None:
    test = open_search()
    test.button(key="atlas.search.hypothesis.2").click().run()
    assert not test.exception
    assert tree_of(test)["node"] == searched.hypotheses[1]


def test_every_candidate_stands_in_a_table_once_it_is_opened(real_bundle: Path, searched: Trace) -> None:
    test = open_search()
    assert not test.dataframe
    test.session_state["atlas.search.table"] = True
    test.run()
    assert not test.exception
    table = test.dataframe[0].value
    assert len(table) == len(searched.search) - 1
    assert table["Text"].iloc[-1] == searched.text(len(searched.search) - 1)


def test_the_root_is_a_node_too(real_bundle: Path) -> None:
    test = open_search(node="1")
    assert tree_of(test)["node"] == 0
    assert "first tokens" in captions(test)
    assert test.button(key="atlas.search.go_on").disabled


def test_the_layer_and_head_of_the_cross_attention_are_in_the_address(real_bundle: Path) -> None:
    test = open_search(cross_layer="1", cross_head="3")
    assert test.selectbox(key="atlas.widget.beam_search.cross_layer").value == 1
    test.selectbox(key="atlas.widget.beam_search.cross_head").select(0).run()
    assert test.query_params["cross_head"] == "0"
    assert "Mean over" in captions(test)


@pytest.mark.case("T3")
def test_html_like_text_is_shown_literally(real_bundle: Path) -> None:
    test = open_search(text=HTML_LIKE)
    assert "<img" not in html_of(test)
    spec = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert not any("<" in label for label in spec["layout"]["xaxis"]["ticktext"])


@pytest.mark.case("T5")
def test_an_empty_sentence_gives_a_hint(real_bundle: Path) -> None:
    test = open_search(text=" ")
    assert "Write a sentence above" in html_of(test)


@pytest.mark.case("T6")
def test_one_word_and_one_step_draw(real_bundle: Path) -> None:
    test = open_search(text="I", limit="1")
    assert tree_of(test)["tree"]["steps"] == 1


def saved(trace: Trace) -> AppTest:
    """The page with a saved trace and no model at all."""
    buffer = io.BytesIO()
    trace.save(buffer)
    test = open_page("beam_search")
    test.sidebar.get("file_uploader")[0].upload(
        "mine.npz", buffer.getvalue(), "application/octet-stream"
    ).run()
    assert not test.exception
    return test


def test_a_saved_trace_is_drawn_without_a_model(no_bundles: None) -> None:
    trace = make_trace(beam=4, n_best=3)
    test = saved(trace)
    assert len(tree_of(test)["tree"]["column"]) == len(trace.search)
    assert "beam width 4" in html_of(test)
    said = captions(test)
    assert "Going on from a node needs the model" in said
    assert "Greedy search and sampling need the model" in said
    assert test.button(key="atlas.search.go_on").disabled


@pytest.mark.case("T3")
def test_a_saved_trace_with_html_like_tokens_is_literal(no_bundles: None) -> None:
    test = saved(make_trace(HTML_LIKE, HTML_LIKE, beam=3))
    assert "<img" not in html_of(test)
    assert "&lt;img" in html_of(test)


def test_a_trace_that_kept_only_its_n_best_rows_says_so(no_bundles: None) -> None:
    trace = make_trace(beam=4, n_best=1)
    small = trace.with_n_best_rows_only()
    lost = int(np.flatnonzero((trace.search.expanded >= 0) & (small.search.expanded < 0))[0])
    test = saved(small)
    test.session_state["atlas.values"]["node"] = trace.token_path(lost)
    test.session_state["atlas.values"]["beside"] = "next"
    test.run()
    assert not test.exception
    assert "only the passes of its n-best hypotheses were kept" in captions(test)
    assert test.button(key="atlas.search.ask").disabled
