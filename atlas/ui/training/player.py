"""Play the moments of a training one after the other, until the last one or until someone says pause."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

SECONDS: Final = 1.5
"""How long each moment stays."""
_PLAYING, _TICKS = "atlas.training.playing", "atlas.training.ticks"


def player(place: int, last: int, move: Callable[[int], None]) -> None:
    """A button that plays and pauses. Played from the end, it begins at the first moment.

    Args:
        place: the moment that is shown, from 0.
        last: the last one.
        move: shows another one, told its place.
    """
    playing = bool(st.session_state.get(_PLAYING)) and place < last

    def press() -> None:
        st.session_state[_PLAYING] = not playing
        if not playing and place == last:
            move(0)

    st.button(
        "Pause" if playing else "Play",
        icon=":material/pause:" if playing else ":material/play_arrow:",
        on_click=press,
        key="training.play",
    )
    st.session_state[_PLAYING] = playing
    if playing:
        st.session_state[_TICKS] = 0
        _tick(place, move)


@st.fragment(run_every=SECONDS)
def _tick(place: int, move: Callable[[int], None]) -> None:
    """Runs with the page first, then by itself every few moments, and moves on every time but the first."""
    st.session_state[_TICKS] += 1
    if st.session_state[_TICKS] > 1:
        move(place + 1)
        st.rerun()
