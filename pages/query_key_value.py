"""Query · Key · Value: one word in one head, from the vector to what is added to the stream."""

from __future__ import annotations

import streamlit as st

from atlas.figures.style import legend_html
from atlas.ui.page import open_page
from atlas.ui.qkv.lab import model_lab, random_lab
from atlas.ui.qkv.maths import maths
from atlas.ui.qkv.pronouns import examples_menu, pronoun_panel
from atlas.ui.qkv.scene import controls, settle
from atlas.ui.qkv.walk import all_checks, walk

page = open_page(
    "query_key_value",
    "Query · Key · Value",
    "One word in one head, step by step: arrow keys or a clicker walk on. Every number is the model's own.",
    needs="model",
)
scene = settle(page)
with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    controls(page, scene)
with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
    examples_menu(page)
    page.link(
        "attention",
        "This head on Attention",
        icon=":material/grid_on:",
        kind=scene.kind,
        layer=scene.steps.layer + 1,
        head=scene.head + 1,
    )
    st.html(legend_html("query", "key", "value"), width="content")
walk(page, scene)
all_checks(scene)
maths(scene)
pronoun_panel(page, scene)
random_lab(page)
model_lab(page, scene)
