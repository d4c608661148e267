"""The Heads page on a small real model whose heads were measured."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.heads import costs, links, record
from atlas.analysis.heads.sample import sample_of
from atlas.checkpoint import load_bundle
from atlas.engine import Engine
from atlas.measurements import load_measurement, save_measurement
from atlas.text.corpora import Pair
from tests.app.conftest import html_of, open_page
from tests.conftest import ENGLISH, FRENCH

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def measured(tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured")
    path = shutil.copytree(tiny_bundle, folder / "tiny")
    bundle, engine = load_bundle(path), Engine.load(path, "cpu")
    pairs = [Pair(source, target) for source, target in zip(ENGLISH, FRENCH, strict=True)]
    sample = sample_of(bundle, "ours", pairs, 12, pairs)
    for stage in (record, costs, links):
        save_measurement(path, stage.measure(engine, sample, work=folder / "work"))
    return path


@pytest.fixture
def open_heads(measured: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(measured.parent))

    def open_it(**query: str) -> AppTest:
        test = open_page("heads", **{"text": ENGLISH[0], "beam": "2", "limit": "8"} | query)
        assert not test.exception, test.exception
        return test

    return open_it


def cells(test: AppTest) -> np.ndarray:
    [heat] = [
        trace
        for chart in test.get("plotly_chart")
        for trace in json.loads(chart.proto.spec)["data"]
        if trace["type"] == "heatmap"
    ]
    values = heat["z"]
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
