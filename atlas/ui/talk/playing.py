"""Playing a tour in a session: which tours it has, and the way from stop to stop.

A stop is a whole view. Going there writes every key of its page, so that nothing that was clicked before is
left over, and a copied address of a stop opens the same view without the tour's file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Final

import streamlit as st

from atlas.errors import AtlasError
from atlas.ui.addresses import own_keys, shared_keys, tour_keys
from atlas.ui.keys import read_address, write_address
from atlas.ui.navigation import entry
from atlas.ui.saved import close_saved
from atlas.ui.state import leave_page
from atlas.ui.talk.library import Tours, find_tours, tour_name
from atlas.ui.talk.mode import TALK
from atlas.ui.talk.tour import Stop

_ASKED: Final = "atlas.tour.asked"
_UPLOADED: Final = "atlas.tour.uploaded"
_ALONE: Final = frozenset({TALK.name, *(key.name for key in tour_keys(()))})


def tours_here() -> Tours:
    """The tours of the machine and those that this session brought."""
    return replace(find_tours(), uploaded=st.session_state.get(_UPLOADED, {}))


def keep_uploaded(file_name: str, data: bytes) -> str:
    """Check a tour that was uploaded and keep it for this session.

    Returns:
        Its name in the address.

    Raises:
        AtlasError: what is wrong with it, with the number of the line.
    """
    from atlas.ui.talk.reading import read_tour

    name = tour_name(PurePath(file_name))
    tour = read_tour(file_name, data)
    st.session_state[_UPLOADED] = {**st.session_state.get(_UPLOADED, {}), name: tour}
    return name


def ask_for(name: str, stop: int, *, talk: bool) -> None:
    """Let the next run show a stop, counted from 1; for a callback, which cannot change the page itself."""
    st.session_state[_ASKED] = (name, stop, talk)


def follow_tour(page: str, tours: Tours, models: Sequence[str]) -> None:
    """Go to the stop that was asked for, by a key, a button, or an address that names a tour and no view.

    What was asked for is kept until its page runs: a message of the browser that comes in between, such as a
    step that has just settled, runs the old page once more.

    Args:
        page: the name of the page that runs.
        tours: that can be played.
        models: the names of the models that can be chosen.
    """
    asked = st.session_state.get(_ASKED) or _asked_by_address(tours)
    if asked is None:
        return
    name, number, talk = asked
    try:
        tour = tours.load(name)
    except (KeyError, AtlasError):
        st.session_state.pop(_ASKED, None)
        return  # the strip or the address says why
    stop = tour.stops[number - 1] if number <= len(tour.stops) else tour.stops[0]
    query = stop_address(stop, models, tour=name, number=number, talk=talk)
    if page == stop.page and st.query_params.to_dict() == query:
        st.session_state.pop(_ASKED, None)
        leave_page()
        return
    st.session_state[_ASKED] = asked
    close_saved()
    st.switch_page(entry(stop.page).path, query_params=query)


def _asked_by_address(tours: Tours) -> tuple[str, int, bool] | None:
    params = st.query_params.to_dict()
    if not _ALONE.issuperset(params):
        return None
    values, complaints = read_address(params, (TALK, *tour_keys(tours.names)))
    if complaints or not values.get("tour"):
        return None  # the page says what is wrong with the address
    return values["tour"], values["stop"] or 1, values[TALK.name]


def stop_address(stop: Stop, models: Sequence[str], *, tour: str, number: int, talk: bool) -> dict[str, str]:
    """Every parameter of the address of a stop.

    Args:
        stop: of the tour.
        models: the names of the models that can be chosen.
        tour: its name.
        number: of the stop, from 1.
        talk: whether talk mode is on.
    """
    keys = (*shared_keys(models, [tour]), *own_keys(stop.page))
    values = {key.name: key.default for key in keys}
    return write_address(values | {"tour": tour, "stop": number, TALK.name: talk}, keys) | dict(stop.values)
