"""What can be taken away from the Attention page: numbers, the trace, pictures. Made only when clicked."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from atlas.figures.export import FORMATS, picture, picture_trouble
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.figures.lines import head_lines
from atlas.figures.mosaic import HeadGrid, heads_mosaic
from atlas.ui.attention.choice import Located
from atlas.ui.state import ViewState
from atlas.ui.talk.mode import shown_scale
from atlas.ui.theme import is_dark


def downloads(
    state: ViewState, located: Located, head: HeadMap, grid: HeadGrid, column: int, top: float
) -> None:
    """A menu of files: CSV and JSON of this head or of all, the trace, PNG and SVG of the three pictures.

    Args:
        state: of the page.
        located: what is shown, and its trace.
        head: the numbers of the chosen head.
        grid: those of all heads of its kind.
        column: 0-based place of the chosen head in the grid.
        top: the weight at the end of the colour scale of the heatmap.
    """
    name = f"attention-{head.kind}-layer{state['layer']}-head{state['head']}"
    everything = f"attention-{head.kind}-all-heads"
    dark, scale, threshold, tile = (
        is_dark(),
        shown_scale(state),
        state["threshold"],
        (state["layer"] - 1, column),
    )
    with st.popover("Download", icon=":material/download:"):
        st.caption(
            "Numbers of this head, of all heads of its kind, and the whole trace (opens in the sidebar)."
        )
        for title, stem, view in (
            ("this head", name, located.view(state)),
            ("all heads", everything, located.view(state, everything=True)),
        ):
            with st.container(horizontal=True):
                _file(f"CSV, {title}", f"{stem}.csv", "text/csv", view.to_csv)
                _file(f"JSON, {title}", f"{stem}.json", "application/json", view.to_json)
        _file("Trace (.npz)", "trace.npz", "application/octet-stream", partial(_saved, located))
        trouble = picture_trouble()
        if trouble:
            st.caption(trouble)
            return
        st.caption("Pictures, in the colours of this theme. The first one takes some seconds.")
        pictures: tuple[tuple[str, str, Callable[[], go.Figure]], ...] = (
            ("heatmap", name, partial(heatmap, head, top=top, dark=dark)),
            ("lines", f"{name}-lines", partial(head_lines, head, threshold=threshold, dark=dark)),
            ("all heads", everything, partial(heads_mosaic, grid, scale=scale, chosen=tile, dark=dark)),
        )
        for title, stem, draw in pictures:
            with st.container(horizontal=True):
                for form, mime in FORMATS.items():
                    _file(
                        f"{form.upper()}, {title}", f"{stem}.{form}", mime, partial(_drawn, draw, form, dark)
                    )


def _drawn(draw: Callable[[], go.Figure], form: str, dark: bool) -> bytes:
    return picture(draw(), form, dark=dark)


def _file(label: str, name: str, mime: str, make: Callable[[], Any]) -> None:
    st.download_button(
        label, make, file_name=name, mime=mime, on_click="ignore", key=f"attention.download.{label}"
    )


def _saved(located: Located) -> bytes:
    file = io.BytesIO()
    located.trace.save(file)
    return file.getvalue()
