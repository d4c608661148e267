"""Talk mode and tours in the pages, with AppTest: what is shown, what is handed on, where a stop leads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.ui.navigation import PAGES
from atlas.ui.talk.library import ENVIRONMENT, SHIPPED, find_tours
from atlas.ui.talk.mode import SCALE_NOTE
from atlas.ui.talk.rehearsal import rehearse
from tests.app.conftest import ROOT, html_of, open_page

SENTENCE = "The cat saw the dog."
CHECKPOINTS = ROOT / "checkpoints"

TOUR = """\
title: Mine
state: {text: "The cat saw the dog.", limit: 8}
stops:
- page: attention
  state: {kind: cross, layer: 2, beam: 2}
  note: <b>First</b>
- page: attention
  state: {special: false}
- page: beam_search
  note: Last
"""


@pytest.fixture(autouse=True)
def small(tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The tiny model, and one tour besides the one that ships."""
    path = tmp_path / "mine.yaml"
    path.write_text(TOUR)
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle))
    monkeypatch.setenv(ENVIRONMENT, str(path))
    return path


def start(**query: str) -> AppTest:
    """The app at its root."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    test.query_params.update(query)
    return test.run()


def strip_of(test: AppTest) -> dict[str, Any] | None:
    """What the strip is told, where there is one."""
    told = [json.loads(one.proto.json) for one in test.get("bidi_component") if '"stops"' in one.proto.json]
    assert len(told) <= 1
    return told[0] if told else None


@pytest.mark.parametrize("page", [entry.name for entry in PAGES])
def test_talk_mode_takes_the_bar_away_and_keeps_the_sentence_large(page: str) -> None:
    test = open_page(page, talk="1", text=SENTENCE, beam="2", limit="8")
    assert not test.exception
    assert test.query_params["talk"] == "1"
    told = strip_of(test)
    assert told is not None
    assert (told["talk"], told["said"], told["stops"]) == (True, SCALE_NOTE, 0)
    assert "font-size: 20px !important" in html_of(test)
    assert not [button for button in test.button if button.key == "atlas.bar.translate"]
    if page != "translate":  # its sentences are its own
        assert not [box for box in test.text_input if box.key == f"atlas.widget.{page}.text"]
        assert (
            f'font-size:1.5rem;opacity:.75;white-space:pre-wrap;overflow-wrap:anywhere">{SENTENCE}'
            in html_of(test)
        )


def test_without_it_nothing_is_there() -> None:
    test = open_page("attention", text=SENTENCE, beam="2", limit="8")
    assert strip_of(test) is None
    assert "talk" not in test.query_params
    assert "font-size: 20px" not in html_of(test)
    assert test.toggle(key="atlas.widget.attention.talk").value is False


def test_the_switch_is_kept_from_page_to_page_and_in_links() -> None:
    test = open_page("attention", text=SENTENCE, beam="2", limit="8")
    test.toggle(key="atlas.widget.attention.talk").set_value(True).run()
    assert test.query_params["talk"] == "1"
    assert strip_of(test) is not None
    test.switch_page("pages/query_key_value.py").run()
    assert strip_of(test) is not None
    assert test.query_params["talk"] == "1"
    [link] = [one for one in test.get("page_link") if "attention" in one.proto.page]
    assert "talk=1" in link.proto.query_string
    test.toggle(key="atlas.widget.query_key_value.talk").set_value(False).run()
    assert strip_of(test) is None
    assert "talk" not in test.query_params


def test_colours_of_attention_are_fixed_and_the_choice_comes_back() -> None:
    query = {"text": SENTENCE, "beam": "2", "limit": "8", "scale": "shared"}
    test = open_page("attention", talk="1", **query)
    scale = test.segmented_control(key="atlas.widget.attention.scale")
    assert (scale.value, scale.disabled) == ("fixed", True)
    heatmaps = [
        trace
        for chart in test.get("plotly_chart")
        for trace in json.loads(chart.proto.spec)["data"]
        if trace["type"] == "heatmap" and trace.get("meta")
    ]
    assert [trace["zmax"] for trace in heatmaps] == [1.0]
    test.toggle(key="atlas.widget.attention.talk").set_value(False).run()
    scale = test.segmented_control(key="atlas.widget.attention.scale")
    assert (scale.value, scale.disabled) == ("shared", False)
    assert test.query_params["scale"] == "shared"


def test_figures_grow() -> None:
    query = {"text": SENTENCE, "beam": "2", "limit": "8"}
    plain, large = (
        [json.loads(chart.proto.spec)["layout"] for chart in test.get("plotly_chart")]
        for test in (open_page("attention", **query), open_page("attention", talk="1", **query))
    )
    assert len(plain) == len(large) > 0
    for before, after in zip(plain, large, strict=True):
        assert after["font"]["size"] == pytest.approx(1.4 * before["font"]["size"])
        assert after["height"] == pytest.approx(1.4 * before["height"])


def test_a_tour_in_the_address_leads_to_its_stop() -> None:
    test = start(talk="1", tour="mine")
    assert not test.exception
    assert test.title[0].value == "Attention"
    told = strip_of(test)
    assert told is not None
    assert (told["stop"], told["stops"], told["note"]) == (1, 3, "<b>First</b>")
    assert (test.query_params["kind"], test.query_params["layer"]) == ("cross", "2")
    assert (test.query_params["tour"], test.query_params["stop"]) == ("mine", "1")
    assert 'role="alert"' not in html_of(test)
    last = start(tour="mine", stop="3")
    assert last.title[0].value == "Beam search"
    told = strip_of(last)
    assert told is not None
    assert (told["talk"], told["said"], told["stop"]) == (False, "Mine", 3)
    assert last.text_input(key="atlas.widget.beam_search.text").value == SENTENCE


def test_a_view_in_the_address_is_kept_while_a_tour_is_played() -> None:
    test = open_page("heads", tour="mine", stop="2", text="A dog.", limit="8")
    assert test.title[0].value == "Heads"
    assert test.query_params["text"] == "A dog."
    told = strip_of(test)
    assert told is not None
    assert told["stop"] == 2


def test_the_next_stop_leaves_nothing_of_this_one_behind() -> None:
    test = start(talk="1", tour="mine")
    test.session_state["atlas.tour.asked"] = ("mine", 2, True)
    test.run()
    told = strip_of(test)
    assert told is not None
    assert (told["stop"], told["note"]) == (2, "")
    kept = {name: test.query_params[name] for name in ("kind", "layer", "beam", "special", "text", "limit")}
    assert kept == {
        "kind": "encoder",
        "layer": "1",
        "beam": "5",
        "special": "0",
        "text": SENTENCE,
        "limit": "8",
    }
    assert test.segmented_control(key="atlas.widget.attention.kind").value == "encoder"
    test.session_state["atlas.tour.asked"] = ("mine", 1, True)
    test.run()
    assert test.segmented_control(key="atlas.widget.attention.kind").value == "cross"


def test_a_stop_too_many_and_a_tour_that_is_not_here_are_said() -> None:
    test = start(tour="mine", stop="9")
    assert "stop=&quot;9&quot; is not here: expected a stop from 1 to 3" in html_of(test)
    assert test.query_params["stop"] == "1"
    gone = start(tour="gone")
    assert gone.title[0].value == "Translate"
    assert "The address says tour=&quot;gone&quot;, which should be one of" in html_of(gone)
    assert strip_of(gone) is None


def test_a_tour_that_became_wrong_is_said_with_its_line(small: Path) -> None:
    small.write_text("title: x\nstops:\n- page: nowhere\n")
    test = start(tour="mine")
    assert not test.exception
    assert "mine.yaml, line 3: there is no page &quot;nowhere&quot;" in html_of(test)
    assert strip_of(test) is None


def upload(test: AppTest, name: str, data: bytes) -> AppTest:
    [box] = [one for one in test.sidebar.get("file_uploader") if one.key == "atlas.tour.upload"]
    return box.upload(name, data, "application/yaml").run()


def test_an_uploaded_tour_is_played_at_once() -> None:
    test = upload(open_page("heads", text=SENTENCE, limit="8"), "own.yaml", TOUR.encode())
    assert not test.exception
    assert test.title[0].value == "Attention"
    assert (test.query_params["tour"], test.query_params["talk"]) == ("own", "1")


@pytest.mark.parametrize("name", ["own.yaml", "<script>.yaml"])
def test_a_wrong_upload_is_one_line(name: str) -> None:
    test = upload(open_page("heads", text=SENTENCE, limit="8"), name, b"stops:\n- page: <img src=x>")
    assert not test.exception
    assert test.title[0].value == "Heads"
    assert "<script>" not in html_of(test)
    assert "<img src=x>" not in html_of(test)
    assert ("line 2: there is no page" in html_of(test)) == (name == "own.yaml")


@pytest.mark.slow
def test_every_stop_of_the_tour_that_ships_opens_without_a_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(CHECKPOINTS))
    path = SHIPPED / "story.yaml"
    opened = list(rehearse(path, ROOT / "app.py"))
    assert [stop for stop, _ in opened] == list(find_tours({}).load("story").stops)
    assert {f"line {stop.line}": complaints for stop, complaints in opened if complaints} == {}


def test_a_rehearsal_names_what_only_the_model_can_tell(small: Path) -> None:
    small.write_text(
        "stops:\n- page: attention\n  state: {layer: 40, limit: 8}\n- page: beam_search\n  state: {limit: 8}"
    )
    [(first, complaints), (_, none)] = list(rehearse(small, ROOT / "app.py"))
    assert first.page == "attention"
    assert len(complaints) == 1
    assert 'layer="40" is not here: expected a layer from 1 to' in complaints[0]
    assert none == []
