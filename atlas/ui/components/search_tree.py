"""The tree of a search as an SVG component: the twin of :func:`atlas.figures.tree.search_tree` on the page.

Why not the Plotly figure, both measured in Chromium on two shared cores, 601 nodes in 30 steps and 1,201
nodes
in 60: a frame of the replay takes Plotly 56 and 60 ms on average (162 at worst) and this component 3 (the
rest of 16 waits for the screen); what is sent is 0.71 and 2.36 MB against 0.15 and 0.31, again with each
click. Above all, neither Plotly's slider nor its animation reports its frame to Streamlit: the step could not
stand in the address, and a click in the middle of a replay would throw the picture back to another step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import streamlit as st

from atlas.ui.components.told import told

_FILES = resources.files(__package__)


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


_mount = st.components.v2.component(
    "attention_atlas.search_tree",
    html=_read("search_tree.html"),
    css=_read("search_tree.css"),
    js=_read("walking_keys.js") + _read("search_tree_picture.js") + _read("search_tree.js"),
)


@dataclass(frozen=True)
class TreeView:
    """What the visitor looks at: the path of the chosen node (token ids, empty for the root), and the
    step."""

    path: tuple[int, ...]
    step: int


def search_tree(
    tree: dict[str, Any], *, node: int, step: int, on_view: Callable[[TreeView], None], key: str
) -> None:
    """Show a search and let it be replayed and clicked.

    Args:
        tree: what :func:`atlas.figures.tree_payload.tree_payload` gives.
        node: id of the chosen node.
        step: how many steps to show, 0 to ``tree["steps"]``.
        on_view: called before the page runs again when the visitor has chosen a node or come to rest at a
            step.
        key: of the component in this session.
    """

    def changed() -> None:
        view = told(key, "view")
        if view is not None:
            on_view(TreeView(tuple(int(token) for token in view["node"]), int(view["step"])))

    _mount(key=key, data={"tree": tree, "node": node, "step": step}, on_view_change=changed)
