"""Heads: what every head does over a corpus, and what it is worth."""

from __future__ import annotations

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.attention.choice import show_new_notices
from atlas.ui.heads.measured import EVERY, measured
from atlas.ui.heads.sections import chosen_head, maths, pictures, search, table
from atlas.ui.heads.sentences import sentences_of
from atlas.ui.markup import show_facts
from atlas.ui.page import open_page

page = open_page(
    "heads",
    "Heads",
    "Every head over sentences that the model never saw: sort them by what they do, open one at work.",
    needs="model",
)
state = page.state
try:
    found = measured(page)
except AtlasError as error:
    page.stop(error)
if found is None:
    page.stop(
        f"the heads of {page.model.name} were not measured yet; measure with: atlas heads {page.model.name}"
    )
noticed = set(state.notices)
known = found.metrics(state["kind"])
layers, heads = found.values(state["kind"], "confidence").shape
state.restrict("metric", known.__contains__, "confidence", "a metric that this kind of attention has")
state.restrict("layer", lambda layer: layer <= layers, 1, f"a layer from 1 to {layers}")
numbers = [str(head) for head in range(1, heads + 1)]
state.restrict("head", numbers.__contains__, "1", f"a head from 1 to {heads}")
show_new_notices(state, noticed)
uncontrolled = found.control(state["kind"], state["metric"]) is None
with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    st.segmented_control(
        "Attention",
        ["encoder", "decoder", "cross"],
        format_func=str.capitalize,
        required=True,
        **state.widget("kind"),
    )
    st.selectbox(
        "Metric", known, format_func=lambda name: EVERY[name].title, width=220, **state.widget("metric")
    )
    st.selectbox("Layer", range(1, layers + 1), width=100, **state.widget("layer"))
    st.selectbox("Head", numbers, width=100, **state.widget("head"))
    st.toggle(
        "Minus random weights",
        disabled=uncontrolled,
        **state.widget("minus"),
    )
st.caption(
    f"{found.heads.sentences:,} held-out sentences of {found.heads.corpus}."
    + (" Costs were not measured with random weights." if uncontrolled else "")
    + ("" if found.costs else f" Costs were not measured; measure with: atlas heads {page.model.name}")
)
pictures(page, found)
try:
    sentences = sentences_of(page, found)
except AtlasError as error:
    page.complain(error)
else:
    chosen_head(page, found, sentences)
    show_facts([sentences.note])
    search(page, sentences)
table(page, found)
maths()
