"""The menu of everything that can be taken away from a page: pictures, numbers, the trace, the whole run.

It is one button beside the title. Closed, it costs the page one element; opened, the page runs once more and
each figure that is drawn offers itself in it. A file is made when its button is clicked, not before.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, Final, Literal

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from atlas.figures.export import FORMATS, picture, picture_trouble
from atlas.figures.numbers import figure_json, figure_table
from atlas.figures.page.document import trace_page
from atlas.text.tables import MIME_TYPES, write_table
from atlas.trace import Trace
from atlas.ui.markup import show_facts
from atlas.ui.talk.mode import talking
from atlas.ui.theme import is_dark

File = tuple[str, str, str, Callable[[], bytes]]
"""What a button says, the name of the file, its media type, and what makes it."""

_MENU: Final = "atlas.take"
_CAMERA: Final = "atlas.take.camera"
_SHELF: ContextVar[DeltaGenerator | None] = ContextVar("atlas.takeaway.shelf", default=None)


def takeaway_menu() -> None:
    """The button of the menu, except in talk mode. What the page draws after it can be found in it."""
    _SHELF.set(None)
    if talking():
        return
    menu = st.popover(
        "Take away",
        icon=":material/download:",
        key=_MENU,
        on_change="rerun",
        help="Every figure of this page as PNG, SVG, CSV or JSON",
    )
    if not menu.open:
        return
    _SHELF.set(menu)
    with menu:
        trouble = trouble_with_pictures()
        if trouble is None:
            st.caption(
                "Pictures are drawn in the colours of this theme; SVG is all vectors and text. "
                "The first one takes some seconds."
            )
        else:
            st.caption(f"{trouble}. Your own browser can: hover a figure and click its camera.")
            st.segmented_control(
                "The camera makes",
                list(FORMATS),
                default="png",
                required=True,
                format_func=str.upper,
                key=_CAMERA,
                persist_state="session",
            )


def shelf() -> DeltaGenerator | None:
    """Where files are offered in this run; None while the menu is closed."""
    context = get_script_run_ctx()
    if context is not None and context.fragment_ids_this_run:
        return None  # a fragment runs alone: the menu is what the last run of the whole page made it
    return _SHELF.get()


def offer(title: str, files: Sequence[File]) -> None:
    """A row of the menu.

    Args:
        title: what the files hold; shown literally.
        files: named so that no two of a page are equal.
    """
    place = shelf()
    if place is None:
        return
    with place, st.container(gap="xxsmall"):
        show_facts([title])
        with st.container(horizontal=True, gap="xsmall"):
            for label, name, mime, make in files:
                st.download_button(
                    label, make, file_name=name, mime=mime, on_click="ignore", key=f"{_MENU}.{name}"
                )


def offer_figure(
    title: str, key: str, draw: Callable[[], go.Figure], numbers: Sequence[File] | None = None
) -> None:
    """A figure in the menu: its numbers, and pictures where this machine can draw them.

    Args:
        title: what it shows; shown literally.
        key: unique on the page; the files are called so.
        draw: makes the figure.
        numbers: files of the numbers, where there are better ones than those that stand in the figure.
    """
    if shelf() is None:
        return
    stem, dark = key.replace(".", "-"), is_dark()
    files: list[File] = []
    if trouble_with_pictures() is None:
        files += [
            (form.upper(), f"{stem}.{form}", mime, partial(_picture, draw, form, dark))
            for form, mime in FORMATS.items()
        ]
    if numbers is None:
        numbers = (
            ("CSV", f"{stem}.csv", MIME_TYPES["csv"], partial(_csv, draw)),
            ("JSON", f"{stem}.json", "application/json", partial(_json, draw, title)),
        )
    offer(title, [*files, *numbers])


def offer_trace(trace: Trace) -> None:
    """A run of the model in the menu: one page that opens without this app, and the trace itself."""
    offer(
        "This sentence: heads, lines, heatmap and search tree in one page that opens anywhere, without a "
        "network; and its trace, which the sidebar of this app opens",
        [
            ("Page (HTML)", "attention-atlas.html", "text/html", partial(_page, trace)),
            ("Trace (NPZ)", "trace.npz", "application/octet-stream", partial(_saved, trace)),
        ],
    )


@cache
def trouble_with_pictures() -> str | None:
    """Why this machine draws no pictures, if so; looked up once."""
    return picture_trouble()


def camera() -> dict[str, Any]:
    """The tool bar of a chart: none, or a camera where this machine cannot draw pictures itself."""
    if trouble_with_pictures() is None:
        return {"displayModeBar": False}
    form: Literal["png", "svg"] = st.session_state.get(_CAMERA, "png")
    return {
        "displaylogo": False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": {"format": form, "scale": 1 if form == "svg" else 2, "filename": "figure"},
    }


def _picture(draw: Callable[[], go.Figure], form: str, dark: bool) -> bytes:
    return picture(draw(), form, dark=dark)


def _csv(draw: Callable[[], go.Figure]) -> bytes:
    return write_table(figure_table(draw()), "csv")


def _json(draw: Callable[[], go.Figure], title: str) -> bytes:
    return figure_json(draw(), title)


def _page(trace: Trace) -> bytes:
    return trace_page(trace).encode("utf-8", "backslashreplace")


def _saved(trace: Trace) -> bytes:
    file = io.BytesIO()
    trace.save(file)
    return file.getvalue()
