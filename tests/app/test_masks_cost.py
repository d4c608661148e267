"""The Masks & cost page on a small real model: its parts, its controls, its address."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.leak import LeakStudy, NextToken, Side
from atlas.checkpoint import Bundle, load_bundle, save_bundle
from atlas.measurements import save_measurement
from atlas.text.tokenizer import Tokenizer
from atlas.ui.cost.view import PARTS
from tests.app.conftest import component, html_of, open_page
from tests.conftest import tiny_model

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cost")
    for name, options in (("masked", {}), ("blind", {"causal": False}), ("short", {"max_length": 40})):
        save_bundle(Bundle(name, "en", "fr", tiny_model(tokenizer, **options), tokenizer), folder / name)
    return folder


@pytest.fixture
def open_cost(models: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))

    def open_it(model: str = "masked", **query: str) -> AppTest:
        test = open_page("masks_cost", **{"model": model, "beam": "1", "limit": "9", **query})
        assert not test.exception, test.exception
        return test

    return open_it


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


@pytest.mark.parametrize("part", list(PARTS))
def test_every_part_opens(open_cost: Open, part: str) -> None:
    test = open_cost(cost=part)
    assert test.query_params["cost"] == part
    assert test.subheader or part == "without"


def test_nothing_is_seen_above_the_diagonal(open_cost: Open) -> None:
    test = open_cost()
    value = metrics(test)["Weights above the diagonal that are not exactly 0"]
    count = len(figures(test)[0]["data"][0]["text"])
    assert value == f"0 of {2 * 4 * count * (count - 1) // 2:,}"
    assert metrics(test)["Largest change before it"] == "exactly 0"
    assert float(metrics(test)["Largest change from there on"]) > 0
    assert metrics(test)["The same row in this model"] == "exactly 0"
    assert 'role="alert"' not in html_of(test)


def test_a_model_without_a_mask_is_told_and_seen_through(open_cost: Open) -> None:
    test = open_cost("blind")
    assert "trained without a causal mask" in html_of(test)
    seen, _, cells = metrics(test)["Weights above the diagonal that are not exactly 0"].partition(" of ")
    assert seen == cells
    assert float(metrics(test)["Largest change before it"]) > 0


def test_layer_head_and_replaced_token_are_in_the_address(open_cost: Open) -> None:
    query = {"mask_layer": "2", "mask_head": "3", "mask_place": "2", "mask_word": "dog"}
    test = open_cost(**query)
    assert {name: test.query_params[name] for name in query} == query
    before = figures(test)[1]["data"][0]["z"]
    test.number_input(key="atlas.widget.masks_cost.mask_head").set_value(1).run()
    assert not test.exception
    assert test.query_params["mask_head"] == "1"
    assert figures(test)[1]["data"][0]["z"] != before
    test.selectbox(key="atlas.widget.masks_cost.mask_place").select(5).run()
    assert test.query_params["mask_place"] == "5"
    assert len(figures(test)[2]["data"][0]["text"]) == 5


def test_no_word_to_put_in(open_cost: Open) -> None:
    test = open_cost()
    test.text_input(key="atlas.widget.masks_cost.mask_word").set_value("").run()
    assert not test.exception
    assert "Write a word to put in its place." in html_of(test)
    assert len(figures(test)) == 4


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"cost": "all"}, "one of mask, without, cache, time, memory"),
        ({"mask_layer": "9"}, "a layer from 1 to 2"),
        ({"mask_head": "60"}, "a head from 1 to 4"),
        ({"mask_head": "none"}, "a whole number from 1 to 64"),
        ({"cost": "time", "time_length": "77"}, "one of 32, 64, 128, 256, 512"),
        ({"cost": "time", "time_length": "64", "model": "short"}, "one of 32 tokens"),
        ({"cost": "memory", "kv_layers": "0"}, "a whole number from 1 to 200"),
    ],
)
def test_a_bad_address_gets_a_notice(open_cost: Open, query: dict[str, str], words: str) -> None:
    assert words in html_of(open_cost(**query))


def test_an_empty_sentence_gets_a_hint(open_cost: Open) -> None:
    assert "Write a sentence above" in html_of(open_cost(text="  "))


@pytest.mark.parametrize("part", ["mask", "cache"])
def test_awkward_sentences(open_cost: Open, part: str) -> None:
    shown = html_of(open_cost(cost=part, text="<b>x</b> <img src=x onerror=alert(1)> $x$", mask_word="<b>$"))
    assert "<img src=x" not in shown and "<b>x" not in shown


def test_no_study_gives_the_commands_that_make_one(open_cost: Open) -> None:
    test = open_cost(cost="without")
    assert "No bundle here carries the measurement" in html_of(test)
    assert any(
        "atlas train multi30k-no-mask" in code.value and "atlas measure leak" in code.value
        for code in test.code
    )


def kept_study(models: Path, folder: Path) -> Path:
    """A copy of ``masked`` that carries a study, and the models beside it."""
    bundle = load_bundle(models / "masked")
    save_bundle(bundle, folder / "masked")
    save_bundle(load_bundle(models / "short"), folder / "short")
    history = {name: np.array([9.0, 0.25]) for name in ("train_loss", "development_loss", "bleu")}
    found = NextToken(0.25, 8.5, 0.975, 0.031, 0.9, 321, 12)
    history["step"] = np.array([20.0, 340.0])
    side = Side("blind", "hash", 340, found, history, ("Un <i>chien</i>.",), ("Le rat.",))
    study = LeakStudy(side, replace(side, name="masked", hash=bundle.hash), ("A dog.",), "corpus")
    save_measurement(folder / "masked", study.measurement("atlas measure leak blind"))
    return folder


@pytest.mark.parametrize("model", ["masked", "short"])
def test_a_study_is_drawn_whichever_model_is_shown(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(kept_study(models, tmp_path)))
    test = open_page("masks_cost", cost="without", model=model, beam="1", limit="9")
    assert not test.exception
    drawn = figures(test)
    assert [len(figure["data"]) for figure in drawn] == [4, 2]
    assert drawn[1]["data"][0]["text"] == ["97.5%", "3.1%", "90.0%"]
    shown = html_of(test)
    assert "Un &lt;i&gt;chien&lt;/i&gt;." in shown and "<i>chien" not in shown
    assert "12 pairs of corpus, 321 tokens" in shown
    test.segmented_control(key="atlas.widget.masks_cost.leak_search").set_value("beam").run()
    assert "Le rat." in html_of(test) and test.query_params["leak_search"] == "beam"


def test_a_damaged_study_is_one_line(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = kept_study(models, tmp_path)
    (folder / "masked" / "measurements" / "leak.npz").write_bytes(b"PK\x03\x04 no archive")
    monkeypatch.setenv(bundles.ENVIRONMENT, str(folder))
    test = open_page("masks_cost", cost="without", model="masked", beam="1", limit="9")
    assert not test.exception
    assert "leak.npz: cannot be read" in html_of(test)
    assert any(expander.label == "The maths" for expander in test.expander)


def test_passes_follow_the_prompt_and_the_step(open_cost: Open) -> None:
    test = open_cost(cost="cache", cache_prompt="2", cache_step="3")
    rows = figures(test)[0]["layout"]["yaxis"]["ticktext"]
    assert rows[:2] == ["prefill", "decode 1"]
    assert "5 tokens so far · 5 × 2 × 2 layers = 20 vectors of 128 numbers" in html_of(test)
    assert "14 tokens so far" in html_of(test)  # 2 + 3 + 4 + 5
    walk = json.loads(component(test, "stepper"))
    assert walk["step"] == 3 and walk["labels"][0] == "prefill: 2 tokens in one pass"
    test.slider(key="atlas.widget.masks_cost.cache_prompt").set_value(4).run()
    assert test.query_params["cache_prompt"] == "4"
    assert len(figures(test)[0]["layout"]["yaxis"]["ticktext"]) == len(rows) - 2


def test_a_step_beyond_the_last_is_the_last(open_cost: Open) -> None:
    test = open_cost(cost="cache", cache_prompt="2", cache_step="1999")
    walk = json.loads(component(test, "stepper"))
    assert walk["step"] == len(walk["labels"]) - 1


def test_one_pass_and_one_by_one_agree(open_cost: Open) -> None:
    found = metrics(open_cost(cost="cache"))
    for label in ("One pass against one by one", "Cache against no cache", "Logits after the last token"):
        assert float(found[label].replace("exactly ", "")) < 1e-4


def test_counts_stand_before_anything_is_measured(open_cost: Open) -> None:
    test = open_cost(cost="time", time_length="64")
    assert len(figures(test)) == 2
    assert [curve["name"] for curve in figures(test)[0]["data"]][0] == "attention, no cache"
    table = test.table[0].value
    assert list(table.index) == ["8 tokens", "16 tokens", "32 tokens", "64 tokens", "grows as"]
    assert "Last step without a cache: work" not in metrics(test)


def test_a_measurement_runs_and_is_drawn(open_cost: Open) -> None:
    test = open_cost(cost="time", time_length="32", time_rounds="1")
    button = next(one for one in test.button if one.label == "Measure on this machine")
    button.click().run()
    assert not test.exception
    test.session_state["atlas.cost.timing"].job.join(120)
    test.run()
    assert not test.exception
    assert "Last step without a cache: work" in metrics(test)
    assert len(figures(test)[1]["data"][0]["x"]["bdata"]) > 0
    assert "time, cache" in test.table[0].value.columns
    assert "both ways give the same logits" in html_of(test)
    assert any(one.label == "Measure again" for one in test.button)
    test.segmented_control(key="atlas.widget.masks_cost.time_length").set_value("64").run()
    assert "Last step without a cache: work" not in metrics(test)


def test_a_measurement_that_is_stopped_is_drawn_as_far_as_it_came(open_cost: Open) -> None:
    test = open_cost(cost="time", time_length="512", time_rounds="5")
    next(one for one in test.button if one.label == "Measure on this machine").click().run()
    next(one for one in test.button if one.label == "Stop").click().run()
    assert not test.exception
    assert "what was measured until then is drawn" in html_of(test)
    assert any(one.label == "Measure again" for one in test.button)
    assert "time, cache" in test.table[0].value.columns


def test_a_model_too_short_to_time(models: Path, open_cost: Open, tokenizer: Tokenizer) -> None:
    save_bundle(Bundle("tiny", "en", "fr", tiny_model(tokenizer, max_length=30), tokenizer), models / "brief")
    assert "reads at most 30 tokens" in html_of(open_cost("brief", cost="time"))


def test_a_preset_fills_the_calculator_and_a_number_makes_it_ones_own(open_cost: Open) -> None:
    test = open_cost(cost="memory")
    test.segmented_control(key="atlas.widget.masks_cost.kv_preset").set_value("GPT-3").run()
    assert not test.exception
    assert {name: test.query_params[name] for name in ("kv_layers", "kv_heads", "kv_width", "kv_length")} == {
        "kv_layers": "96", "kv_heads": "96", "kv_width": "128", "kv_length": "2048",
    }  # fmt: skip
    assert metrics(test)["Keys and values together"] == "9.00 GiB"
    assert metrics(test)["Texts of that length whose cache is as large as the weights"] == "36.2"
    test.number_input(key="atlas.widget.masks_cost.kv_texts").set_value(4).run()
    assert metrics(test)["Keys and values together"] == "36.00 GiB"
    assert (test.query_params["kv_preset"], test.query_params["kv_texts"]) == ("custom", "4")
    again = open_cost(**{name: value for name, value in test.query_params.items() if name != "model"})
    assert metrics(again)["Keys and values together"] == "36.00 GiB"


def test_the_formula_is_the_size_of_the_real_cache(open_cost: Open) -> None:
    found = metrics(open_cost(cost="memory"))
    assert found["Target, by the formula"] == found["In the cache's tensors"]
    assert found["Source, by the formula"] == found["In its tensors"]
    assert "difference 0 B" in html_of(open_cost(cost="memory"))
