"""The Architecture page on small real models: the drawing, the counts, the labs, the address."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.depth import gradients
from atlas.analysis.parameter_formulas import BASE, GPT3, count
from atlas.checkpoint import Bundle, save_bundle
from atlas.text.tokenizer import Tokenizer
from atlas.ui.architecture import depth
from atlas.ui.tables import millions, short
from tests.app.conftest import component, html_of, open_page
from tests.conftest import tiny_model

Open = Callable[..., AppTest]
KINDS = {
    "pre": {"norm": "pre"},
    "post": {"norm": "post", "positions": "learned", "tied": False, "max_length": 200},
}


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("architecture")
    for name, options in KINDS.items():
        save_bundle(Bundle(name, "en", "fr", tiny_model(tokenizer, **options), tokenizer), folder / name)
    return folder


@pytest.fixture
def open_architecture(models: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))

    def open_it(model: str = "pre", **query: str) -> AppTest:
        test = open_page("architecture", model=model, beam="1", limit="8", text="I love you.", **query)
        assert not test.exception, test.exception
        return test

    return open_it


def picture(test: AppTest) -> dict:
    return json.loads(component(test, "architecture"))["drawing"]


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def numbers(values: object) -> list[float]:
    """A list of a figure, whichever way Plotly wrote it."""
    if isinstance(values, dict):
        import base64

        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return list(values)


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


@pytest.mark.parametrize("kind", KINDS)
def test_the_drawing_and_the_table_count_the_weights(
    open_architecture: Open, tokenizer: Tokenizer, kind: str
) -> None:
    exact = sum(weight.numel() for weight in tiny_model(tokenizer, **KINDS[kind]).parameters())
    test = open_architecture(kind)
    assert picture(test)["summary"][0] == f"{exact:,} parameters"
    assert f"{exact:,}" in html_of(test)
    bars = figures(test)[0]["data"]
    assert sum(numbers(bar["x"])[0] for bar in bars) == exact
    titles = {box["title"] for box in picture(test)["boxes"]}
    assert ("Add & Norm" in titles) == (kind == "post")
    assert 'role="alert"' not in html_of(test)


def test_the_address_opens_a_layer(open_architecture: Open) -> None:
    names = {box["name"] for box in picture(open_architecture(layer="2"))["boxes"]}
    assert "encoder.0" in names and "encoder.1.self_attention" in names
    everything = {box["name"] for box in picture(open_architecture(all="1"))["boxes"]}
    assert {"encoder.0.self_attention", "encoder.1.self_attention"} <= everything


def test_every_box_leads_somewhere(open_architecture: Open) -> None:
    for box in picture(open_architecture("post"))["boxes"]:
        assert box["leads"].startswith("Opens "), box["name"]


def test_any_size_and_its_presets(open_architecture: Open) -> None:
    test = open_architecture(built="sizes")
    assert metrics(test)["Parameters"] == millions(count(BASE).total) == "63.08 M"
    ratio = count(BASE.doubled()).total / count(BASE).total
    assert metrics(test)["d and F doubled"] == f"× {ratio:.3f}"
    test.button(key="architecture.start.GPT-3").click().run()
    assert not test.exception
    assert test.query_params["stack"] == "decoder" and test.query_params["d"] == "12288"
    without_positions = count(GPT3).total - count(GPT3).positions
    assert metrics(test)["Parameters"] == millions(without_positions) == "174.6 B"
    test.button(key="architecture.start.This model").click().run()
    assert (test.query_params["V"], test.query_params["stack"]) == ("400", "both")


def test_published_models_are_computed_and_compared(open_architecture: Open) -> None:
    shown = html_of(open_architecture(built="sizes"))
    for words in (
        "63,082,496",
        "−3.0 %",
        "214,245,376",
        "174,604,259,328",
        "46,702,792,704",
        "12,879,925,248",
    ):
        assert words in shown
    assert "173.9 B, not the 174.5 B" in shown


def test_experts(open_architecture: Open) -> None:
    test = open_architecture(built="experts", experts="4", topk="1", every="2", n="2")
    assert metrics(test)["Total"] != metrics(test)["Active for one token"]
    rows = figures(test)[0]["data"]
    router = next(bar for bar in rows if bar["name"] == "router")
    assert numbers(router["x"]) == [0, 2 * 512 * 4, 2 * 512 * 4]
    more = open_architecture(built="experts", experts="2", topk="9")
    assert not more.exception
    assert metrics(more)["Total"] == metrics(more)["Active for one token"]


def test_heads_are_counted_at_once_and_timed_on_request(open_architecture: Open) -> None:
    test = open_architecture(built="heads", hwidth="128", hlength="32")
    each = 4 * 32 * 128**2 + 2 * 32**2 * 128
    assert html_of(test).count(f"{each:,}") == 5
    assert not figures(test)
    test.button(key="architecture.time").click().run()
    assert not test.exception
    assert len(figures(test)) == 1
    assert "medians of 15 repeats" in html_of(test)


def test_deep_stacks(open_architecture: Open) -> None:
    test = open_architecture(built="depth", depth="6", init="3")
    drawn = {(trace["name"], trace["xaxis"]): numbers(trace["y"]) for trace in figures(test)[0]["data"]}
    assert len(drawn) == 8
    expected = gradients(6, 32, "post", residual=True, seed=3)
    np.testing.assert_allclose(drawn["post-norm", "x2"], expected.decoder)
    assert short(float(expected.decoder[0])) in html_of(test)
    assert any("First layer against last, 6 layers" in text.value for text in test.markdown)


def test_every_depth(open_architecture: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(depth, "DEPTHS", (2, 6))
    test = open_architecture(built="depth", depth="2", sweep="1")
    drawn = {trace["name"]: numbers(trace["y"]) for trace in figures(test)[1]["data"]}
    for norm in ("post", "pre"):
        found = [gradients(layers, 32, norm, residual=True, seed=1).decoder for layers in (2, 6)]
        np.testing.assert_allclose(drawn[f"{norm}-norm, last layer"], [one[-1] for one in found])
        np.testing.assert_allclose(drawn[f"{norm}-norm, first layer"], [one[0] for one in found])
    post = drawn["post-norm, last layer"]
    assert f"2 to 6 layers: post-norm × {post[1] / post[0]:.2f}" in html_of(test)
    assert "here × 0.58" in html_of(test)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"built": "house"}, "one of model, sizes, experts, heads, depth"),
        ({"layer": "9"}, "expected a layer from 1 to 2"),
        ({"depth": "7"}, "one of 2, 6, 12, 24, 50, 100"),
        ({"d": "0"}, "a whole number from 1 to 65536"),
        ({"init": "x"}, "a whole number from 1 to 9999"),
    ],
)
def test_a_bad_address_gets_a_notice(open_architecture: Open, query: dict[str, str], words: str) -> None:
    assert words in html_of(open_architecture(**query))


def test_an_empty_sentence_changes_nothing(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))
    test = open_page("architecture", text="  ")
    assert not test.exception
    assert picture(test)["boxes"]
