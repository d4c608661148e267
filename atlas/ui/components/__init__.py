"""The two components that Plotly cannot replace: the canvas of all heads and the lines between words.

Each is registered once, when this module is imported, from ``.js`` and ``.css`` files of the package. They
receive what :mod:`atlas.figures` computed and never fetch anything. What a click tells is read in the
callback that the caller gives, before the page runs again.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

from streamlit.components.v2 import component
from streamlit.components.v2.types import ComponentRenderer

from atlas.ui.components.told import told


def _register(name: str) -> ComponentRenderer:
    files = resources.files(__package__)
    return component(
        f"attention_atlas_{name}",
        js=files.joinpath(f"{name}.js").read_text(encoding="utf-8"),
        css=files.joinpath(f"{name}.css").read_text(encoding="utf-8"),
    )


_mosaic = _register("mosaic")
_lines = _register("lines")


def heads_canvas(payload: dict[str, Any], *, key: str, on_choose: Callable[[int, int], None]) -> None:
    """All heads at a glance; a click or an arrow key chooses one.

    Args:
        payload: the result of :func:`atlas.figures.mosaic.mosaic_payload`.
        key: unique on the page.
        on_choose: called with the 0-based (layer, column) before the page runs again.
    """

    def chosen() -> None:
        value = told(key, "choose")
        if value is not None:
            on_choose(int(value[0]), int(value[1]))

    _mosaic(key=key, data=payload, on_choose_change=chosen)


def head_lines_view(
    payload: dict[str, Any],
    *,
    key: str,
    on_choose: Callable[[int], None],
    on_threshold: Callable[[float], None],
) -> None:
    """One head as lines between words; hovering needs no round trip.

    Args:
        payload: the result of :func:`atlas.figures.lines.lines_payload`.
        key: unique on the page.
        on_choose: called with the 0-based row of a query word that was clicked.
        on_threshold: called with the weight at which the slider was let go.
    """

    def chosen() -> None:
        value = told(key, "choose")
        if value is not None:
            on_choose(int(value))

    def moved() -> None:
        value = told(key, "threshold")
        if value is not None:
            on_threshold(min(max(float(value), 0.0), 1.0))

    _lines(key=key, data=payload, on_choose_change=chosen, on_threshold_change=moved)
