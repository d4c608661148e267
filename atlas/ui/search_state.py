"""What the Beam search page shows: which search (free, or forced through a node), which node, which step."""

from __future__ import annotations

from typing import Any

import streamlit as st

from atlas.errors import AtlasError
from atlas.figures.fates import last_step
from atlas.figures.tree_payload import tree_payload
from atlas.trace import Trace, TraceError
from atlas.ui import keys
from atlas.ui.keys import Key
from atlas.ui.page import Page

INSTEAD, NEXT = "instead", "next"
_SHOWN = "atlas.search.shown"
_SENTENCE = "atlas.search.sentence"
_DRAWN = "atlas.search.drawn"


ALL = -1


def step_key() -> Key[int]:
    """How much of the search is shown: a number of steps, or :data:`ALL` (``all`` in the address)."""
    number = keys.integer("step", 0, 0, 1000)

    def read(raw: str) -> int:
        return ALL if raw == "all" else number.read(raw)

    return Key("step", ALL, read, lambda value: "all" if value == ALL else str(value), "a step or 'all'")


SEARCH_KEYS: tuple[Key[Any], ...] = (
    keys.integers("node"),
    step_key(),
    keys.integers("from"),
    keys.choice("beside", [INSTEAD, NEXT], INSTEAD),
    keys.flag("ask"),
    keys.integer("cross_layer", 0, 0, 64),
    keys.integer("cross_head", 0, 0, 64),
    keys.decimal("temperature", 1.0, 0.1, 2.0),
    keys.integer("top_k", 0, 0, 100),
    keys.decimal("top_p", 1.0, 0.05, 1.0),
    keys.integer("seed", 0, 0, 9999),
)
"""What the page keeps in the address. ``node`` and ``from`` are token paths; an empty ``node`` is the end of
the best hypothesis, and the start mark alone is the root. Layers and heads count from 1;
layer 0 is the last, head 0 the mean."""


def path_of(trace: Trace, node: int) -> tuple[int, ...]:
    """The address of a node: its token path, the start mark alone for the root."""
    return trace.token_path(node) or (int(trace.search.token[0]),)


def node_at(trace: Trace, path: tuple[int, ...]) -> int:
    """The node at an address; the end of the best hypothesis for the empty one.

    Raises:
        TraceError: the search never met that path.
    """
    if not path:
        return int(trace.hypotheses[0]) if len(trace.hypotheses) else 0
    if path == (int(trace.search.token[0]),):
        return 0
    return trace.node_for(path)


def _met(trace: Trace, path: tuple[int, ...]) -> bool:
    try:
        node_at(trace, path)
    except TraceError:
        return False
    return True


def shown_search(page: Page) -> Trace:
    """The search that the page draws: the free one, or the one that was made to go on from a node.

    A forced search that cannot be made is explained in one line, and the free one is drawn. Another sentence
    or model sets the search free again.
    """
    sentence = (page.sentence, page.state["model"])
    if st.session_state.get(_SENTENCE, sentence) != sentence:
        page.state["from"] = ()
    st.session_state[_SENTENCE] = sentence
    forced = page.state["from"]
    if not forced:
        return page.trace
    try:
        return page.trace_of(prefix_ids=forced)
    except AtlasError as error:
        page.complain(f"The search cannot be made to go on from that node: {error}")
        page.state["from"] = ()
        return page.trace


def shown_place(page: Page, trace: Trace) -> tuple[int, int]:
    """The chosen node and the step to show.

    What the address asks for and this search never met is said. Where it was the search that changed (another
    sentence, another beam), the choice made in the old one is dropped without a word.

    Returns:
        Node id and step, 0 to the number of steps.
    """
    state = page.state
    steps = last_step(trace)
    identity = (
        trace.header.model_hash,
        trace.source,
        repr(sorted(trace.header.settings.items())),
        state["from"],
    )
    changed = st.session_state.get(_SHOWN, identity) != identity
    st.session_state[_SHOWN] = identity
    good_node, good_step = _met(trace, state["node"]), state["step"] <= steps
    if not good_node:
        if not changed:
            page.complain(
                f"This search never met the node {'.'.join(map(str, state['node']))}; the best one is shown."
            )
        state["node"] = ()
    if not good_step:
        if not changed:
            page.complain(
                f"This search has no step {state['step']}: it ended after {steps}; all of it is shown."
            )
        state["step"] = ALL
    return node_at(trace, state["node"]), steps if state["step"] == ALL else state["step"]


def drawn(trace: Trace) -> dict[str, Any]:
    """The payload of the tree, made once for each search that this session looks at.

    A large search takes a few tenths of a second; choosing another node of it must not.
    """
    known = st.session_state.get(_DRAWN)
    if known is None or known[0] is not trace:
        known = st.session_state[_DRAWN] = (trace, tree_payload(trace))
    payload: dict[str, Any] = known[1]
    return payload


def choose(page: Page, path: tuple[int, ...], step: int) -> None:
    """Look at another node or step; what was asked about the old node is forgotten."""
    if path != page.state["node"]:
        page.state["ask"] = False
    page.state["node"] = path
    page.state["step"] = step


def search_facts(trace: Trace) -> list[str]:
    """How the search was done, from the header of the trace itself, in short facts."""
    settings = trace.header.settings
    facts = []
    if "beam" in settings:
        facts.append(f"beam width {settings['beam']}")
    if "penalty" in settings:
        strength = (
            f" α = {settings['alpha']}" if settings["penalty"] == "gnmt" and "alpha" in settings else ""
        )
        facts.append(f"length penalty {settings['penalty']}{strength}")
    if settings.get("max_length"):
        facts.append(f"at most {settings['max_length']} tokens")
    facts.append(f"{len(trace.search) - 1} candidates in {last_step(trace)} steps")
    return facts
