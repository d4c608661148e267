"""Talk mode and tours on a page: their part of the sidebar, the strip, and what the page looks like."""

from __future__ import annotations

from typing import Final

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.markup import notice
from atlas.ui.state import ViewState
from atlas.ui.talk.library import Tours
from atlas.ui.talk.mode import SCALE_NOTE, TALK, talking
from atlas.ui.talk.playing import ask_for, keep_uploaded
from atlas.ui.talk.strip import Told, strip

_HELP: Final = (
    "For a projector: large type, no sidebar. Page Down, Page Up and the arrow keys (a clicker) walk "
    "through the steps of a page, then through the stops of a tour. F: full screen. Esc: back."
)
_UPLOAD: Final = "atlas.tour.upload"
_TROUBLE: Final = "atlas.tour.trouble"
_LARGEST_MB: Final = 1  # the least that the box can say; a tour is held to 64 KB when it is read


def talk_box(state: ViewState, tours: Tours) -> None:
    """The switch, the tours and a box for a tour of one's own, in the sidebar.

    Args:
        state: of the page.
        tours: that can be played.
    """
    st.toggle("Talk mode", help=_HELP, **state.widget(TALK.name))
    menu = f"atlas.tours.{state.page}"

    def play() -> None:
        ask_for(st.session_state[menu], 1, talk=True)

    with st.container(horizontal=True, gap="small"):
        st.menu_button("Play a tour", tours.names, icon=":material/slideshow:", key=menu, on_click=play)
        with st.popover(
            "Your own", help="A tour is a small YAML file: `atlas tour new` writes one to start from."
        ):
            st.file_uploader(
                "Open a tour",
                type=["yaml", "yml"],
                key=_UPLOAD,
                on_change=_uploaded,
                max_upload_size=_LARGEST_MB,
            )
    for trouble in (*tours.troubles, *st.session_state.get(_TROUBLE, ())):
        notice(trouble)


def _uploaded() -> None:
    st.session_state.pop(_TROUBLE, None)
    upload = st.session_state[_UPLOAD]
    if upload is None:
        return
    try:
        ask_for(keep_uploaded(upload.name, upload.getvalue()), 1, talk=True)
    except AtlasError as error:
        st.session_state[_TROUBLE] = (str(error),)


def set_stage(state: ViewState, tours: Tours) -> None:
    """What talk mode and a tour add to a page and take away from it; nothing while there is neither.

    Args:
        state: of the page.
        tours: that can be played.
    """
    name, tour = state["tour"], None
    if name:
        try:
            tour = tours.load(name)
        except AtlasError as error:
            notice(str(error))
            state["tour"], state["stop"] = "", 0
    if tour is None and not talking():
        return

    def leave() -> None:
        state[TALK.name], state["tour"], state["stop"] = False, "", 0

    told = Told(talking(), said=SCALE_NOTE if talking() else "")
    if tour is not None:
        stops = len(tour.stops)
        state["stop"] = state["stop"] or 1
        number = state.restrict("stop", lambda stop: stop <= stops, 1, f"a stop from 1 to {stops}")
        told = Told(talking(), told.said or tour.title, tour.stops[number - 1].note, number, stops)
    strip(told, on_go=lambda stop: ask_for(name, stop, talk=talking()), on_leave=leave)
