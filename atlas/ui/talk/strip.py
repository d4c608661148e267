"""The presenter's strip at the lower edge of a page, and the keys of a talk.

Not Streamlit's own buttons: a clicker sends PageUp and PageDown, which no button of Streamlit takes, full
screen must be asked for by the click itself, and a key that a walk on the page takes must not be taken twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import streamlit as st

from atlas.ui.components.told import told

_FILES = resources.files(__package__)
_COMPONENTS = resources.files("atlas.ui.components")
_KEY = "atlas.talk.strip"
_SIZE = "atlas.talk.size"
_LEAST, _MOST, _USUAL = 1.0, 3.0, 1.25

_mount = st.components.v2.component(
    "attention_atlas.talk",
    html=(_FILES / "strip.html").read_text(encoding="utf-8"),
    css=(_FILES / "strip.css").read_text(encoding="utf-8"),
    js=(_COMPONENTS / "walking_keys.js").read_text(encoding="utf-8")
    + (_FILES / "lens.js").read_text(encoding="utf-8")
    + (_FILES / "strip.js").read_text(encoding="utf-8"),
)
_STAGE = (_FILES / "stage.css").read_text(encoding="utf-8")
_ROOM = '[data-testid="stMainBlockContainer"] { padding-bottom: calc(var(--atlas-strip, 2rem) + 1rem); }'


@dataclass(frozen=True)
class Told:
    """What the strip says.

    Attributes:
        talk: whether talk mode is on.
        said: a remark in small type.
        note: of the stop; "" without one.
        stop: which stop of a tour, from 1.
        stops: how many there are; 0 without a tour.
    """

    talk: bool
    said: str = ""
    note: str = ""
    stop: int = 1
    stops: int = 0


def type_size() -> float:
    """How much larger than on a screen the type is in the window of this session, as far as it has said."""
    return float(st.session_state.get(_SIZE, _USUAL))


def strip(view: Told, *, on_go: Callable[[int], None], on_leave: Callable[[], None]) -> None:
    """Show the strip, and in talk mode take away what surrounds the pictures.

    Args:
        view: what it says.
        on_go: called with the stop that was asked for, before the page runs again.
        on_leave: called when talk mode, or the tour, is to end.
    """

    def go() -> None:
        stop = told(_KEY, "go")
        if stop is not None:
            on_go(min(max(int(stop), 1), view.stops))

    def leave() -> None:
        if told(_KEY, "leave"):
            on_leave()

    def resize() -> None:
        size = told(_KEY, "size")
        if size is not None:
            st.session_state[_SIZE] = min(max(float(size), _LEAST), _MOST)

    st.html(f"<style>{_STAGE if view.talk else _ROOM}</style>")
    data = {
        "talk": view.talk,
        "said": view.said,
        "note": view.note,
        "stop": view.stop,
        "stops": view.stops,
        "size": type_size(),
    }
    _mount(key=_KEY, data=data, on_go_change=go, on_leave_change=leave, on_size_change=resize)
