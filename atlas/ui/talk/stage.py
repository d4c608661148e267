"""Talk mode on a page: its switch in the sidebar, the strip and what the page looks like meanwhile."""

from __future__ import annotations

import streamlit as st

from atlas.ui.state import ViewState
from atlas.ui.talk.mode import SCALE_NOTE, TALK, talking
from atlas.ui.talk.strip import Told, strip

HELP = (
    "For a projector: large type, no sidebar. Page Down, Page Up and the arrow keys (a clicker) walk "
    "through the steps of a page, then through the stops of a tour. F: full screen. Esc: back."
)


def talk_box(state: ViewState) -> None:
    """The switch, in the sidebar."""
    st.toggle("Talk mode", help=HELP, **state.widget(TALK.name))


def set_stage(state: ViewState) -> None:
    """What talk mode adds to a page and takes away from it; nothing while it is off."""
    if not talking():
        return

    def leave() -> None:
        state[TALK.name] = False

    strip(Told(talk=True, said=SCALE_NOTE), on_go=lambda stop: None, on_leave=leave)
