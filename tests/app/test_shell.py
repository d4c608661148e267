"""What all pages share: navigation, the address, the model, saved traces."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from atlas import bundles
from atlas.ui.examples import FIRST
from atlas.ui.navigation import PAGES
from tests.app.conftest import ROOT, OpenApp, html_of, make_bundles, open_page
from tests.traces import make_trace

DEFAULTS = {"text": FIRST, "model": "en-fr", "beam": "5", "penalty": "gnmt", "alpha": "0.6", "limit": "0"}


def trace_file(sentence: str = "The cat sleeps.") -> bytes:
    buffer = io.BytesIO()
    make_trace(sentence, "Le chat dort.").save(buffer)
    return buffer.getvalue()


def upload_trace(test: AppTest, data: bytes, name: str = "mine.npz") -> AppTest:
    return test.sidebar.get("file_uploader")[0].upload(name, data, "application/octet-stream").run()


def test_the_root_leads_to_translate_with_the_query_kept(open_app: OpenApp) -> None:
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    test.query_params.update({"text": "Hello there.", "beam": "3"})
    test.run()
    assert not test.exception
    assert test.title[0].value == "Translate"
    assert test.query_params["text"] == "Hello there."
    assert test.query_params["beam"] == "3"


@pytest.mark.parametrize("page", [entry.name for entry in PAGES])
def test_every_page_opens_with_a_translated_sentence(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    """On a real model, if an untrained one: a fake could not show what is inside."""
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle))
    test = open_page(page, limit="8")
    assert not test.exception
    assert 'class="atlas-translation"' in html_of(test)


@pytest.mark.parametrize("page", [entry.name for entry in PAGES])
@pytest.mark.parametrize("text", ["", "\n\t", "🦊" * 3, "the " * 700])
def test_every_page_lives_on_an_odd_sentence(
    tiny_bundle: Path, monkeypatch: pytest.MonkeyPatch, page: str, text: str
) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(tiny_bundle))
    test = open_page(page, text=text, limit="8")
    assert not test.exception
    assert test.title


@pytest.mark.parametrize("page", [entry.name for entry in PAGES])
def test_the_address_holds_the_view_defaults_included(open_app: OpenApp, page: str) -> None:
    test = open_app(page)
    assert {name: test.query_params[name] for name in DEFAULTS} == DEFAULTS


def test_a_good_address_is_taken(open_app: OpenApp) -> None:
    query = {"text": "A red car.", "beam": "3", "penalty": "average", "alpha": "1.2", "limit": "40"}
    test = open_app("positions", model="small", **query)
    assert not test.exception
    assert 'role="alert"' not in html_of(test)
    assert test.text_input(key="atlas.widget.positions.text").value == "A red car."
    assert test.slider(key="atlas.widget.positions.beam").value == 3
    assert test.selectbox(key="atlas.widget.positions.model").value == "small"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("beam", "77"),
        ("beam", "five"),
        ("beam", "1e1"),
        ("beam", ""),
        ("model", "<b>no</b>"),
        ("penalty", "GNMT"),
        ("alpha", "nan"),
        ("limit", "-1"),
        ("text", "x" * 5000),
    ],
)
def test_a_bad_value_gets_a_notice_and_the_default(open_app: OpenApp, name: str, value: str) -> None:
    test = open_app("translate", **{name: value})
    assert not test.exception
    assert html_of(test).count('role="alert"') == 1
    assert f"The address says {name}=" in html_of(test)
    assert "<b>" not in html_of(test)
    assert test.query_params[name] == DEFAULTS[name]


def test_a_notice_goes_when_the_value_is_set(open_app: OpenApp) -> None:
    test = open_app("translate", beam="77")
    test.slider(key="atlas.widget.translate.beam").set_value(4).run()
    assert "The address says" not in html_of(test)
    assert test.query_params["beam"] == "4"


@pytest.mark.case("U5")
def test_controls_keep_their_values_across_pages(open_app: OpenApp) -> None:
    test = open_app("translate")
    test.slider(key="atlas.widget.translate.beam").set_value(7).run()
    test.segmented_control(key="atlas.widget.translate.penalty").set_value("average").run()
    test.text_area(key="atlas.widget.translate.lines").set_value("First line.\nSecond line.").run()
    for page in ("positions", "translate"):
        test.query_params.clear()
        test.switch_page(f"pages/{page}.py").run()
        assert not test.exception
        assert test.slider(key=f"atlas.widget.{page}.beam").value == 7
        assert test.segmented_control(key=f"atlas.widget.{page}.penalty").value == "average"
    assert test.text_area(key="atlas.widget.translate.lines").value == "First line.\nSecond line."


@pytest.mark.case("U5")
def test_a_value_that_came_by_the_address_survives_other_pages(open_app: OpenApp) -> None:
    test = open_app("translate", beam="9", text="Good morning.")
    for page in ("positions", "translate"):
        test.query_params.clear()
        test.switch_page(f"pages/{page}.py").run()
        assert test.query_params["beam"] == "9"
        assert test.query_params["text"] == "Good morning."


def test_the_sentence_typed_on_one_page_is_shown_on_the_others(open_app: OpenApp) -> None:
    test = open_app("positions")
    test.text_input(key="atlas.widget.positions.text").set_value("Where is the station?").run()
    test.query_params.clear()
    test.switch_page("pages/translate.py").run()
    assert test.text_area(key="atlas.widget.translate.lines").value == "Where is the station?"
    assert "STATION" in html_of(test)


def test_another_model_can_be_chosen(open_app: OpenApp) -> None:
    test = open_app("translate")
    assert test.selectbox(key="atlas.widget.translate.model").options == ["en-fr", "small"]
    test.selectbox(key="atlas.widget.translate.model").set_value("small").run()
    assert not test.exception
    assert test.query_params["model"] == "small"


@pytest.mark.parametrize("page", [entry.name for entry in PAGES])
def test_without_a_bundle_every_page_says_how_to_get_one(no_bundles: None, page: str) -> None:
    test = open_page(page)
    assert not test.exception
    assert [heading.value for heading in test.subheader] == ["No trained model was found"]
    commands = "\n".join(block.value for block in test.code)
    assert "atlas train" in commands
    assert "--checkpoint" in commands
    assert bundles.ENVIRONMENT in commands


def test_a_damaged_bundle_gets_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(bundles.ENVIRONMENT, str(make_bundles(tmp_path, "broken")))
    test = open_page("translate")
    assert not test.exception
    assert html_of(test).count('role="alert"') == 1
    assert "The model broken cannot be opened" in html_of(test)


def test_a_saved_trace_is_drawn_without_a_model(no_bundles: None) -> None:
    test = upload_trace(open_page("attention"), trace_file())
    assert not test.exception
    assert "The cat sleeps." in html_of(test)
    assert "saved trace mine.npz" in html_of(test)
    assert test.title[0].value == "Attention"
    test.switch_page("pages/beam_search.py").run()
    assert not test.exception
    assert "The cat sleeps." in html_of(test)
    test.switch_page("pages/translate.py").run()
    assert test.subheader[0].value == "No trained model was found"


def test_a_saved_trace_is_closed_again(open_app: OpenApp) -> None:
    test = upload_trace(open_app("attention"), trace_file())
    assert "saved trace mine.npz" in html_of(test)
    next(button for button in test.sidebar.button if button.label == "Close the saved trace").click().run()
    assert not test.exception
    assert "saved trace" not in html_of(test)
    assert FIRST.upper().split()[1] in html_of(test)


@pytest.mark.parametrize(
    "data",
    [b"", b"not a trace", trace_file()[:-200], b"PK\x03\x04" + bytes(40)],
    ids=["empty", "text", "cut", "zip"],
)
def test_a_bad_trace_file_gets_one_clear_line(open_app: OpenApp, data: bytes) -> None:
    test = upload_trace(open_app("attention"), data, "<i>x</i>.npz")
    assert not test.exception
    assert html_of(test).count('role="alert"') == 1
    assert "cannot be opened" in html_of(test)
    assert "<i>" not in html_of(test)


def test_a_foreign_npz_is_refused(open_app: OpenApp) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.zeros(3))
    test = upload_trace(open_app("attention"), buffer.getvalue())
    assert html_of(test).count('role="alert"') == 1


def test_a_page_link_carries_the_sentence_and_the_search(open_app: OpenApp) -> None:
    test = open_app("translate", text="A <b>bold</b> cat.", beam="3")
    links = [element.proto for element in test.get("page_link")]
    assert [link.page for link in links] == ["attention", "beam_search", "positions"]
    assert all("beam=3" in link.query_string and "bold" in link.query_string for link in links)


def test_the_link_is_the_address_of_the_view(open_app: OpenApp) -> None:
    test = open_app("positions", text="A cat & a dog.")
    assert test.query_params["text"] == "A cat & a dog."
    names = [item.proto.component_name for item in test.get("bidi_component")]
    assert "attention_atlas.copy_link" in names, "it copies what stands in the address bar"
