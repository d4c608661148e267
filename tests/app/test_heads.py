"""The Heads page on a small real model whose heads were measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.heads import links, record
from atlas.analysis.heads.sample import held_out
from atlas.checkpoint import Bundle, save_bundle
from atlas.engine import Engine
from atlas.measurements import load_measurement, save_measurement
from atlas.text.tokenizer import Tokenizer
from tests.app.conftest import html_of, open_page
from tests.conftest import ENGLISH, tiny_model
from tests.heads_sample import measured_copy
from tests.training.small import settings

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def measured(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return measured_copy(tiny_bundle, tmp_path_factory.mktemp("measured"))


@pytest.fixture
def open_heads(measured: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(measured.parent))

    def open_it(**query: str) -> AppTest:
        test = open_page("heads", **{"text": ENGLISH[0], "beam": "2", "limit": "8"} | query)
        assert not test.exception, test.exception
        return test

    return open_it


def traces(test: AppTest) -> list[dict[str, Any]]:
    return [trace for chart in test.get("plotly_chart") for trace in json.loads(chart.proto.spec)["data"]]


def cells(test: AppTest) -> np.ndarray:
    [values] = [trace["z"] for trace in traces(test) if trace["type"] == "heatmap"]
    if isinstance(values, dict):
        import base64

        rows, columns = map(int, values["shape"].split(","))
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).reshape(rows, columns)
    return np.array(values)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("metric", ["confidence", "offset_-1", "loss", "importance"])
def test_the_map_shows_what_was_measured(open_heads: Open, measured: Path, kind: str, metric: str) -> None:
    test = open_heads(kind=kind, metric=metric)
    name = "heads" if metric in ("confidence", "offset_-1") else "head_costs"
    kept = load_measurement(measured, name)
    assert kept is not None
    np.testing.assert_allclose(cells(test), kept.arrays[f"{kind}.{metric}"], atol=1e-6)


def test_minus_random_weights(open_heads: Open, measured: Path) -> None:
    kept = load_measurement(measured, "heads")
    assert kept is not None
    expected = kept.arrays["encoder.entropy"] - kept.arrays["encoder.entropy.untrained"]
    np.testing.assert_allclose(cells(open_heads(metric="entropy", minus="1")), expected, atol=1e-6)


def test_the_search_says_what_it_cannot_do_and_lives(open_heads: Open) -> None:
    test = open_heads(**{"from": "[nouns]"})
    assert "[nouns] is no class of words; known are [pronouns]" in html_of(test)


def test_a_word_that_is_not_there_finds_nothing(open_heads: Open) -> None:
    test = open_heads(**{"from": "zebra-of-nowhere"})
    assert any(caption.value.startswith("0 found") for caption in test.caption)


def test_a_layer_that_the_model_lacks_is_said(open_heads: Open) -> None:
    assert "a layer from 1 to" in html_of(open_heads(layer="60"))


def test_a_typical_sentence_opens_in_attention(open_heads: Open) -> None:
    test = open_heads(kind="cross", layer="2", head="2")
    button = next(one for one in test.button if one.key and one.key.startswith("heads.typical."))
    button.click().run()
    assert not test.exception
    assert test.title[0].value == "Attention"
    assert test.query_params["kind"] in ("cross", ["cross"])


def test_a_bundle_that_was_not_measured_says_how(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle.parent))
    test = open_page("heads", text=ENGLISH[0], beam="2", limit="8")
    assert not test.exception
    assert "measure with: atlas heads tiny" in html_of(test)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_heads_without_a_value_say_why(open_heads: Open) -> None:
    test = open_heads(kind="decoder", metric="offset_1")
    assert np.isnan(cells(test)).all()
    ends = [trace.get("zmax", trace.get("marker", {}).get("cmax")) for trace in traces(test)]
    assert ends == [1, None, None, 1, None], "table, its numbers and points, the heads on a plane, the ring"
    assert any("the decoder never looks ahead" in caption.value for caption in test.caption)


def test_a_cost_has_no_control_to_be_subtracted(open_heads: Open, measured: Path) -> None:
    test = open_heads(metric="loss", minus="1")
    [toggle] = test.main.toggle
    assert toggle.disabled
    assert any("not measured with random weights" in caption.value for caption in test.caption)
    kept = load_measurement(measured, "head_costs")
    assert kept is not None
    np.testing.assert_allclose(cells(test), kept.arrays["encoder.loss"], atol=1e-6)


def test_what_was_looked_at_before_does_not_follow_a_sentence(open_heads: Open) -> None:
    test = open_heads(kind="cross")
    test.session_state["atlas.values"]["hyp"] = 2
    next(one for one in test.button if one.key and one.key.startswith("heads.typical.")).click().run()
    assert test.title[0].value == "Attention"
    assert "is not here" not in html_of(test)


def test_the_sentences_are_those_of_the_corpus_where_it_is_here(
    tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [(f"The cat saw {number} dogs today.", f"Le chat a vu {number} chiens.") for number in range(400)]
    corpus = tmp_path / "pairs.tsv"
    corpus.write_text("".join(f"{left}\t{right}\n" for left, right in lines), encoding="utf-8")
    made = Bundle("small", "en", "fr", tiny_model(tokenizer), tokenizer)
    made.training = {"config": settings(corpus).to_dict()}
    path = tmp_path / "all" / "small"
    path.parent.mkdir()
    save_bundle(made, path)
    engine = Engine.load(path, "cpu")
    sample = held_out(engine.bundle)
    for stage in (record, links):
        save_measurement(path, stage.measure(engine, sample, work=tmp_path))
    monkeypatch.setenv(bundles.ENVIRONMENT, str(path.parent))
    shown = open_page("heads", text=ENGLISH[0], beam="2", limit="8", **{"from": "dogs"})
    assert not shown.exception
    assert f"{len(sample)} held-out sentences of" in html_of(shown)
    assert "dogs today. → Le chat a vu" in html_of(shown)
    st.cache_resource.clear()
    corpus.write_text("".join(f"{left}!\t{right}\n" for left, right in lines), encoding="utf-8")
    other = open_page("heads", text=ENGLISH[0], beam="2", limit="8")
    assert not other.exception
    assert "sentences of our own are shown" in html_of(other)
    assert "is another than the one that was measured" in html_of(other)
