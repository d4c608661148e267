"""The Positions page on small real models: its pictures, its lab, its address."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.checkpoint import Bundle, save_bundle
from atlas.text.tokenizer import Tokenizer
from tests.app.conftest import html_of, open_page
from tests.conftest import tiny_model

KINDS = {"sinusoidal": 128, "learned": 64, "none": 64}
Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def models(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("positions")
    for kind, width in KINDS.items():
        model = tiny_model(tokenizer, positions=kind, width=width, max_length=300)
        save_bundle(Bundle(kind, "en", "fr", model, tokenizer), folder / kind)
    return folder


@pytest.fixture
def open_positions(models: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(models))

    def open_it(model: str = "sinusoidal", **query: str) -> AppTest:
        test = open_page("positions", model=model, beam="1", limit="12", **query)
        assert not test.exception, test.exception
        return test

    return open_it


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def metrics(test: AppTest) -> dict[str, float]:
    return {metric.label: float(metric.value) for metric in test.metric}


def test_all_pictures_of_the_sinusoidal_table(open_positions: Open) -> None:
    test = open_positions()
    drawn = figures(test)
    assert len(drawn) == 6
    assert [trace["name"] for trace in drawn[0]["data"]] == ["dimension 0", "dimension 50", "dimension 100"]
    assert [subheader.value for subheader in test.subheader] == [
        "Curves",
        "The whole table",
        "Wavelengths",
        "Dot product against distance",
        "One matrix moves every position",
    ]
    assert 'role="alert"' not in html_of(test)


def test_only_the_open_part_is_computed(open_positions: Open) -> None:
    lab = open_positions(part="lab")
    assert [subheader.value for subheader in lab.subheader] == [
        "Lab: shuffle the words",
        "Lab: change the encoding",
    ]
    assert len(figures(lab)) == 1


def test_the_residual_is_rounding(open_positions: Open) -> None:
    label, value = next((k, v) for k, v in metrics(open_positions(shift="9")).items() if "Residual" in k)
    assert "PE(pos + 9)" in label
    assert value < 1e-6


def test_shuffling_without_positions_only_reorders(open_positions: Open) -> None:
    found = metrics(open_positions(part="lab"))
    assert found["Without positions: largest difference"] < 1e-4
    assert found["With positions: largest difference"] > 1e-2


def test_shuffle_again_changes_the_order_and_the_address(open_positions: Open) -> None:
    test = open_positions(part="lab", text="one two three four five six")
    before = html_of(test)
    test.button(key="positions.again").click().run()
    assert not test.exception
    assert test.query_params["shuffle"] == "2"
    assert html_of(test) != before


def test_translations_without_positions_do_not_depend_on_order(open_positions: Open) -> None:
    test = open_positions(part="lab", text="We eat bread every morning.")
    assert "The same translation: the order of the words made no difference." in [
        c.value for c in test.caption
    ]


def test_zero_and_shift_are_set_beside_the_original(open_positions: Open) -> None:
    assert "Changed: without positions (score" in html_of(open_positions(part="lab"))
    shifted = open_positions(part="lab", text="I love you.", encoding="shift", offset="40")
    assert re.search(r"Changed: positions 40 to 4\d \(score", html_of(shifted))
    assert "As trained (score" in html_of(shifted)


def test_a_learned_table_has_no_wavelengths_and_does_not_turn(open_positions: Open) -> None:
    test = open_positions("learned")
    assert len(figures(test)) == 5
    assert any("no wavelengths" in text.value for text in test.markdown)
    assert next(value for label, value in metrics(test).items() if "Residual" in label) > 1e-2


def test_a_model_without_positions_says_so_and_shuffles(open_positions: Open) -> None:
    assert "This model has no position encoding" in html_of(open_positions("none"))
    test = open_positions("none", part="lab")
    assert "no encoding to take away" in html_of(test)
    found = metrics(test)
    assert found["Without positions: largest difference"] < 1e-4
    assert "With positions: largest difference" not in found


def test_the_address_holds_the_view(open_positions: Open) -> None:
    query = {"dims": "4.5", "length": "60", "shift": "11", "pos": "2", "pair": "3", "encoding": "shift"}
    test = open_positions(**query)
    assert {name: test.query_params[name] for name in query} == query
    assert [trace["name"] for trace in figures(test)[0]["data"]] == ["dimension 4", "dimension 5"]
    assert len(figures(test)[0]["data"][0]["x"]["bdata"]) > 0


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"dims": "0.500"}, "Dimension 500 is not here: this model has dimensions 0 to 127."),
        ({"pair": "900"}, "Pair 900 is not here: this model has pairs 0 to 63."),
        ({"length": "x"}, "a whole number from 10 to 500"),
        ({"encoding": "half"}, "one of zero, shift"),
        ({"part": "all"}, "one of encoding, distinct, lab, trained"),
    ],
)
def test_a_bad_address_gets_a_notice(open_positions: Open, query: dict[str, str], words: str) -> None:
    assert words in html_of(open_positions(**query))


@pytest.mark.parametrize("part", ["encoding", "lab"])
@pytest.mark.parametrize(
    "text", ["Hi", "the the the", "<b>x</b> <img src=x onerror=alert(1)> $x$", "a\u200b 🦊 é"]
)
def test_awkward_sentences(open_positions: Open, text: str, part: str) -> None:
    shown = html_of(open_positions(part=part, text=text))
    assert "<img src=x" not in shown
    assert "<b>x" not in shown


def test_an_empty_sentence_keeps_the_pictures(open_positions: Open) -> None:
    assert len(figures(open_positions(text="  "))) == 6
    assert "Write a sentence above to use the lab." in html_of(open_positions(text="  ", part="lab"))
