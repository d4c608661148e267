"""The list of pages, once, for ``app.py`` and for a deep link that is visited before ``app.py`` has run."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page as StreamlitPage

HOME = "translate"
_ICON = Path(__file__).with_name("icon.svg")
_RUNNING: ContextVar[bool] = ContextVar("atlas.navigation.running", default=False)


@dataclass(frozen=True)
class PageEntry:
    """A page in the navigation. ``name`` is its address and the name of its file in ``pages/``."""

    name: str
    title: str
    icon: str
    section: str

    @property
    def path(self) -> str:
        """The file, relative to ``app.py``."""
        return f"pages/{self.name}.py"


PAGES = (
    PageEntry("translate", "Translate", ":material/translate:", "Explore"),
    PageEntry("attention", "Attention", ":material/grid_on:", "Explore"),
    PageEntry("beam_search", "Beam search", ":material/account_tree:", "Explore"),
    PageEntry("heads", "Heads", ":material/scatter_plot:", "Explore"),
    PageEntry("what_if", "What if", ":material/science:", "Explore"),
    PageEntry("ancestors", "Ancestors", ":material/family_history:", "Understand"),
    PageEntry("query_key_value", "Query · Key · Value", ":material/key:", "Understand"),
    PageEntry("positions", "Positions", ":material/waves:", "Understand"),
    PageEntry("forward_pass", "Forward pass", ":material/footprint:", "Understand"),
    PageEntry("masks_cost", "Masks & cost", ":material/hourglass_top:", "Understand"),
    PageEntry("architecture", "Architecture", ":material/schema:", "Understand"),
    PageEntry("training", "Training", ":material/trending_down:", "Understand"),
)


def entry(name: str) -> PageEntry:
    """The entry of the page called ``name``; raises ``KeyError`` for a page that the navigation lacks."""
    for page in PAGES:
        if page.name == name:
            return page
    raise KeyError(f"no page called {name!r} in the navigation")


def _home() -> None:
    """The page at ``/``: leads to Translate, which so has an address of its own, with the query kept."""
    query = {name: st.query_params.get_all(name) for name in st.query_params}
    st.switch_page(entry(HOME).path, query_params=query)


def _navigate() -> StreamlitPage:
    sections: dict[str, list[StreamlitPage]] = {
        "": [st.Page(_home, title="Attention Atlas", url_path="home", default=True, visibility="hidden")]
    }
    for page in PAGES:
        sections.setdefault(page.section, []).append(
            st.Page(page.path, title=page.title, icon=page.icon, url_path=page.name)
        )
    return st.navigation(sections, expanded=True)


def configure(title: str) -> None:
    """Page title and layout."""
    st.set_page_config(page_title=f"{title} · Attention Atlas", page_icon=_ICON, layout="wide")


def ensure_navigation() -> None:
    """Show the navigation when ``app.py`` has not run: the first visit to a deep link on a fresh server."""
    if not _RUNNING.get():
        _navigate()


def run() -> None:
    """What ``app.py`` does: offer the pages and run the one that was chosen."""
    configure("A Transformer, opened up")
    chosen = _navigate()
    token = _RUNNING.set(True)
    try:
        chosen.run()
    finally:
        _RUNNING.reset(token)
