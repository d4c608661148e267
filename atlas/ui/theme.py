"""Which of the two themes the visitor sees."""

from __future__ import annotations

import streamlit as st


def is_dark() -> bool:
    """Whether the page is dark; light until the browser has said."""
    return st.context.theme.type == "dark"
