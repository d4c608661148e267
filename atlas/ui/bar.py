"""The bar at the top of every page: the sentence, the beam settings, and the translation under them."""

from __future__ import annotations

import streamlit as st

from atlas import limits
from atlas.trace import Trace
from atlas.ui.addresses import MAX_BEAM
from atlas.ui.examples import EXAMPLES
from atlas.ui.link import link_button
from atlas.ui.markup import show_facts, show_sentence, show_translation
from atlas.ui.state import ViewState


def sentence_bar(state: ViewState) -> None:
    """The sentence, examples, search settings and the link, in one slim row."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.text_input(
            "Sentence",
            max_chars=limits.SENTENCE.value,
            placeholder="An English sentence",
            label_visibility="collapsed",
            **state.widget("text"),
        )
        st.button("Translate", type="primary", key="atlas.bar.translate")
        examples(state)
        search_settings(state)
        link_button()


def examples(state: ViewState) -> None:
    """A menu of built-in sentences."""
    menu = f"atlas.examples.{state.page}"

    def choose() -> None:
        state["text"] = st.session_state[menu]

    st.menu_button("Examples", EXAMPLES, icon=":material/lightbulb:", key=menu, on_click=choose)


def search_settings(state: ViewState) -> None:
    """Beam width, length penalty and length limit."""
    with st.popover(f"Beam {state['beam']}", icon=":material/tune:", help="How the search is done"):
        st.slider(
            "Beam width",
            1,
            MAX_BEAM,
            help="Hypotheses kept at each step; 1 is greedy search.",
            **state.widget("beam"),
        )
        st.segmented_control(
            "Length penalty",
            ["gnmt", "average", "none"],
            required=True,
            help="gnmt divides a log-probability by ((5 + length) / 6)^α, average by the length.",
            **state.widget("penalty"),
        )
        st.slider(
            "Strength α of the gnmt penalty",
            0.0,
            2.0,
            step=0.1,
            disabled=state["penalty"] != "gnmt",
            **state.widget("alpha"),
        )
        st.number_input(
            "Length limit (pieces)",
            0,
            256,
            help="0: chosen by the model from the length of the sentence.",
            **state.widget("limit"),
        )


def translation_line(trace: Trace, facts: list[str]) -> None:
    """The best hypothesis, tinted, with where it comes from."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show_translation(trace, int(trace.hypotheses[0]))
        show_facts(facts, width="content")


def stage_lines(trace: Trace) -> None:
    """What stands in place of the bar in talk mode: the sentence and its translation in large type."""
    with st.container(gap=None):
        show_sentence(trace.source, size="1.5rem")
        if len(trace.hypotheses):
            show_translation(trace, int(trace.hypotheses[0]), size="1.5rem")


def saved_bar(trace: Trace, file_name: str) -> None:
    """What stands in place of the bar while a saved trace is shown."""
    show_sentence(trace.source)
    header = trace.header
    translation_line(trace, [f"saved trace {file_name}", f"model {header.model_name}", "no model is running"])
