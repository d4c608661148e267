"""The architecture as an SVG component.

Plotly cannot keep up here: a shape reports no click and takes no keyboard focus, and each block must do both.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import streamlit as st

from atlas.ui.components.told import told

_FILES = resources.files(__package__)


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


_mount = st.components.v2.component(
    "attention_atlas.architecture",
    html=_read("architecture.html"),
    css=_read("architecture.css"),
    js=_read("architecture.js"),
)


def architecture(drawing: dict[str, Any], *, on_choose: Callable[[str], None], key: str) -> None:
    """Show the drawing of a model.

    Args:
        drawing: what :func:`atlas.figures.architecture.drawing` gives.
        on_choose: called with the name of the box that was clicked (or chosen by Enter), before the page runs
            again.
        key: unique on the page.
    """

    def chosen() -> None:
        name = told(key, "chosen")
        if name is not None:
            on_choose(str(name))

    _mount(key=key, data={"drawing": drawing}, on_chosen_change=chosen)
