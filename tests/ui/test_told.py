"""What a component tells, also when the visitor has left its page."""

from __future__ import annotations

import streamlit as st

from atlas.ui.components.told import told


def test_a_trigger_is_read_and_a_component_that_is_gone_told_nothing() -> None:
    st.session_state["here"] = {"step": 3}
    assert told("here", "step") == 3
    assert told("here", "other") is None
    assert told("gone", "step") is None
