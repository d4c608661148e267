"""Entropy, cross-entropy and divergence as code lengths, on distributions that the reader bends."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import streamlit as st

from atlas.analysis import information
from atlas.analysis.passes import forced_pass
from atlas.figures import training_codes as figures
from atlas.figures.style import COLOURS, SERIES
from atlas.figures.training import Bars, token_bars
from atlas.text.tokenizer import Tokenizer
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.state import ViewState
from atlas.ui.theme import is_dark
from atlas.ui.training.choice import FULL, OUTCOMES, P, setter, slot
from atlas.ui.training.shared import best_translation, labels_of

NAMES: Final = ("A", "B", "C", "D", "E")
UNIFORM: Final = (20,) * OUTCOMES
BASES: Final = {"bits": 2.0, "nats": math.e}

MATHS: Final = r"""
**Code length.** The best code for a distribution $q$ spends $-\log q_k$ on outcome $k$ (Shannon 1948,
section 9): with base 2 in bits, with base $e$ in nats. When $p$ is what really comes, a message costs on
average

$$
H(p,q)=-\sum_k p_k\log q_k\;=\;\underbrace{-\sum_k p_k\log p_k}_{H(p)}\;+\;
\underbrace{\sum_k p_k\log\frac{p_k}{q_k}}_{D(p\,\|\,q)\,\ge\,0}
$$

**Training** only moves $q$: it lowers $D$, and cannot go below $H(p)$. With one right token, $p$ is 1
there and 0 elsewhere, $H(p)=0$, and the cross-entropy is $-\log q_{right}$, the loss of one token.

**Perplexity** $2^{H\,\text{in bits}}=e^{H\,\text{in nats}}$: as many equally likely choices would need a code
of that length.

