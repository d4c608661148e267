"""What Streamlit shows with too little contrast, mended: a few rules of CSS for every page."""

from __future__ import annotations

from importlib.resources import files

import streamlit as st

_RULES = files("atlas.ui").joinpath("readable.css").read_text(encoding="utf-8")


def make_readable() -> None:
    """Give the rules to the page."""
    st.html(f"<style>{_RULES}</style>")
