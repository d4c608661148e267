"""Which head the Training page looks at: kind, layer and head, checked against the model."""

from __future__ import annotations

import streamlit as st

from atlas.figures.mosaic import HeadGrid
from atlas.ui.page import Page


def kind_control(page: Page) -> None:
    """Which of the three kinds of attention."""
    st.segmented_control(
        "Attention",
        ["encoder", "decoder", "cross"],
        format_func={"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}.__getitem__,
        required=True,
        **page.state.widget("kind"),
    )


def head_controls(page: Page, grid: HeadGrid) -> None:
    """Layer and head, or the mean or maximum over heads, as two menus."""
    settle_head(page, grid)
    st.selectbox("Layer", range(1, grid.layers + 1), **page.state.widget("layer"))
    st.selectbox("Head", grid.columns, **page.state.widget("head"))


def settle_head(page: Page, grid: HeadGrid) -> tuple[int, int]:
    """The chosen layer and column of the grid, from 0; one that this model lacks becomes one that it has,
    with a notice.
    """
    state, known = page.state, set(page.state.notices)
    state.restrict(
        "layer", lambda layer: layer <= grid.layers, grid.layers, f"a layer from 1 to {grid.layers}"
    )
    state.restrict("head", grid.columns.__contains__, "1", f"a head from 1 to {grid.heads}, mean or max")
    for message in state.notices:
        if message not in known:
            page.complain(message)
    return state["layer"] - 1, grid.columns.index(state["head"])
