"""Translate: sentences or a whole file, with the model's confidence in every word."""

import streamlit as st

from atlas.ui.file_panel import show_file_panel
from atlas.ui.page import open_page
from atlas.ui.sentences import show_sentences
from atlas.ui.translate_address import FILE, SENTENCES

page = open_page(
    "translate",
    "Translate",
    "Write sentences, one a line. The tint of a word shows how sure the model is; hover for the number.",
    needs="model",
    show_bar=False,
    serves="any",
)
st.segmented_control(
    "What to translate",
    [SENTENCES, FILE],
    format_func={SENTENCES: "Sentences", FILE: "A file"}.__getitem__,
    required=True,
    label_visibility="collapsed",
    **page.state.widget("input"),
)
if page.state["input"] == SENTENCES:
    show_sentences(page)
else:
    show_file_panel(page.model, page.options)
