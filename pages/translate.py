"""Translate."""

from atlas.ui.page import open_page

page = open_page(
    "translate",
    "Translate",
    "Write sentences, one a line, and see how sure the model is of every word.",
    needs="model",
)
