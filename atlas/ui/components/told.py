"""What a component has just told, read in the callback that it caused."""

from __future__ import annotations

from typing import Any

import streamlit as st


def told(key: str, trigger: str) -> Any:
    """The value of a trigger; None where the component told nothing.

    A message may arrive when the visitor is on another page already, as after a step and a change of page in
    quick succession. The component's state is gone then, and there is nobody left to be told.

    Args:
        key: that the component is mounted under.
        trigger: its name.
    """
    state = st.session_state.get(key)
    return None if state is None else state.get(trigger)
