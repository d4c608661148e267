"""Ancestors: from one vector for a whole sentence to attention, on the same sentence."""

from __future__ import annotations

from atlas.ui.ancestors import open_ancestors, show_ancestors
from atlas.ui.page import open_page

page = open_page(
    "ancestors",
    "Ancestors",
    "Four models that learnt the same sentences: one vector, additive, dot-product attention, Transformer.",
    needs="model",
    serves="any",
)
if not page.sentence.strip():
    page.stop("Write a sentence above, or choose an example, to see all four translate it.")
show_ancestors(page, open_ancestors())
