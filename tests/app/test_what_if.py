"""The What if page on a small real model: the laboratory, the readings, the address."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from math import nan
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.analysis.explanation_agreement import Agreement
from atlas.analysis.explanations import METHODS
from atlas.ui.what_if.explanation import verdict
from tests.app.conftest import html_of, open_page
from tests.conftest import ENGLISH

Open = Callable[..., AppTest]


@pytest.fixture
def open_lab(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle.parent))

    def open_it(**query: str) -> AppTest:
        test = open_page("what_if", **{"text": ENGLISH[0], "beam": "2", "limit": "8"} | query)
        assert not test.exception, test.exception
        return test

    return open_it


def figures(test: AppTest) -> list[dict]:
    return [json.loads(chart.proto.spec) for chart in test.get("plotly_chart")]


def alerts(test: AppTest) -> list[str]:
    return [part for part in html_of(test).split("\n") if 'role="alert"' in part]


def headings(test: AppTest) -> list[str]:
    return [heading.value for heading in test.subheader]


RESULTS = [
    "How likely the original still is, token by token",
    "Where attention moved",
    "The changed search",
    "One head, before and after",
]


def test_nothing_changed_shows_the_switches_and_says_so(open_lab: Open) -> None:
    test = open_lab()
    assert alerts(test) == [] and "Nothing is changed yet" in html_of(test)
    assert headings(test) == [] and figures(test) == []
    assert test.button(key="atlas.what_if.reset").disabled


def test_heads_off_change_what_follows(open_lab: Open) -> None:
    off = ",".join(f"c{layer}.{head}:0" for layer in (1, 2) for head in range(1, 5))
    test = open_lab(heads=off)
    assert alerts(test) == [] and headings(test) == RESULTS
    bars, maps, before, after = figures(test)
    changes = np.frombuffer(base64.b64decode(bars["data"][0]["y"]["bdata"]))
    assert len(changes) == 8 and np.abs(changes).min() > 1e-4
    assert len(maps["layout"]["shapes"]) == 8
    assert "Changed: cross 1.1 off, cross 1.2 off" in html_of(test)
    assert before["layout"]["title"]["text"] == "As trained" and after["layout"]["title"]["text"] == "Changed"
    test.button(key="atlas.what_if.reset").click().run()
    assert test.query_params["heads"] == "" and headings(test) == []


def test_a_head_that_is_not_there_is_named(open_lab: Open) -> None:
    told = alerts(open_lab(heads="e9.1:0"))
    assert "expected heads of this model, which has 2 encoder and 2 decoder layers of 4 heads" in told[0]


@pytest.mark.parametrize(
    "query", [{"heads": "nonsense"}, {"row": "c1.1@1:1=7"}, {"word": "x"}, {"whatif": "<b>"}]
)
def test_a_bad_address_is_one_clear_line(open_lab: Open, query: dict[str, str]) -> None:
    told = alerts(open_lab(**query))
    assert told[0].count("The address says") == 1
    assert "<b>" not in told[0]


def test_a_row_by_hand(open_lab: Open) -> None:
    test = open_lab(kind="cross", layer="1", head="1")
    test.segmented_control(key="atlas.what_if.row.kind").set_value("cross").run()
    assert test.query_params["row"] == "c1.1@1:"
    test.button(key="atlas.what_if.row.all").click().run()
    assert not test.exception and test.query_params["row"] == "c1.1@1:1=1"
    assert headings(test) == RESULTS and len(figures(test)) == 5
    test.slider(key="atlas.what_if.row.weight").set_value(0.25).run()
    assert test.query_params["row"] == "c1.1@1:1=0.25"
    test.selectbox(key="atlas.what_if.row.query").set_value(2).run()
    assert test.query_params["row"] == "c1.1@3:"
    test.segmented_control(key="atlas.what_if.row.kind").set_value("none").run()
    assert test.query_params["row"] == ""


def test_a_row_of_another_sentence_is_dropped_with_a_line(open_lab: Open) -> None:
    assert "expected a row, head and keys of this sentence" in alerts(open_lab(row="e1.1@90:1=1"))[0]


def test_the_head_that_moved_most_is_found(open_lab: Open) -> None:
    test = open_lab(heads="e1.2:0", kind="encoder", layer="1")
    test.button(key="atlas.what_if.most").click().run()
    assert test.query_params["layer"] == "2", "nothing moves in the layer that was changed itself"


def test_seven_readings_of_one_token(open_lab: Open) -> None:
    test = open_lab(whatif="explanation", word="2")
    rows, matrix, averaged = figures(test)
    assert len(rows["layout"]["yaxis"]["ticktext"]) == 7
    assert rows["layout"]["xaxis"]["ticktext"] == averaged["layout"]["xaxis"]["ticktext"]
    assert len(matrix["layout"]["yaxis"]["ticktext"]) == 7
    table = next(text.value for text in test.markdown if "same top word" in text.value)
    assert table.count("\n") == 7 and "of 8 |" in table
    assert alerts(test) == []
    said = next(part for part in html_of(test).split("\n") if "atlas-verdict" in part)
    assert "first" in said and "ρ = " in said
    test.pills[0].set_value(4).run()
    assert test.query_params["word"] == "5"
    assert figures(test)[0]["data"] != rows["data"] and figures(test)[2]["data"] == averaged["data"]


def test_a_token_that_is_not_there(open_lab: Open) -> None:
    assert "expected a token from 1 to 8" in alerts(open_lab(whatif="explanation", word="99"))[0]


def test_a_sentence_of_one_word_has_no_ranks(open_lab: Open) -> None:
    test = open_lab(whatif="explanation", text="Hello")
    assert "Ranks need at least 3 words; this sentence has 1." in html_of(test)
    assert len(figures(test)) == 2


@pytest.mark.parametrize("part", ["lab", "explanation"])
def test_an_empty_sentence_gets_a_hint(open_lab: Open, part: str) -> None:
    test = open_lab(text=" ", whatif=part)
    assert "Write a sentence above" in html_of(test)


def test_what_the_visitor_wrote_is_shown_literally(open_lab: Open) -> None:
    test = open_lab(text="<script>alert(1)</script> *x* [a](b) $y$", whatif="explanation")
    assert "<script>" not in html_of(test)


def test_a_recurrent_model_is_told_apart(
    recurrent_bundles: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(recurrent_bundles["dot"].parent))
    test = open_page("what_if", model="dot", beam="1", limit="4")
    assert not test.exception and "is a recurrent model" in html_of(test)


def test_the_verdict_follows_the_numbers() -> None:
    labels = ["the", "cat", "the", "</s>"]
    agreed = [
        Agreement(name, rho, 0.0, 4, 2, 4)
        for name, rho in zip(METHODS, (0.1, 0.9, -0.5, nan, 0.2, 0), strict=False)
    ]
    said = verdict([1] * 7, labels, agreed, against=False)
    assert said.startswith("All 7 readings put “cat” first.")
    assert "attention, all layers (ρ = 0.90)" in said
    assert "furthest: attention × value norms, last but one layer (ρ = −0.50)" in said
    said = verdict([0, 2, 2, 2, 2, 2, 2], labels, agreed, against=True)
    assert (
        "“the” first, and so do 5 of the other 6 readings; not attention, last but one layer (“the”)" in said
    )
    assert "The gradient counts its top word against the token." in said
