"""The address and the session, in small scripts."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from atlas import limits


def script(page: str = "one", layers: int = 4) -> None:
    import streamlit as st

    from atlas.ui import keys
    from atlas.ui.state import ViewState

    state = ViewState(
        page,
        [
            keys.text("text", "hello"),
            keys.choice("kind", ["a", "b"], "a"),
            keys.integer("layer", 0, 0, 63),
            keys.flag("special", True),
            keys.integers("node"),
        ],
    )
    layer = state.restrict("layer", lambda value: value < layers, 0, f"a layer from 0 to {layers - 1}")
    st.text_input("Text", **state.widget("text"))
    st.segmented_control("Kind", ["a", "b"], **state.widget("kind"))
    st.toggle("Special", **state.widget("special"))
    st.slider("Layer", 1, 64, **state.widget("layer", to_widget=lambda v: v + 1, from_widget=lambda v: v - 1))
    if st.button("Node"):
        state["node"] = (12, 55, 7)
    if st.button("Wrong"):
        state["kind"] = "c"
    st.text("|".join(state.notices))
    st.json({"layer": layer, "node": list(state["node"]), "link": state.address(layer=2)})


def open_script(**query: str) -> AppTest:
    test = AppTest.from_function(script)
    test.query_params.update(query)
    return test.run()


DEFAULTS = {"text": "hello", "kind": "a", "layer": "0", "special": "1", "node": ""}


def test_defaults_stand_in_the_address() -> None:
    assert open_script().query_params == DEFAULTS


def test_the_address_is_shown_by_the_widgets() -> None:
    test = open_script(text="bonjour", kind="b", layer="3", special="0", node="1.2")
    assert test.text_input[0].value == "bonjour"
    assert test.segmented_control[0].value == "b"
    assert test.toggle[0].value is False
    assert test.slider[0].value == 4
    assert not test.exception


def test_a_widget_writes_the_address() -> None:
    test = open_script(layer="3")
    test.text_input[0].set_value("salut").run()
    test.slider[0].set_value(2).run()
    assert test.query_params == DEFAULTS | {"text": "salut", "layer": "1"}


def test_the_script_writes_the_address() -> None:
    test = open_script()
    test.button[0].click().run()
    assert test.query_params["node"] == "12.55.7"


def test_an_emptied_choice_keeps_the_value() -> None:
    test = open_script(kind="b")
    test.segmented_control[0].set_value(None).run()
    assert test.query_params["kind"] == "b"
    assert test.segmented_control[0].value == "b"


def test_a_value_that_no_browser_sends_is_left_out_and_said() -> None:
    test = open_script()
    test.text_input[0].set_value("x" * (limits.SENTENCE.value + 1)).run()
    assert not test.exception
    assert test.query_params == DEFAULTS
    assert "text was left as it was: it should be a text of at most 4,000 characters." in test.text[0].value
    test.text_input[0].set_value("bonjour").run()
    assert test.query_params == DEFAULTS | {"text": "bonjour"}
    assert test.text[0].value == ""


def test_a_stale_address_does_not_undo_a_change() -> None:
    """A click that was sent before the browser knew the new address carries the old one."""
    test = open_script()
    test.text_input[0].set_value("salut").run()
    test.query_params.clear()
    test.query_params.update(DEFAULTS)
    test.toggle[0].set_value(False).run()
    assert test.query_params == DEFAULTS | {"text": "salut", "special": "0"}


def test_what_the_trace_does_not_have_is_said() -> None:
    test = open_script(layer="9")
    assert 'layer="9" is not here: expected a layer from 0 to 3' in test.text[0].value
    assert test.query_params["layer"] == "0"


def test_parameters_of_others_do_not_stay() -> None:
    assert open_script(utm_source="x").query_params == DEFAULTS


def test_a_value_that_is_not_allowed_is_a_mistake_of_the_page() -> None:
    test = open_script()
    test.button[1].click().run()
    assert [error.value for error in test.exception] != []
    assert test.session_state["atlas.values"]["kind"] == "a"


@pytest.mark.parametrize("query", [{"kind": "z"}, {"special": "yes"}, {"node": "a.b"}])
def test_bad_values(query: dict[str, str]) -> None:
    test = open_script(**query)
    assert test.query_params == DEFAULTS
    assert test.text[0].value.startswith("The address says")
