"""The Ancestors page on four small models with random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from atlas import bundles
from atlas.analysis.length_scores import scores_by_length
from atlas.checkpoint import load_bundle
from atlas.measurements import Measurement, save_measurement
from tests.app.conftest import html_of, open_page
from tests.conftest import ENGLISH, FRENCH


@pytest.fixture(scope="module")
def four(
    recurrent_bundles: dict[str, Path], tiny_bundle: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("four")
    for kind, path in {**recurrent_bundles, "transformer": tiny_bundle}.items():
        copied = shutil.copytree(path, folder / f"ancestors-{kind}")
        texts = [text.rsplit(" ", 1)[0] for text in FRENCH]
        facts, arrays = scores_by_length([6 + 2 * n for n in range(len(FRENCH))], texts, FRENCH, 40)
        about = {"tests": ["ours"], "search": "greedy", "signature": "BLEU of a test"}
        measurement = Measurement("lengths", load_bundle(copied).hash, "a test", facts | about, arrays)
        save_measurement(copied, measurement)
    return folder


def test_four_translations_three_alignments_and_the_bottleneck(
    four: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(four))
    test = open_page("ancestors", text=ENGLISH[0], beam="2", limit="8")
    assert not test.exception
    charts = [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]
    heat = [trace for chart in charts for trace in chart["data"] if trace["type"] == "heatmap"]
    assert len(heat) == 3 and {trace["zmax"] for trace in heat} == {1.0}
    curves = [trace for trace in charts[-1]["data"] if trace["type"] == "scatter"]
    assert [curve["name"][:3] for curve in curves] == ["(a)", "(b)", "(c)", "(d)"]
    assert len({(curve["line"]["color"], curve["line"]["dash"]) for curve in curves}) == 4


def test_training_is_timed_on_the_page(four: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(four))
    monkeypatch.setattr("atlas.ui.ancestors.LENGTHS", (4, 8))
    test = open_page("ancestors", text=ENGLISH[0], beam="2", limit="8")
    test.button(key="ancestors.time").click().run(timeout=60)
    assert not test.exception
    shown = html_of(test)
    assert "4 tokens" in shown and "8 tokens" in shown and "(b) Additive attention" in shown


def test_a_model_that_is_missing_is_named(
    four: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(four / "ancestors-dot", tmp_path / "ancestors-dot")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path))
    test = open_page("ancestors", text=ENGLISH[0], beam="2", limit="8")
    assert not test.exception
    shown = html_of(test)
    assert "ancestors-none is not among the models; train it with: atlas train ancestors-none" in shown
    assert "ancestors-dot is not" not in shown