**Whole bits.** A real code word has whole bits: $\lceil-\log_2 q_k\rceil$ (Shannon), or Huffman's words
(1952), the shortest possible, with a mean length from $H(q)$ to below $H(q)+1$.
"""


def show(page: Page) -> None:
    """The whole part."""
    state = page.state
    left, right = st.columns([0.36, 0.64], gap="large")
    with left:
        _sliders(state)
    empty = [name for name in ("p", "q") if not any(state[name])]
    if empty:
        with right:
            page.complain(f"Every slider of {empty[0]} is at 0: raise one, so that something can come.")
    else:
        with right:
            _two_distributions(state)
            _numbers(state)
        _words(state)
    with st.expander("The maths"):
        st.markdown(MATHS)
    _live(page)


def _sliders(state: ViewState) -> None:
    st.segmented_control("Unit", ["bits", "nats"], required=True, **state.widget("measure"))
    columns = st.columns(2)
    for column, name, words in zip(columns, ("p", "q"), ("what comes", "the model"), strict=True):
        with column:
            st.markdown(f"**{name}**: {words}")
            for place, outcome in enumerate(NAMES):
                st.slider(f"{name}({outcome})", 0, FULL, **slot(state, name, place))
    with st.container(horizontal=True, gap="small"):
        st.button(
            "q := p", help="A model that has learned p.", on_click=setter(state, q=state["p"]), key="q=p"
        )
        st.button(
            "uniform q", help="A model that knows nothing.", on_click=setter(state, q=UNIFORM), key="q=u"
        )
        one = (FULL, *(0,) * (OUTCOMES - 1))
        st.button(
            "p: only A", help="One right answer, as in training.", on_click=setter(state, p=one), key="p=1"
        )
        st.button("reset p", help="The p of a first visit.", on_click=setter(state, p=P.default), key="p=0")


def _two_distributions(state: ViewState) -> None:
    dark, base = is_dark(), BASES[state["measure"]]
    p, q = information.normalise(state["p"]), information.normalise(state["q"])
    first, second = st.columns(2)
    with first:
        st.subheader("Two distributions", anchor=False)
        chart(
            figures.distributions(NAMES, p, q, dark=dark),
            "training.distributions",
            "Bars of p and q, side by side",
        )
    with second:
        st.subheader("Area is cost", anchor=False)
        figure = figures.code_areas(
            NAMES,
            p,
            information.surprise(p, base),
            information.surprise(q, base),
            unit=state["measure"],
            dark=dark,
        )
        chart(
            figure,
            "training.areas",
            "Blocks as wide as p and as high as code words: filled H(p), outlined H(p, q)",
        )


def _numbers(state: ViewState) -> None:
    unit = state["measure"]
    p, q = information.normalise(state["p"]), information.normalise(state["q"])
    values = {
        name: (
            information.entropy(p, base).item(),
            information.cross_entropy(p, q, base),
            information.divergence(p, q, base),
        )
        for name, base in BASES.items()
    }
    other = "nats" if unit == "bits" else "bits"
    titles = ("Entropy H(p)", "Cross-entropy H(p, q)", "Divergence D(p‖q)")
    helps = ("The least that any code costs.", "What a code made for q costs.", "What the wrong code wastes.")
    columns = [*st.columns(2), *st.columns(2)]
    shown = zip(columns[:3], titles, helps, values[unit], values[other], strict=True)
    for column, title, words, here, there in shown:
        with column:
            st.metric(title, f"{_number(here)} {unit}", help=words)
            show_facts([f"{_number(there)} {other}"])
    with columns[3]:
        spent, least = values["bits"][1], values["bits"][0]
        st.metric(
            "Perplexity",
            f"{_number(information.perplexity(spent))} choices",
            help="So many equally likely choices would cost as much.",
        )
        show_facts([f"at best {_number(information.perplexity(least))}"])
    least, spent, wasted = values[unit]
    if math.isfinite(spent):
        gap = abs(spent - (least + wasted))
        show_facts(
            [
                f"H(p) + D(p‖q) = {least:.4f} + {wasted:.4f} = {least + wasted:.4f} {unit}",
                f"H(p, q) computed by itself = {spent:.4f} {unit}",
                f"difference {gap:.0e}" if gap else "difference 0",
            ]
        )
    else:
        show_facts(["q says 0 to something that comes: no code word is long enough, the cost is infinite"])


def _words(state: ViewState) -> None:
    """Real code words for q, and what they cost when p comes."""
    p, q = information.normalise(state["p"]), information.normalise(state["q"])
    ideal, whole = information.surprise(q), information.shannon_lengths(q)
    huffman, best = information.huffman_code(q), information.huffman_code(p)
    st.subheader("Real code words, in whole bits", anchor=False)
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        st.table(
            {
                "outcome": list(NAMES),
                "comes, p": [f"{value:.3f}" for value in p],
                "−log₂ q": [_number(value) for value in ideal],
                "Shannon ⌈−log₂ q⌉": [f"{value:.0f}" if math.isfinite(value) else "∞" for value in whole],
                "Huffman word for q": list(huffman),
                "Huffman word for p": list(best),
            },
            border="horizontal",
            hide_index=True,
        )
    with right:
        spent = float((p * [len(word) for word in huffman]).sum())
        least = float((p * [len(word) for word in best]).sum())
        entropy = information.entropy(p).item()
        st.metric("Huffman's words for q, when p comes", f"{spent:.3f} bits")
        st.metric("Huffman's words for p, when p comes", f"{least:.3f} bits")
        show_facts([f"words for p: from H(p) = {entropy:.3f} to below H(p) + 1 = {entropy + 1:.3f} bits"])


def _live(page: Page) -> None:
    """The same numbers for every next token of the live model."""
    unit = page.state["measure"]
    scale = 1 / math.log(BASES[unit])
    st.subheader("The model at work: how open is each next token?", anchor=False)
    _, ids = best_translation(page)
    tokenizer = page.model.tokenizer
    source = tokenizer.source(page.sentence)
    found = page.study(
        "training.uncertainty",
        page.sentence,
        ids,
        find=lambda engine: information.uncertainty(
            forced_pass(engine.model, source, ids[:-1], wanted=()).logits, ids
        ),
    )
    notes = [
        "likeliest: " + ", ".join(_chance(tokenizer, *pair) for pair in zip(*row, strict=True))
        for row in zip(found.likeliest.tolist(), found.probabilities.tolist(), strict=True)
    ]
    figure = token_bars(
        labels_of(tokenizer, ids),
        [
            Bars("entropy before the token", found.entropy * scale, COLOURS["encoder"], notes),
            Bars("surprise of the token that came", found.surprise * scale, SERIES[1]),
        ],
        unit=unit,
        title=unit,
        dark=is_dark(),
    )
    chart(
        figure,
        "training.uncertainty",
        "Entropy of the model's next-token distribution at every step of its translation",
    )
    mean, loss = float(np.mean(found.entropy)), float(np.mean(found.surprise))
    show_facts(
        [
            f"mean entropy {mean * scale:.3f} {unit}: {math.exp(mean):.2f} equally likely choices a token",
            f"mean surprise {loss * scale:.3f} {unit}: perplexity {math.exp(loss):.2f}",
            f"knowing nothing: {math.log(len(tokenizer)) * scale:.2f} {unit}, {len(tokenizer):,} choices",
        ]
    )


def _chance(tokenizer: Tokenizer, token: int, probability: float) -> str:
    return f"{labels_of(tokenizer, [token])[0]} {probability:.2f}"


def _number(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "∞"
