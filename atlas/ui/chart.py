"""How a page shows a figure."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import streamlit as st

from atlas.ui.takeaway import camera, offer_figure
from atlas.ui.talk.mode import talking
from atlas.ui.talk.projector import for_projector
from atlas.ui.talk.strip import type_size


def chart(figure: go.Figure, key: str, alt: str, **more: Any) -> Any:
    """A figure as wide as its column, without a tool bar, offered in the menu of what can be taken away.

    Args:
        figure: for the theme of the page; in talk mode it is drawn larger.
        key: unique on the page; it begins with the page's name.
        alt: words for those who do not see it.
        more: further arguments of ``st.plotly_chart``, such as ``on_select``.

    Returns:
        what ``st.plotly_chart`` returns.
    """
    offer_figure(alt, key, lambda: figure)
    shown = for_projector(figure, type_size()) if talking() else figure
    return st.plotly_chart(shown, width="stretch", key=key, alt=alt, config=camera(), **more)
