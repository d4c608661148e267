"""Attention: every head of every layer, one head as lines and as a heatmap, and two heads side by side."""

import streamlit as st

from atlas.figures.attention import as_map
from atlas.figures.style import legend_html
from atlas.ui.attention import panels
from atlas.ui.attention.choice import kinds_of, settle
from atlas.ui.attention.controls import (
    hypothesis_control,
    pin_control,
    query_words,
    special_control,
    view_controls,
)
from atlas.ui.attention.downloads import downloads
from atlas.ui.page import open_page
from atlas.ui.talk.mode import shown_scale

page = open_page(
    "attention",
    "Attention",
    "Each small square is one head: rows are queries, columns keys, ink is weight. Click one, then hover a "
    "word.",
    serves="any",
)
state = page.state
view_controls(state, kinds_of(page))
located, grid = settle(page)
view = located.view(state)
head = as_map(view)
column = grid.columns.index(state["head"])
top = grid.top(shown_scale(state), state["layer"] - 1, column)

with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
    special_control(state)
    if state["kind"] != "encoder":
        hypothesis_control(page, located.trace)
    pin_control(page, located.choice)
    downloads(state, located, head, grid, column)
st.html(legend_html("query", "key", state["kind"]))

left, right = st.columns([0.56, 0.44], gap="medium")
with left:
    panels.all_heads(state, grid, column)
beside = right if state["pin"] else left
with beside:
    chosen = query_words(state, head)
# The head that was clicked comes first: the browser draws what has arrived while the rest is on its way.
if state["pin"]:
    panels.comparison(page, located, head, top, view.note, chosen)
else:
    with right:
        st.subheader(head.name, anchor=False)
        panels.one_head(state, head, key="attention.now", top=top, note=view.note, chosen=chosen)
with beside:
    panels.attended(state, head, grid, column, chosen)
panels.maths()
