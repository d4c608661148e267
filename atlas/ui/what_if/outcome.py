"""What a change does: the translations, the two searches, one head before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from atlas.analysis.what_if import Consequence
from atlas.figures import what_if as figures
from atlas.figures.fates import last_step, number
from atlas.figures.heatmap import KINDS, HeadMap, heatmap
from atlas.figures.mosaic import SUMMARIES
from atlas.trace import Trace, TraceError
from atlas.ui.attention.choice import show_new_notices
from atlas.ui.chart import chart
from atlas.ui.components.search_tree import TreeView, search_tree
from atlas.ui.differences import show_difference
from atlas.ui.markup import show_facts, show_translation
from atlas.ui.page import Page
from atlas.ui.search_files import offer_search
from atlas.ui.search_state import ALL, drawn, node_at, path_of
from atlas.ui.theme import is_dark
from atlas.ui.what_if.address import read_row
from atlas.ui.what_if.row import Axes
from atlas.ui.what_if.subject import Subject

_PICKED = ":material/my_location:"


def signed(value: float) -> str:
    """A change with its sign, to three places."""
    return f"{value:+.3f}".replace("-", "−")


def translations(subject: Subject, changed: Trace, forced: Consequence) -> None:
    """The best translation as trained and changed, with what differs marked, and how likely each is."""
    best = int(changed.hypotheses[0]) if len(changed.hypotheses) else 0
    after = changed.text(best)
    show_difference(("As trained", subject.text), ("Changed", after))
    whole = float(forced.after.sum() - forced.before.sum())
    facts = [
        f"original translation: log p {number(float(forced.before.sum()), 3)} as trained",
        f"{number(float(forced.after.sum()), 3)} changed ({signed(whole)} nats)",
        f"changed translation: log p {number(float(changed.search.cumulative[best]), 3)} changed",
    ]
    if changed.token_path(best) == subject.target:
        facts.append("the same words: this change alone does not move the translation")
    show_facts(facts)


def trees(page: Page, subject: Subject, changed: Trace) -> None:
    """The new beam tree beside the hypotheses of both searches."""
    st.subheader("The changed search", anchor=False)
    state, steps = page.state, last_step(changed)
    try:
        node = node_at(changed, state["tree_node"])
    except TraceError:
        node = node_at(changed, ())
        state["tree_node"] = ()
    step = steps if state["tree_step"] == ALL else min(state["tree_step"], steps)

    def look(view: TreeView) -> None:
        state["tree_node"] = view.path or (int(changed.search.token[0]),)
        state["tree_step"] = ALL if view.step >= steps else view.step

    search_tree(drawn(changed), node=node, step=step, on_view=look, key="atlas.what_if.tree")
    offer_search(changed, node, step, "what-if-search-tree")
    left, right = st.columns(2, gap="large")
    with left:
        hypotheses(page, "Changed", changed, choosable=True)
    with right:
        hypotheses(page, "As trained", subject.trace, choosable=False)


def hypotheses(page: Page, title: str, trace: Trace, *, choosable: bool) -> None:
    """What a search returned, best first; a button of each chooses its end in the tree."""
    st.markdown(f"**{title}**: what the search returned")
    if not len(trace.hypotheses):
        st.caption("Nothing.")

    def choose(path: tuple[int, ...]) -> None:
        page.state["tree_node"] = path
        page.state["tree_step"] = ALL

    for place, node in enumerate(trace.hypotheses.tolist(), start=1):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            if choosable:
                st.button(
                    str(place),
                    key=f"atlas.what_if.hypothesis.{place}",
                    help="Show it in the tree",
                    type="tertiary",
                    on_click=choose,
                    args=(path_of(trace, node),),
                )
            else:
                st.markdown(str(place), width="content")
            with st.container(gap=None):
                show_translation(trace, node, size="1rem")
                show_facts([f"score {number(trace.search.score[node], 3)}"])


def _tile(weights: np.ndarray[Any, Any], head: str) -> np.ndarray[Any, Any]:
    """One head, or the mean or maximum over heads: ``(H, Q, K)`` -> ``(Q, K)``."""
    if head in SUMMARIES:
        tile: np.ndarray[Any, Any] = weights.mean(0) if head == "mean" else weights.max(0)
        return tile
    one: np.ndarray[Any, Any] = weights[int(head) - 1]
    return one


def attention_after(page: Page, axes: Axes, forced: Consequence) -> None:
    """One head's attention along the original translation, as trained and changed, on one scale."""
    st.subheader("One head, before and after", anchor=False)
    state = page.state
    known = list(state.notices)
    kind = state["kind"]
    layers = axes.layers[kind]
    state.restrict("layer", lambda layer: layer <= layers, layers, f"a layer from 1 to {layers}")
    heads = [*map(str, range(1, axes.heads + 1)), *SUMMARIES]
    state.restrict("head", heads.__contains__, "1", f"a head from 1 to {axes.heads}, mean or max")
    show_new_notices(state, known)

    def most() -> None:
        moved = forced.moved[kind]
        layer, head = np.unravel_index(int(moved.argmax()), moved.shape)
        state["layer"], state["head"] = int(layer) + 1, str(int(head) + 1)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Kind of attention",
            list(KINDS),
            required=True,
            **state.widget("kind"),
        )
        st.number_input("Layer", 1, layers, width=110, **state.widget("layer"))
        st.selectbox("Head", heads, width=110, **state.widget("head"))
        st.button("The head that moved most", icon=_PICKED, key="atlas.what_if.most", on_click=most)
    layer, head = state["layer"], state["head"]
    before = _tile(forced.weights_before[kind][layer - 1], head)
    after = _tile(forced.weights_after[kind][layer - 1], head)
    masked = (
        np.triu(np.ones(before.shape, bool), 1) if kind == "decoder" and page.model.config.causal else None
    )
    top = max(float(before.max()), float(after.max()))
    rows = "query" if kind == "encoder" else "step that predicts"
    for column, (name, weights) in zip(
        st.columns(2), {"As trained": before, "Changed": after}.items(), strict=True
    ):
        head_map = HeadMap(
            weights, axes.queries[kind], axes.keys[kind], masked=masked, kind=kind, name=name, rows=rows
        )
        with column:
            alt = f"{KINDS[kind]}, layer {layer}, head {head}: {name.lower()}"
            chart(heatmap(head_map, top=top, dark=is_dark()), f"what_if.map.{name}", alt)
    row = read_row(state["row"])
    if (
        row is not None
        and row.weights
        and (row.kind, row.layer + 1, str(row.head + 1)) == (kind, layer, head)
    ):
        visible = axes.visible(row)
        bars = figures.row_bars(
            axes.keys[kind][:visible],
            before[row.row, :visible],
            after[row.row, :visible],
            kind=kind,
            dark=is_dark(),
        )
        chart(bars, "what_if.row", "The row that was written by hand, as trained and changed")
