"""What the search returned, beside greedy search and a sample; and every candidate as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from atlas.decoding import SearchOptions
from atlas.errors import AtlasError
from atlas.figures.fates import number
from atlas.trace import FATES, Trace
from atlas.ui.markup import show_facts, show_translation
from atlas.ui.page import Page
from atlas.ui.search_state import ALL, choose, path_of

_NUMBER = st.column_config.NumberColumn


def n_best(page: Page, trace: Trace) -> None:
    """The hypotheses with their scores, best first; the button of each chooses its end in the tree."""
    if not len(trace.hypotheses):
        st.caption("The search returned nothing.")
    for place, node in enumerate(trace.hypotheses.tolist(), start=1):
        button, text, numbers = st.columns([0.7, 5, 4.6], vertical_alignment="center")
        with button:
            st.button(
                str(place),
                key=f"atlas.search.hypothesis.{place}",
                help="Show it in the tree",
                on_click=choose,
                args=(page, path_of(trace, node), ALL),
                type="tertiary",
            )
        with text:
            show_translation(trace, node, size="1.05rem")
        with numbers:
            show_facts(_numbers(trace, node))
    st.caption(
        "Score: log p after the length penalty, what the search ranks by. log p: the sum of the natural-log "
        "probabilities of the tokens. The end mark counts as a token."
    )


def _numbers(trace: Trace, node: int) -> list[str]:
    search = trace.search
    facts = [
        f"score {number(search.score[node], 3)}",
        f"log p {number(search.cumulative[node], 3)}",
        f"{int(search.step[node])} tokens",
    ]
    if search.token[node] != trace.end_id:
        facts.append("cut at the length limit")
    return facts


def greedy_and_sample(page: Page, trace: Trace) -> None:
    """Greedy search and a sample with its controls, compared with the best hypothesis of the search."""
    st.markdown("**Greedy**: the likeliest token at every step")
    if page.engine is None:
        st.caption("Greedy search and sampling need the model; a saved trace is shown without it.")
        return
    _other(page, trace, _options(page, "greedy"))
    st.markdown("**A sample**: every token drawn by its probability")
    left, right = st.columns(2)
    with left:
        st.slider("Temperature", 0.1, 2.0, step=0.1, **page.state.widget("temperature"))
        st.slider("Top-k (0: all)", 0, 100, **page.state.widget("top_k"))
    with right:
        st.slider("Top-p", 0.05, 1.0, step=0.05, **page.state.widget("top_p"))
        st.number_input("Seed", 0, 9999, **page.state.widget("seed"))
    state = page.state
    sampling = {name: state[name] for name in ("temperature", "top_k", "top_p", "seed")}
    _other(page, trace, _options(page, "sample", **sampling))


def _options(page: Page, method: Any, **more: Any) -> SearchOptions:
    state = page.state
    return SearchOptions(
        method=method,
        penalty=state["penalty"],
        alpha=state["alpha"],
        max_length=state["limit"] or None,
        **more,
    )


def _other(page: Page, trace: Trace, options: SearchOptions) -> None:
    """A translation found in another way, and how much less (or more) likely it is than the best of the
    search."""
    prefix = page.state["from"]
    try:
        other = page.trace_of(trace.source, options=options, **({"prefix_ids": prefix} if prefix else {}))
    except AtlasError as error:
        page.complain(error)
        return
    if not len(other.hypotheses):
        st.caption("Nothing was found.")
        return
    node = int(other.hypotheses[0])
    show_translation(other, node, size="1.05rem")
    total, score = float(other.search.cumulative[node]), float(other.search.score[node])
    facts = [
        f"score {number(score, 3)}",
        f"log p {number(total, 3)}",
        f"{int(other.search.step[node])} tokens",
    ]
    if len(trace.hypotheses):
        best = int(trace.hypotheses[0])
        if other.token_path(node) == trace.token_path(best):
            facts.append("the same as the best of the beam")
        else:
            gap = float(trace.search.cumulative[best] - other.search.cumulative[node])
            facts.append(f"{_ratio(gap)} likely {'than' if abs(gap) >= 0.005 else 'as'} the best of the beam")
    show_facts(facts)


def _ratio(gap: float) -> str:
    """``exp(|gap|)`` in words, for a gap of two log-probabilities (best minus other)."""
    if abs(gap) < 0.005:
        return "as"
    times = float(np.exp(min(abs(gap), 700.0)))
    shown = f"{times:.1f}" if times < 100 else f"{times:,.0f}" if times < 1e6 else f"{times:.0e}"
    return f"{shown} times {'less' if gap > 0 else 'more'}"


def candidates_table(trace: Trace) -> None:
    """Every candidate of the search, a row each: the tree for those who read rather than look."""
    search = trace.search
    nodes = np.arange(1, len(search.parent))
    st.dataframe(
        pd.DataFrame(
            {
                "Step": search.step[nodes],
                "Rank": search.rank[nodes] + 1,
                "Token": [trace.labels[node] for node in nodes],
                "Fate": [FATES[int(fate)] for fate in search.fate[nodes]],
                "log p": search.logprob[nodes],
                "Total": search.cumulative[nodes],
                "Score": search.score[nodes],
                "Text": [trace.text(int(node)) for node in nodes],
            }
        ),
        key="atlas.search.candidates",
        width="stretch",
        hide_index=True,
        height=320,
        column_config={name: _NUMBER(format="%.3f") for name in ("log p", "Total", "Score")},
    )
