"""The controls of the Attention page: which attention, how it is shown, of which hypothesis, and the query
words."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from atlas import limits
from atlas.figures.heatmap import KINDS, HeadMap
from atlas.figures.mosaic import SCALES, HeadGrid
from atlas.trace import Trace
from atlas.ui.attention.choice import Choice, show_new_notices, write_choice
from atlas.ui.markup import show_sentence
from atlas.ui.page import Page
from atlas.ui.state import ViewState
from atlas.ui.talk.mode import SCALE_NAMES, shown_scale, talking

_SIGNATURE = "atlas.attention.rows"


def view_controls(state: ViewState, kinds: Sequence[str]) -> None:
    """Kind (of those that the model has), unit, colour scale and row labels, in one row."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control(
            "Attention",
            [kind for kind in KINDS if kind in kinds],
            format_func={"encoder": "Encoder", "decoder": "Decoder", "cross": "Cross"}.__getitem__,
            required=True,
            help="Encoder: source to source. Decoder: target to target so far. Cross: target to source.",
            **state.widget("kind", to_widget=lambda kind: kind if kind in kinds else kinds[0]),
        )
        st.segmented_control(
            "Unit",
            ["pieces", "words"],
            required=True,
            help="Words: weights are summed over a word's keys and averaged over its queries.",
            **state.widget("unit"),
        )
        st.segmented_control(
            "Colour scale",
            list(SCALES),
            format_func=SCALE_NAMES.__getitem__,
            disabled=talking(),
            required=True,
            help="Per head: each picture reaches full ink at its own largest weight. Shared: one scale for "
            "all heads. 0 to 1: one for all sentences too.",
            **state.widget("scale", to_widget=lambda _: shown_scale(state)),
        )
        if state["kind"] != "encoder":
            st.segmented_control(
                "Row label",
                ["output", "input"],
                format_func={"input": "token read", "output": "token predicted"}.__getitem__,
                required=True,
                help="A row of the decoder reads one token and predicts the next one. It can be called by "
                "either.",
                **state.widget("rows"),
            )


def special_control(state: ViewState) -> None:
    """Whether control tokens such as ``</s>`` have rows and columns."""
    st.toggle(
        "Special tokens",
        help="Hidden: their rows and columns are left out, each row is divided by what remains of it.",
        **state.widget("special"),
    )


def hypothesis_control(page: Page, trace: Trace) -> None:
    """Which translation the decoder is looked at for: one of the n best, a node of the search, or the user's
    own."""
    state = page.state
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        if state["node"]:
            show_sentence(f"Along a node of the search: {trace.text(trace.node_for(state['node']))}")
            st.button("Back to the hypotheses", on_click=_reset, args=(state, "node", ()))
        elif state["target"]:
            show_sentence(f"Along your own target: {state['target']}")
            st.button("Back to the model's own", on_click=_reset, args=(state, "target", ""))
        else:
            st.selectbox(
                "Hypothesis",
                range(1, len(trace.hypotheses) + 1),
                format_func=lambda place: _hypothesis(trace, place),
                **state.widget("hyp"),
            )
        if page.engine is not None:
            _target_box(state)


def _hypothesis(trace: Trace, place: int) -> str:
    node = int(trace.hypotheses[place - 1])
    probability = math.exp(float(trace.search.cumulative[node]))
    return f"{place}. {trace.text(node)} (probability {probability:.2g})"


def _reset(state: ViewState, name: str, value: object) -> None:
    state[name] = value


def _target_box(state: ViewState) -> None:
    """A sentence of the user that the model is made to read as if it had written it (teacher forcing)."""
    with st.popover("Your own target", icon=":material/edit:"):
        st.text_input(
            "Target sentence",
            max_chars=limits.SENTENCE.value,
            placeholder="A translation of your own",
            help="The model reads it as if it had written it, and its attention is shown along it. Empty: "
            "the model's own.",
            **state.widget("target", after=lambda _: _reset(state, "node", ())),
        )


def query_words(state: ViewState, head: HeadMap) -> list[int]:
    """Select query words; a selection made for other rows is dropped.

    Args:
        state: of the page.
        head: whose rows can be selected.

    Returns:
        0-based rows, in order.
    """
    signature = (head.kind, head.queries)
    if st.session_state.get(_SIGNATURE, signature) != signature:
        state["words"] = ()
    st.session_state[_SIGNATURE] = signature
    known = state.notices
    state.restrict(
        "words",
        lambda rows: all(row < len(head.queries) for row in rows),
        (),
        f"rows from 0 to {len(head.queries) - 1}",
    )
    show_new_notices(state, known)
    st.multiselect(
        f"Words to follow: {head.rows}",
        range(len(head.queries)),
        format_func=lambda row: f"{row + 1} · {head.queries[row]}",
        placeholder="Choose words here, or click them on the left of the lines",
        **state.widget("words", to_widget=list, from_widget=tuple),
    )
    return sorted(set(state["words"]))


def toggle_word(state: ViewState, row: int) -> None:
    """Select a query word, or give it up."""
    chosen = set(state["words"]) ^ {row}
    state["words"] = tuple(sorted(chosen))


def choose_head(state: ViewState, grid: HeadGrid, layer: int, column: int) -> None:
    """What a click on the grid says: 0-based layer and column."""
    if 0 <= layer < grid.layers and 0 <= column < grid.heads + 2:
        state["layer"] = layer + 1
        state["head"] = grid.columns[column]


def pin_control(page: Page, choice: Choice) -> None:
    """Pin what is shown, to be compared with what is chosen next, or let it go."""
    state = page.state
    if not state["pin"]:
        st.button(
            "Pin and compare",
            icon=":material/keep:",
            help="Keeps this head on the left; choose another head, sentence or hypothesis to stand beside "
            "it.",
            on_click=_reset,
            args=(state, "pin", write_choice(choice)),
        )
    else:
        st.button("Unpin", icon=":material/keep_off:", on_click=_reset, args=(state, "pin", ""))
