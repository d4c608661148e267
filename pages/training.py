"""Training: what learning minimises, how it went, and how the heads came to look where they look."""

from __future__ import annotations

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.page import open_page
from atlas.ui.training import codes, curves, dropout, forming, pair, smoothing
from atlas.ui.training.choice import PARTS

SHOW = {
    "codes": codes.show,
    "curves": curves.show,
    "pair": pair.show,
    "smoothing": smoothing.show,
    "dropout": dropout.show,
    "forming": forming.show,
}

page = open_page(
    "training",
    "Training",
    "A loss is the length of a code. Bend it, follow it down, and watch heads find their place.",
    needs="model",
)
if page.engine is None:
    page.stop("This page works on a live model.")
st.segmented_control(
    "Part",
    list(PARTS),
    format_func=PARTS.__getitem__,
    required=True,
    label_visibility="collapsed",
    **page.state.widget("part"),
)
try:
    SHOW[page.state["part"]](page)
except AtlasError as error:
    page.complain(error)
