"""What if: heads changed by hand, and whether attention explains what the model does."""

from __future__ import annotations

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.page import open_page
from atlas.ui.what_if.address import PARTS
from atlas.ui.what_if.explanation import explanation
from atlas.ui.what_if.lab import laboratory
from atlas.ui.what_if.prune import pruning

page = open_page(
    "what_if",
    "What if",
    "Switch heads off, scale them or write a row of attention by hand, and read what the model then says.",
    needs="model",
)
if not page.sentence.strip():
    page.stop("Write a sentence above, or choose an example, to change what the model does with it.")
part = st.segmented_control(
    "Part", list(PARTS), format_func=PARTS.__getitem__, required=True, **page.state.widget("whatif")
)
try:
    if part == "lab":
        laboratory(page)
    elif part == "prune":
        pruning(page)
    else:
        explanation(page)
except AtlasError as error:
    page.complain(error)
