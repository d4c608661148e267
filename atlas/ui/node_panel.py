"""One node of the search: its text, its fate, what else the model could have said, where it looked."""

from __future__ import annotations

import streamlit as st

from atlas.decoding import SearchOptions
from atlas.errors import AtlasError
from atlas.figures.alternatives import Alternatives, alternatives_figure, compared, next_tokens
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.trace import Trace, TraceError, view
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts, show_translation
from atlas.ui.page import Page
from atlas.ui.search_state import ALL, INSTEAD, NEXT, drawn
from atlas.ui.theme import is_dark


def node_panel(page: Page, trace: Trace, node: int) -> None:
    """Text, numbers and fate of ``node``, the ten likeliest tokens, and the button that goes on from it."""
    lines = drawn(trace)["hover"][node].split("\n")
    st.subheader(
        "The start" if node == 0 else f"Chosen node · step {int(trace.search.step[node])}", anchor=False
    )
    if node:
        show_translation(trace, node, size="1.1rem")
        show_facts([f"last token {lines[0]}", *lines[1:-1]])
    show_facts([lines[-1]])
    _go_on(page, trace, node)
    _alternatives(page, trace, node)


def _go_on(page: Page, trace: Trace, node: int) -> None:
    ended = int(trace.search.token[node]) == trace.end_id

    def go_on() -> None:
        page.state["from"] = trace.token_path(node)
        page.state["node"] = ()
        page.state["step"] = ALL

    why = None
    if page.engine is None:
        why = "A saved trace is shown without its model: the search cannot be made to go on."
    elif ended:
        why = "This hypothesis has ended."
    elif node == 0:
        why = "This is where the search began."
    st.button(
        "Go on from here",
        icon=":material/alt_route:",
        key="atlas.search.go_on",
        help=why or "Search again, with this text as the beginning of every hypothesis.",
        disabled=why is not None,
        on_click=go_on,
    )
    if page.engine is None:
        st.caption("Going on from a node needs the model; a saved trace is shown without it.")


def _alternatives(page: Page, trace: Trace, node: int) -> None:
    choices = {INSTEAD: "Instead of it", NEXT: "What comes next"} if node else {NEXT: "What comes next"}
    if node:
        st.segmented_control(
            "The ten likeliest tokens",
            list(choices),
            format_func=choices.__getitem__,
            required=True,
            **page.state.widget("beside"),
        )
        beside = page.state["beside"]
    else:
        st.caption("The ten likeliest first tokens")
        beside = NEXT
    if beside == NEXT and int(trace.search.token[node]) == trace.end_id:
        st.caption("The hypothesis ends here: nothing comes next.")
        return
    try:
        found = _after(page, trace, int(trace.search.parent[node]) if beside == INSTEAD else node)
    except AtlasError as error:
        page.complain(error)
        return
    if found is None:
        return
    chosen = int(trace.search.token[node]) if beside == INSTEAD else None
    st.caption("Coloured by what the search did with it; pale: the search never compared it.")
    chart(
        alternatives_figure(found, chosen=chosen, dark=is_dark()),
        "atlas.search.alternatives",
        "The ten likeliest tokens with their probabilities, coloured by what the search did with each",
    )


def _after(page: Page, trace: Trace, node: int) -> Alternatives | None:
    """What comes after ``node``: from the trace, or from the model if it was asked; None if it was not."""
    if trace.search.expanded[node] >= 0:
        return next_tokens(trace, node)
    if page.state["ask"] and page.engine is not None:
        return _asked(page, trace, node)
    if trace.rows_kept == "all":
        st.caption("The search never read this candidate: what would come next is not in the trace.")
    else:
        st.caption("The search was so large that only the passes of its n-best hypotheses were kept.")

    def ask() -> None:
        page.state["ask"] = True

    st.button(
        "Ask the model",
        icon=":material/quiz:",
        key="atlas.search.ask",
        disabled=page.engine is None,
        on_click=ask,
    )
    if page.engine is None:
        st.caption("Asking needs the model; a saved trace is shown without it.")
    return None


def _asked(page: Page, trace: Trace, node: int) -> Alternatives:
    """The answer of one more pass of the model, after the path to ``node``."""
    path = trace.token_path(node)
    options = SearchOptions(method="greedy", max_length=1)
    answer = page.trace_of(trace.source, options=options, prefix_ids=path)
    return compared(trace, node, next_tokens(answer, answer.node_for(path)))


def node_attention(page: Page, trace: Trace, node: int) -> None:
    """Cross-attention of every token on the path to ``node``, the chosen token's row marked."""
    if node == 0:
        st.caption("The start mark was given, not predicted: choose another node to see where it looked.")
        return
    layers, heads = trace.search.cross.shape[1:3]
    if not layers:
        st.caption("This model has no attention: it wrote every token from one vector of the sentence.")
        return
    state, known = page.state, set(page.state.notices)
    state.restrict("cross_layer", lambda layer: layer <= layers, 0, f"a layer from 1 to {layers}, or 0")
    state.restrict("cross_head", lambda head: head <= heads, 0, f"a head from 1 to {heads}, or 0")
    for message in state.notices:
        if message not in known:
            page.complain(message)
    left, right = st.columns(2)
    with left:
        st.selectbox(
            "Cross-attention layer",
            range(layers + 1),
            format_func=lambda layer: f"layer {layer}" if layer else f"last layer ({layers})",
            **state.widget("cross_layer"),
        )
    with right:
        st.selectbox(
            "Head",
            range(heads + 1),
            format_func=lambda head: f"head {head}" if head else "mean of heads",
            **state.widget("cross_head"),
        )
    layer, head = state["cross_layer"] or layers, state["cross_head"]
    try:
        seen = view(trace, "cross", layer=layer - 1, head=head - 1 if head else "mean", node=node)
    except TraceError as error:
        page.complain(error)
        return
    picture = HeadMap(
        weights=seen.weights,
        queries=seen.query_labels,
        keys=seen.key_labels,
        scores=seen.scores,
        kind="cross",
        rows="token predicted",
    )
    chart(
        heatmap(picture, chosen=(len(seen.queries) - 1,), dark=is_dark()),
        "atlas.search.cross",
        "Cross-attention along the path to the chosen node: what the model looked at for each token",
    )
    st.caption(seen.note)
    path = ".".join(map(str, trace.token_path(node)))
    page.link("attention", "All heads on this path", icon=":material/grid_on:", kind="cross", node=path)
