"""Translate: several sentences, one a line, each with its best translation, n-best and cross-attention."""

from __future__ import annotations

import html

import plotly.graph_objects as go
import streamlit as st

from atlas import limits
from atlas.errors import AtlasError
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.trace import Trace, view
from atlas.ui import bar
from atlas.ui.chart import chart
from atlas.ui.link import link_button
from atlas.ui.markup import notice, show_facts, show_sentence, show_tint_legend, show_translation, tinted
from atlas.ui.models import TimedTrace
from atlas.ui.page import Page
from atlas.ui.state import ViewState
from atlas.ui.theme import is_dark
from atlas.ui.words import target_words


def split_lines(text: str) -> list[str]:
    """The sentences of a text, one a line, blank lines left out."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def show_sentences(page: Page) -> None:
    """The text area and a card for each sentence."""
    lines = _text_area(page.state)
    legend = st.container()
    if not lines:
        notice("Write a sentence above, or choose an example, to see what the model does with it.")
        return
    if len(lines) > limits.LINES.value:
        notice(f"Here the first {limits.LINES.shown} are shown; put longer lists into a file.")
    with legend:
        show_tint_legend()
    for index, line in enumerate(lines[: limits.LINES.value]):
        with st.container(border=True, gap="small"):
            _card(page, index, line, alone=len(lines) == 1)


def _text_area(state: ViewState) -> list[str]:
    """The sentences typed, one of which is *the* sentence that the other pages show."""
    typed = state["lines"]
    if state["text"] not in split_lines(typed):
        typed = state["lines"] = state["text"]
    lines = split_lines(typed)
    if lines and state["text"] not in lines:
        state["text"] = lines[0]

    def follow(text: str) -> None:
        found = split_lines(text)
        if state["text"] not in found:
            state["text"] = found[0] if found else ""

    st.text_area(
        "Sentences, one a line",
        height=100,
        max_chars=limits.SENTENCE.value,
        placeholder="English sentences, one a line",
        label_visibility="collapsed",
        **state.widget("lines", after=follow),
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.button("Translate", type="primary", key="atlas.translate")
        bar.examples(state)
        bar.search_settings(state)
        link_button()
    return lines


def _card(page: Page, index: int, line: str, *, alone: bool) -> None:
    show_sentence(line)
    try:
        timed = page.timed_trace_of(line)
    except AtlasError as error:
        notice(str(error))
        return
    trace = timed.trace
    show_translation(trace, int(trace.hypotheses[0]))
    chosen = page.state["text"] == line
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        show_facts(_facts(page, timed))
        page.link("attention", "Attention", icon=":material/grid_on:", text=line)
        page.link("beam_search", "Beam search", icon=":material/account_tree:", text=line)
        page.link("positions", "Positions", icon=":material/waves:", text=line)
        if not alone:
            _choice(page.state, index, line, chosen)
    details = st.expander(
        "Other translations and cross-attention",
        expanded=alone or chosen,
        key=f"atlas.details.{index}",
        on_change="rerun",
    )
    if details.open:
        with details:
            _details(trace, index)


def _choice(state: ViewState, index: int, line: str, chosen: bool) -> None:
    def choose() -> None:
        state["text"] = line

    st.button(
        "On all pages" if chosen else "Show on all pages",
        key=f"atlas.choose.{index}",
        icon=":material/radio_button_checked:" if chosen else ":material/radio_button_unchecked:",
        type="tertiary",
        disabled=chosen,
        on_click=choose,
    )


def _facts(page: Page, timed: TimedTrace) -> list[str]:
    trace = timed.trace
    best = int(trace.hypotheses[0])
    length = int(trace.search.step[best])
    facts = [
        page.state["model"],
        f"beam {page.state['beam']}",
        f"score {trace.search.score[best]:.2f}",
        f"{length} pieces with the end mark",
        f"{timed.seconds * 1000:.0f} ms",
    ]
    if trace.search.token[best] != trace.end_id:
        facts.append("cut at the length limit")
    return facts


def _details(trace: Trace, index: int) -> None:
    left, right = st.columns([6, 5], gap="medium")
    with left:
        _n_best(trace)
    with right:
        if "cross" not in trace.kinds:
            st.caption("This model has no attention to show.")
            return
        st.caption(f"Cross-attention of layer {aligning_layer(trace) + 1}, the mean over its heads")
        chart(
            cross_attention(trace),
            f"atlas.cross.{index}",
            "Cross-attention: how much each word of the translation looked at each word of the sentence",
        )


def aligning_layer(trace: Trace) -> int:
    """The layer whose cross-attention aligns words best: the last but one.

    Garg et al. 2019, "Jointly Learning to Align and Translate with Transformer Models", found this; with one
    layer it is that one.
    """
    return max(trace.search.cross.shape[1] - 2, 0)


def cross_attention(trace: Trace) -> go.Figure:
    """The small picture under a translation: one layer, mean over heads, words, control tokens hidden."""
    seen = view(trace, "cross", layer=aligning_layer(trace), head="mean", unit="words", special=False)
    head = HeadMap(
        weights=seen.weights,
        queries=seen.query_labels,
        keys=seen.key_labels,
        kind="cross",
        rows="word predicted",
    )
    return heatmap(head, dark=is_dark())


def _n_best(trace: Trace) -> None:
    """The best hypotheses with their scores, the words of each tinted."""
    rows = []
    for place, node in enumerate(trace.hypotheses.tolist(), start=1):
        text = trace.text(node)
        words = tinted(target_words(trace, node), text) if text else html.escape("(an empty translation)")
        numbers = (trace.search.score[node], trace.search.cumulative[node])
        cells = "".join(f'<td style="text-align:right">{number:.2f}</td>' for number in numbers)
        rows.append(
            f'<tr><td>{place}</td><td style="line-height:1.7;overflow-wrap:anywhere">{words}</td>{cells}'
            f'<td style="text-align:right">{int(trace.search.step[node])}</td></tr>'
        )
    head = "".join(f"<th>{name}</th>" for name in ("", "Translation", "Score", "log p", "Pieces"))
    st.html(
        "<style>.atlas-nbest td,.atlas-nbest th{padding:.2rem .5rem;text-align:left;vertical-align:top}"
        ".atlas-nbest th{font-weight:600;opacity:.75;white-space:nowrap}</style>"
        f'<table class="atlas-nbest"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
    st.caption(
        "Score: log-probability after the length penalty, what the search ranks by. log p: before it. "
        "Pieces: with the end mark."
    )
