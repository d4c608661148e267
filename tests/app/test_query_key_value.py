"""The Query · Key · Value page on small real models: the walk, pronouns, the laboratory, its address."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.attention_steps import STEPS
from atlas.checkpoint import Bundle, save_bundle
from atlas.engine import Engine
from atlas.measurements import Measurement, save_measurement
from atlas.text.tokenizer import Tokenizer
from atlas.ui.qkv.pronouns import EXAMPLES, find_reference
from atlas.ui.qkv.walk import LABELS
from tests.app.conftest import html_of, open_page
from tests.conftest import tiny_model

Open = Callable[..., AppTest]
SENTENCE = "The animal didn't cross the street because it was too tired."


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qkv")
    for norm in ("pre", "post"):
        model = tiny_model(tokenizer, norm=norm, width=64)
        save_bundle(Bundle(norm, "en", "fr", model, tokenizer), folder / norm)
    return folder


@pytest.fixture
def open_qkv(models: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))

    def open_it(model: str = "pre", **query: str) -> AppTest:
        view = {"text": SENTENCE, "beam": "2", "limit": "8", "queries": "50"} | query
        test = open_page("query_key_value", model=model, **view)
        assert not test.exception, test.exception
        return test

    return open_it


def specs(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def stepper(test: AppTest) -> dict:
    (shown,) = [
        json.loads(part.proto.json) for part in test.get("bidi_component") if "labels" in part.proto.json
    ]
    return shown


def differences(test: AppTest) -> list[float]:
    return [float(number) for number in re.findall(r"difference from the model ([0-9.e+-]+)", html_of(test))]


@pytest.mark.parametrize(("model", "kind"), [("pre", "encoder"), ("post", "decoder"), ("post", "cross")])
def test_every_step_of_every_kind(open_qkv: Open, model: str, kind: str) -> None:
    for stage in range(1, len(STEPS) + 1):
        shown = open_qkv(model, kind=kind, layer="2", head="3", stage=str(stage))
        assert stepper(shown) == {"labels": list(LABELS.values()), "step": stage - 1}
        assert max(differences(shown)) < 1e-5
        assert 'role="alert"' not in html_of(shown)
        assert len(shown.latex) == 1


def test_the_formula_follows_the_order_of_add_and_norm(open_qkv: Open) -> None:
    assert "LayerNorm" in open_qkv("pre", stage="1").latex[0].value
    assert "LayerNorm" not in open_qkv("post", stage="1").latex[0].value
    assert "LayerNorm" not in open_qkv("pre", stage="8").latex[0].value
    assert "LayerNorm" in open_qkv("post", stage="8").latex[0].value


def test_all_checks_are_listed(open_qkv: Open) -> None:
    table = next(text.value for text in open_qkv().markdown if "Numbers compared" in text.value)
    for label in LABELS.values():
        assert f"| {label} |" in table


def test_masked_scores_are_drawn_as_minus_infinity(open_qkv: Open) -> None:
    mask = specs(open_qkv(kind="decoder", stage="5"))[0]
    assert set(mask["data"][2]["text"]) == {"−∞"}
    assert "Nothing is hidden" in html_of(open_qkv(kind="encoder", stage="5"))


def test_the_pronoun_is_the_first_query_word(open_qkv: Open) -> None:
    test = open_qkv()
    chosen = next(box for box in test.selectbox if box.label == "Query word")
    assert chosen.options[chosen.value].endswith("it")


def test_a_query_word_and_a_key_are_chosen(open_qkv: Open) -> None:
    test = open_qkv(stage="3")
    before = specs(test)
    next(box for box in test.selectbox if box.label == "Query word").set_value(0).run()
    assert test.query_params["query"] == "1"
    assert specs(test)[0]["data"][1]["x"] != before[0]["data"][1]["x"]
    next(box for box in test.selectbox if box.label == "Key to take apart").set_value(3).run()
    assert test.query_params["key"] == "4"
    assert not test.exception


def test_another_sentence_forgets_the_words(open_qkv: Open) -> None:
    test = open_qkv(query="3", key="2", stage="3")
    assert test.query_params["query"] == "3"
    test.text_input[0].set_value("I love you.").run()
    assert (test.query_params["query"], test.query_params["key"]) == ("0", "0")
    assert 'role="alert"' not in html_of(test)
    assert not test.exception


def test_words_that_come_with_an_address_stay(open_qkv: Open) -> None:
    test = open_qkv(query="3", key="2")
    test.switch_page("pages/translate.py").run()
    test.query_params.update({"text": "I love you.", "query": "2", "key": "1"})
    test.switch_page("pages/query_key_value.py").run()
    assert not test.exception
    assert (test.query_params["query"], test.query_params["key"]) == ("2", "1")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"layer": "9"}, "expected a layer from 1 to 2"),
        ({"head": "mean"}, "expected a head from 1 to 4"),
        ({"query": "150"}, "expected a query word from 1 to"),
        ({"key": "150"}, "expected a key from 1 to"),
        ({"stage": "9"}, "a whole number from 1 to 8"),
        ({"scope": "some"}, "one of head, layer, all"),
        ({"divisor": "x"}, "a number from 0 to 10000"),
    ],
)
def test_a_bad_address_gets_a_notice(open_qkv: Open, query: dict[str, str], words: str) -> None:
    assert words in html_of(open_qkv(**query))


def test_the_address_holds_the_view(open_qkv: Open) -> None:
    query = {"kind": "cross", "layer": "2", "head": "4", "query": "2", "key": "3", "stage": "7"}
    query |= {"scope": "layer", "divisor": "2", "queries": "100", "draw": "5"}
    test = open_qkv(**query)
    assert {name: test.query_params[name] for name in query} == query


def test_an_example_sets_the_sentence(open_qkv: Open) -> None:
    example = next(one for one in EXAMPLES if one.noun == "stock")
    test = open_qkv(text=example.sentence)
    html = html_of(test)
    assert "Weight from “it” to “stock”" in html
    assert "illustrative" in html


def test_each_example_has_its_pronoun_and_noun(models: Path) -> None:
    engine = Engine.load(models / "pre")
    for example in EXAMPLES:
        trace = engine.trace(example.sentence)
        reference = find_reference(trace)
        assert reference is not None
        spelt = "".join(trace.source_tokens[row].text for row in reference.noun)
        assert spelt == example.noun == reference.words[1]
        assert "".join(trace.source_tokens[row].text for row in reference.pronoun) == example.pronoun


def test_a_sentence_without_a_pronoun_says_so(open_qkv: Open) -> None:
    test = open_qkv(text="We eat bread every morning.")
    assert any("no pronoun with exactly one noun" in caption.value for caption in test.caption)


def test_the_strongest_head_is_one_click_away(open_qkv: Open) -> None:
    test = open_qkv(kind="cross")
    told = re.search(r"in layer (\d) head (\d)", html_of(test))
    assert told
    next(button for button in test.button if button.label == "Walk through that head").click().run()
    assert not test.exception
    shown = (test.query_params["kind"], test.query_params["layer"], test.query_params["head"])
    assert shown == ("encoder", told[1], told[2])


def test_without_the_measurement_the_page_says_what_makes_it(open_qkv: Open) -> None:
    assert "atlas measure pronouns" in [code.value for code in open_qkv().code]


def test_the_measurement_is_drawn(models: Path, tokenizer: Tokenizer, open_qkv: Open) -> None:
    hash_ = Engine.load(models / "post").hash
    maps = np.linspace(0, 0.8, 8).reshape(1, 2, 4).astype(np.float32)
    arrays = {f"{name}{end}": maps for name in ("top", "special") for end in ("", "_low", "_high")} | {
        "untrained_top": maps / 2
    }
    picked = {"layer": 1, "head": 2, "chosen_on": 21, "judged_on": 20}
    for name, value in (("top", 0.5), ("special", 0.25)):
        picked |= {name: value, f"{name}_low": value - 0.1, f"{name}_high": value + 0.1}
    facts = {"groups": ["all"], "counts": [41], "chance": [0.2], "rule": "a rule", "picked": picked}
    save_measurement(models / "post", Measurement("pronouns", hash_, "a command", facts, arrays))
    html = html_of(open_qkv("post"))
    assert "layer 2 head 3 looks at the noun most in 50% (40% to 60%); +25% (+15% to +35%)" in html
    assert "41 held-out sentences · without knowledge 20% · best head of random weights 40%" in html
    (models / "post" / "measurements" / "pronouns.npz").write_bytes(b"damaged")
    assert "cannot be read" in html_of(open_qkv("post"))
    (models / "post" / "measurements" / "pronouns.npz").unlink()


def test_the_true_divisor_is_the_model_as_trained(open_qkv: Open) -> None:
    html = html_of(open_qkv())
    assert "As trained: " in html
    assert "q·k divided by" not in html


@pytest.mark.parametrize("scope", ["head", "layer", "all"])
def test_another_divisor_is_tried(open_qkv: Open, scope: str) -> None:
    test = open_qkv(scope=scope, divisor="1", kind="cross", layer="2", head="2")
    name = {"head": "this head", "layer": "this layer", "all": "all attention"}[scope]
    assert f"q·k divided by 1.00 in {name}" in html_of(test)
    slider = test.select_slider[0]
    assert slider.value == 1.0
    slider.set_value(4.0).run()
    assert not test.exception
    assert test.query_params["divisor"] == "0"  # the root of 16: as trained
    assert "As trained: " in html_of(test)


def test_draw_again(open_qkv: Open) -> None:
    test = open_qkv()
    before = html_of(test)
    test.button(key="qkv.again").click().run()
    assert test.query_params["draw"] == "2"
    found = [re.search(r"variance ([0-9,]+) ±", text) for text in (before, html_of(test))]
    assert found[0] and found[1] and found[0][1] != found[1][1]


def test_the_measured_variance_is_said(open_qkv: Open) -> None:
    assert re.search(r"in this head q·k has variance [0-9.]+, [0-9.]+ times d_k = 16", html_of(open_qkv()))


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize(
    "text", ["Hi", "the the the", "<b>x</b> <img src=x onerror=alert(1)> $x$", "a\u200b 🦊 é"]
)
def test_awkward_sentences(open_qkv: Open, text: str, kind: str) -> None:
    shown = html_of(open_qkv(text=text, kind=kind, stage="3"))
    assert "<img src=x" not in shown
    assert "<b>x" not in shown


def test_an_empty_sentence(open_qkv: Open) -> None:
    assert "Write a sentence above" in html_of(open_qkv(text="  "))


def test_a_long_sentence_gets_one_line(open_qkv: Open) -> None:
    test = open_qkv(text="the cat " * 110, limit="3", beam="1")
    assert re.search(r"draws sentences of up to 200 pieces; this one has \d+", html_of(test))
