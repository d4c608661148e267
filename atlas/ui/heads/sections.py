"""The pictures, the table, the chosen head and the search of the Heads page."""

from __future__ import annotations

import math

import numpy as np
import streamlit as st

from atlas.analysis.heads.names import RULES
from atlas.errors import AtlasError
from atlas.figures.head_table import head_table
from atlas.figures.heads_map import clickable, heads_map
from atlas.text.corpora import Pair
from atlas.ui.chart import chart
from atlas.ui.heads.measured import ALIGNMENT_DEFINITIONS, EVERY, Floats, Measured
from atlas.ui.heads.sentences import Sentences
from atlas.ui.markup import show_facts, show_sentence
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

MOST_FOUND = 12
_CLICKS = "atlas.heads.clicks"


def _number(metric: str, value: float) -> str:
    """A value with its unit."""
    if math.isnan(value):
        return "not defined"
    unit = EVERY[metric].unit
    return f"{value:.1%}" if unit == "share" else f"{value:.3f} {unit}".replace("-", "−")


def _told(metric: str, values: Floats, low: Floats | None, high: Floats | None, at: tuple[int, int]) -> str:
    """The value of a head with its unit, and its interval where there is one."""
    words = _number(metric, float(values[at]))
    if low is not None and high is not None:
        words += f", 95% interval {low[at]:.3f} to {high[at]:.3f}".replace("-", "−")
    return words


def _extent(shown: Floats) -> tuple[bool, float]:
    """Whether there are values below zero, and the largest size of any; 1 where there is none."""
    known = shown[np.isfinite(shown)]
    return bool((known < 0).any()), float(np.abs(known).max(initial=0.0)) or 1.0


def _choose(page: Page, key: str, heads: int) -> None:
    """The head whose point was clicked is chosen."""
    points = st.session_state[key].selection.points
    if points:
        layer, head = divmod(int(points[0]["point_index"]), heads)
        page.state["layer"], page.state["head"] = layer + 1, str(head + 1)
    # A new key lets the same point be clicked again.
    st.session_state[_CLICKS] += 1


def pictures(page: Page, found: Measured) -> None:
    """Any metric of all heads as a table of cells, and the heads placed by likeness."""
    state, dark = page.state, is_dark()
    kind, metric = state["kind"], state["metric"]
    values, low, high = found.with_interval(kind, metric)
    control = found.control(kind, metric)
    minus = state["minus"] and control is not None
    shown = values - control if minus and control is not None else values
    signed, largest = _extent(shown)
    layers, heads = values.shape
    names = [f"{layer + 1}.{head + 1}" for layer, head in np.ndindex(layers, heads)]
    does = [found.heads.name(kind, layer, head) for layer, head in np.ndindex(layers, heads)]
    clicks = st.session_state.setdefault(_CLICKS, 0)
    chosen = (state["layer"] - 1, int(state["head"]) - 1)
    left, right = st.columns([0.5, 0.5], gap="medium")
    definition = EVERY[metric]
    with left:
        st.subheader(definition.title + (" minus random weights" if minus else ""), anchor=False)
        st.caption(f"{definition.text} ({definition.unit}). {definition.source}.")
        figure = head_table(
            shown,
            chosen=chosen,
            signed=signed,
            largest=largest,
            colour=kind,
            dark=dark,
        )
        tips = [
            [
                f"{layer + 1}.{head + 1}: {_told(metric, shown, None if minus else low, high, (layer, head))}"
                for head in range(heads)
            ]
            for layer in range(layers)
        ]
        chart(
            clickable(figure, tips),
            cell := f"heads.map.{clicks}",
            f"{definition.title} of every {kind} head, layers down and heads across",
            on_select=lambda: _choose(page, cell, heads),
            selection_mode="points",
        )
        if gap := found.gap(kind, metric):
            st.caption(gap)
        if metric in ALIGNMENT_DEFINITIONS and found.alignments is not None:
            aligned = found.alignments
            st.caption(
                f"Silver, not by hand: {aligned.aligner}, which read {aligned.training:,} pairs of training. "
                f"Linking by place alone errs in {aligned.diagonal:.3f}."
            )
    with right:
        st.subheader("Look-alikes stand together", anchor=False)
        st.caption(
            "Placed by Jensen-Shannon divergence (Clark et al. 2019), coloured as in the table; click one."
        )
        chart(
            heads_map(
                found.heads.places(kind),
                names,
                does,
                shown.ravel(),
                title=definition.title,
                signed=signed,
                largest=largest,
                chosen=chosen[0] * heads + chosen[1],
                dark=dark,
            ),
            place := f"heads.places.{clicks}",
            f"{kind} heads on a plane, those that look at the same words near each other",
            on_select=lambda: _choose(page, place, heads),
            selection_mode="points",
        )


