"""The Forward pass page on small real models: every stage, the loop, the labs, the address."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.forward import stages
from atlas.analysis.units import measure_units, to_arrays
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.engine import Engine
from atlas.measurements import Measurement, save_measurement
from atlas.text.tokenizer import START_ID, Tokenizer
from tests.app.conftest import html_of, open_page
from tests.conftest import ENGLISH, FRENCH, tiny_model

Open = Callable[..., AppTest]
SIZES = {
    "pre": {"norm": "pre"},
    "post": {"norm": "post", "activation": "gelu"},
    "plain": {"positions": "none"},
}
TEXT = "The cat saw the dog."


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forward")
    for name, options in SIZES.items():
        model = tiny_model(tokenizer, max_length=60, **options)
        save_bundle(Bundle(name, "en", "fr", model, tokenizer), folder / name)
    measured = load_bundle(folder / "pre")
    sources = [tokenizer.source(text) for text in ENGLISH]
    targets = [[START_ID, *tokenizer.encode(text)] for text in FRENCH]
    units = measure_units(measured.transformer, sources, targets, least=1)
    facts = {"corpus": "our own", "sentences": 8, "least": 1}
    save_measurement(folder / "pre", Measurement("units", measured.hash, "atlas", facts, to_arrays(units)))
    return folder


@pytest.fixture
def open_forward(models: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))

    def open_it(model: str = "pre", **query: str) -> AppTest:
        test = open_page(
            "forward_pass", **({"model": model, "text": TEXT, "beam": "2", "limit": "9"} | query)
        )
        assert not test.exception, test.exception
        return test

    return open_it


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def stage_of(models: Path, name: str, side: str, kind: str, layer: int = -1) -> str:
    """The number of a stage in the address."""
    walk = stages(Engine.load(models / name).config)
    return str(1 + next(i for i, s in enumerate(walk) if (s.side, s.kind, s.layer) == (side, kind, layer)))


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def commands(test: AppTest) -> list[str]:
    return [code.value for code in test.code if code.value.startswith("atlas ")]


def stepper(test: AppTest) -> dict:
    (component,) = [one for one in test.get("bidi_component") if '"labels"' in one.proto.json]
    return json.loads(component.proto.json)


@pytest.mark.parametrize("model", SIZES)
def test_every_stage_can_be_shown(open_forward: Open, models: Path, model: str) -> None:
    walk = stages(Engine.load(models / model).config)
    test = open_forward(model)
    for place in range(1, len(walk) + 1):
        test.session_state["atlas.values"]["stage"] = place
        test.run()
        assert not test.exception, (place, test.exception)
        assert 'role="alert"' not in html_of(test), place
        assert stepper(test)["step"] == place - 1
        assert len(stepper(test)["labels"]) == len(walk)
        assert figures(test)


def test_a_first_visit_shows_the_characters(open_forward: Open) -> None:
    shown = html_of(open_forward())
    assert "20 characters (Unicode, NFC) · 20 bytes (UTF-8)" in shown
    assert "U+0054" in shown
    assert "&lt;s&gt;" in shown


def test_pieces_and_ids_are_the_tokenizers(open_forward: Open, tokenizer: Tokenizer) -> None:
    ids = tokenizer.source(TEXT)
    shown = html_of(open_forward(stage="3"))
    assert f"{len(ids)} tokens · vocabulary of 400 · array ({len(ids)},) of whole numbers" in shown
    for token in ids:
        assert f"id {token}" in shown


@pytest.mark.parametrize(
    ("model", "words"), [("pre", "LayerNorm → FFN → add"), ("post", "FFN → add → LayerNorm")]
)
def test_the_order_shown_is_that_of_the_model(
    open_forward: Open, models: Path, model: str, words: str
) -> None:
    test = open_forward(model, stage=stage_of(models, model, "encoder", "ffn", 1))
    assert any(f"{model}-norm: {words}." in caption.value for caption in test.caption)
    rows = figures(test)[0]["layout"]["yaxis"]["ticktext"]
    assert [row.split(":")[0] for row in rows] == (
        ["stream in", "LayerNorm", "FFN adds", "sum"]
        if model == "pre"
        else ["stream in", "FFN adds", "sum", "LayerNorm"]
    )


def test_another_token_has_other_numbers(open_forward: Open, models: Path) -> None:
    stage = stage_of(models, "pre", "encoder", "self", 0)
    first, second = (metrics(open_forward(stage=stage, source_at=at)) for at in ("1", "3"))
    assert first["Array (tokens, D)"] == second["Array (tokens, D)"]
    assert first["Norm, in to out"] != second["Norm, in to out"]


def test_next_token_lets_the_text_grow_and_back_takes_it_away(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "logits"))
    test.button(key="forward.next").click().run()
    assert not test.exception
    first = test.query_params["path"]
    assert first.isdigit()
    test.button(key="forward.next").click().run()
    assert test.query_params["path"].startswith(f"{first}.")
    assert test.query_params["stage"] == stage_of(models, "pre", "decoder", "logits")
    test.button(key="forward.back").click().run()
    assert test.query_params["path"] == first
    assert not test.exception


def test_round_again_goes_back_to_what_the_decoder_reads(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "choice"))
    test.button(key="forward.again").click().run()
    assert not test.exception
    assert test.query_params["stage"] == stage_of(models, "pre", "decoder", "read")
    assert test.query_params["path"]


def test_the_whole_translation_is_that_of_the_search(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "logits"))
    test.button(key="forward.whole").click().run()
    assert not test.exception
    lens = next(one for one in figures(test) if one["data"][0]["type"] == "heatmap")
    assert len(lens["layout"]["yaxis"]["ticktext"]) == 1 + len(test.query_params["path"].split("."))


def test_draw_takes_another_seed_and_another_token(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "choice"), temperature="2")
    seen = {metrics(test)["Taken"]}
    for count in range(1, 6):
        test.button(key="forward.draw").click().run()
        assert not test.exception
        assert (test.query_params["seed"], test.query_params["pick"]) == (str(count), "drawn")
        seen.add(metrics(test)["Taken"])
    assert len(seen) > 1


def test_cuts_are_those_of_the_decoder(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "cut"), top_k="3")
    assert "3 of 400 tokens can be drawn" in html_of(test)
    bars = figures(test)[0]["data"]
    colours = bars[1]["marker"]["color"]
    assert colours.count("#4d9a3a") == 3
    assert set(colours) == {"#4d9a3a", "#8a8f98"}


def test_temperature_is_kept_in_the_address(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "softmax"))
    before = html_of(test)
    test.slider(key="atlas.widget.forward_pass.temperature").set_value(0.5).run()
    assert test.query_params["temperature"] == "0.5"
    assert "at T = 0.5" in html_of(test) and "at T = 0.5" not in before


def test_a_measured_model_tells_what_wakes_a_unit(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "ffn", 0), ffn_unit="5")
    assert "8 held-out sentences of our own · tokens read at least 1 times · silent at" in html_of(test)
    assert any("what wakes unit 5" in text.value for text in test.markdown)
    assert commands(test) == []


def test_a_model_without_measurement_tells_how_to_make_one(open_forward: Open, models: Path) -> None:
    test = open_forward("plain", stage=stage_of(models, "plain", "encoder", "ffn", 0))
    assert commands(test) == ["atlas measure units plain"]


def test_a_damaged_measurement_is_said_and_the_page_lives(
    open_forward: Open, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_bundle(load_bundle(models / "pre"), tmp_path / "pre")
    (tmp_path / "pre" / "measurements").mkdir()
    (tmp_path / "pre" / "measurements" / "units.npz").write_bytes(b"no archive")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tmp_path))
    query = {"text": TEXT, "beam": "1", "limit": "9", "stage": stage_of(models, "pre", "encoder", "ffn", 0)}
    test = open_page("forward_pass", **query)
    assert not test.exception
    assert "units.npz: cannot be read" in html_of(test)
    assert len(figures(test)) == 7


def test_gelu_has_no_silent_units(open_forward: Open, models: Path) -> None:
    test = open_forward("post", stage=stage_of(models, "post", "encoder", "ffn", 0))
    assert any("This model has GELU" in caption.value for caption in test.caption)


def test_positions_that_a_model_lacks_are_no_stage(open_forward: Open) -> None:
    test = open_forward("plain", stage="4")
    assert any("This model adds no positions." in caption.value for caption in test.caption)
    assert not any("positions" in label for label in stepper(test)["labels"])


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"stage": "900"}, "stage=900 is not here: 24 is the last and is shown."),
        ({"stage": "x"}, "a whole number from 1 to 1000"),
        ({"path": "5.999"}, "path: no text holds the token 999"),
        ({"path": "5.2"}, "path: no text holds the token 2"),
        ({"path": ".".join(["300"] * 60)}, "the model writes at most 59 tokens"),
        ({"source_at": "77"}, "source_at=77 is not here"),
        ({"target_at": "4"}, "target_at=4 is not here: 1 is the last and is shown."),
        ({"temperature": "0"}, "a number from 0.1 to 2"),
        ({"stage": "7", "ffn_unit": "4000"}, "Unit 4000 is not here: this model has units 0 to 255."),
    ],
)
def test_a_bad_address_gets_a_notice(open_forward: Open, query: dict[str, str], words: str) -> None:
    assert words in html_of(open_forward(**query))


@pytest.mark.parametrize("stage", ["1", "3", "9", "24"])
@pytest.mark.parametrize("text", ["the the the", "<b>x</b> <img src=x onerror=alert(1)> $x$", "a​ 🦊 é"])
def test_awkward_sentences(open_forward: Open, text: str, stage: str) -> None:
    shown = html_of(open_forward(text=text, stage=stage))
    assert "<img src=x" not in shown
    assert "<b>x" not in shown


def test_an_empty_sentence_asks_for_one(open_forward: Open) -> None:
    assert "Write a sentence above" in html_of(open_forward(text="  "))


def test_a_sentence_that_is_too_long_is_said(open_forward: Open) -> None:
    assert re.search(r"\d+ tokens", html_of(open_forward(text="word " * 200)))


def test_the_maths_computes_what_gelu_would_do(open_forward: Open, models: Path) -> None:
    test = open_forward(stage=stage_of(models, "pre", "decoder", "ffn", 1))
    shown = re.search(
        r"decoder layer 2: units differ by at most (0\.\d+) · its output moves by [\d.]+% of its norm · "
        r"with GELU in every layer (0|100)% of 1 next tokens stay",
        html_of(test),
    )
    assert shown
    # The two are furthest apart where the normal distribution function is Φ(x) + x φ(x) = 0 or 1: 0.17.
    assert 0 < float(shown.group(1)) <= 0.170
