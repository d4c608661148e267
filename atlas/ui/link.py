"""The button that copies the address of exactly this view.

A component, because Streamlit has no button that reaches the clipboard: ``st.code`` copies what it shows,
which takes a menu and a second click. It copies what stands in the browser's address bar, so it is right
behind any proxy.
"""

from __future__ import annotations

from importlib import resources

import streamlit as st

_FILES = resources.files("atlas.ui.components")


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


_mount = st.components.v2.component(
    "attention_atlas.copy_link",
    html=_read("copy_link.html"),
    css=_read("copy_link.css"),
    js=_read("copy_link.js"),
)


def link_button() -> None:
    """Copy the link to this view; it opens the same anywhere the app runs with the same models."""
    _mount(key="atlas.link", width="content")