def table(page: Page, found: Measured) -> None:
    """All numbers of all heads; a click on a column's name sorts by it."""
    import pandas as pd

    st.subheader("Every number, to be sorted", anchor=False)
    st.caption(
        "Click a column's name to sort by it. 'does' is the name whose threshold the head passes furthest."
    )
    frame = pd.DataFrame(found.rows(page.state["kind"]))
    st.dataframe(frame.round(3), hide_index=True, width="stretch", height=280, key="heads.table")


def chosen_head(page: Page, found: Measured, sentences: Sentences) -> None:
    """The numbers of one head beside random weights, and the sentences that are most typical of it."""
    state = page.state
    kind, layer, head = state["kind"], state["layer"] - 1, int(state["head"]) - 1
    rule = found.heads.rule(kind, layer, head)
    st.subheader(f"{kind.capitalize()} {layer + 1}.{head + 1}", anchor=False)
    facts = ["no name: no threshold is reached"]
    if rule:
        own, random = (
            _number(rule.metric, float(values(kind, rule.metric)[layer, head]))
            for values in (found.heads.values, found.heads.control)
        )
        title = EVERY[rule.metric].title.lower()
        facts = [f"{rule.name}: {title} is {own}, at least {rule.least:.0%}; with random weights {random}"]
    value, low, high = found.with_interval(kind, state["metric"])
    words = f"{EVERY[state['metric']].title}: {_told(state['metric'], value, low, high, (layer, head))}"
    control = found.control(kind, state["metric"])
    if control is not None:
        words += f"; with random weights {_number(state['metric'], float(control[layer, head]))}"
    show_facts([*facts, words])
    st.markdown("**Most typical sentences**")
    typical = sentences.typical(found.heads, kind, layer, head)
    if not typical:
        st.caption("No sentence is long enough.")
    for number in typical:
        _sentence(page, sentences.sample.pairs[number], f"heads.typical.{number}")


def _sentence(page: Page, pair: Pair, key: str, note: str = "") -> None:
    state, (source, target) = page.state, (pair.source, pair.target)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        opened = st.button("Open", key=key, help="This sentence and its reference in the Attention page")
        show_sentence(f"{note}{source} → {target}")
    if opened:
        page.go(
            "attention",
            text=source,
            target=target,
            kind=state["kind"],
            layer=state["layer"],
            head=state["head"],
            rows="input",
            hyp=1,
            node="",
        )


def search(page: Page, sentences: Sentences) -> None:
    """Sentences in which the chosen head looks from one word to another."""
    state = page.state
    st.subheader("Search the sentences", anchor=False)
    st.caption(
        "Where does this head look from one word to another? Words, or [pronouns], [words], [punctuation], "
        "[control]; empty is anything. Rows are tokens that are read."
    )
    columns = st.columns(4)
    columns[0].text_input("From", **state.widget("from"))
    columns[1].text_input("To", **state.widget("to"))
    columns[2].number_input("Distance, at least", 0, 60, **state.widget("far"))
    columns[3].number_input("Weight, at least", 0.0, 1.0, step=0.1, **state.widget("weight"))
    try:
        matches = sentences.links.search(
            state["kind"],
            state["layer"] - 1,
            int(state["head"]) - 1,
            query=state["from"],
            key=state["to"],
            least_distance=state["far"],
            least_weight=state["weight"],
            limit=200,
        )
    except AtlasError as error:
        page.complain(error)
        return
    shown = matches[:MOST_FOUND]
    more = "200 or more" if len(matches) == 200 else str(len(matches))
    st.caption(
        f"{more} found" + (f"; the {len(shown)} with the largest weight" if len(matches) > len(shown) else "")
    )
    for place, match in enumerate(shown):
        note = f"{match.query_word} → {match.key_word} ({match.weight:.2f}) · "
        _sentence(page, sentences.sample.pairs[match.sentence], f"heads.found.{place}", note)


def maths() -> None:
    """Definitions and thresholds."""
    with st.expander("The maths"):
        for metric in EVERY.values():
            st.markdown(f"**{metric.title}** ({metric.unit}): {metric.text}. *{metric.source}*")
        st.markdown(
            "**Names** (a head gets that of the threshold it passes furthest): "
            + "; ".join(f"{rule.name}: {EVERY[rule.metric].title.lower()} ≥ {rule.least:g}" for rule in RULES)
        )
        st.markdown(
            "Weights are those before dropout, padding left out; control tokens are never a query. In "
            "cross-attention a query's own place is the diagonal: step $t$ of $T$ stands at "
            "$t(S-1)/(T-1)$. Jensen-Shannon divergence of two heads at a query: "
            r"$H\!\left(\frac{p+q}{2}\right)-\frac{H(p)+H(q)}{2}$, averaged over queries; the plane is found "
            "by classical multidimensional scaling (Torgerson 1952). Intervals: 1,000 draws of sentences "
            "with replacement, paired."
        )
