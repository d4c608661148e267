"""The reader's own sentence pair: what each token of it costs, and what the model's own words cost it."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import streamlit as st

from atlas import limits
from atlas.analysis.exposure import Exposure, check_loss, expose
from atlas.decoding import OptionsError
from atlas.errors import AtlasError
from atlas.figures.style import COLOURS, SERIES
from atlas.figures.training import Bars, token_bars
from atlas.translation import EmptySentence, read_sentence
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts, show_sentence
from atlas.ui.page import Page
from atlas.ui.theme import is_dark
from atlas.ui.training.choice import setter
from atlas.ui.training.shared import best_translation, labels_of, without_end

MATHS: Final = r"""
**Loss of a pair** (nats): $-\sum_t \log P(y_t\mid y_{<t},x)$ over the T tokens of the translation, end
mark included; the training loss is its mean, perplexity $\exp$ of the mean. (Part 4 of LLM Atlas writes the
loss as the sum and perplexity as its exponential: of the sum, that is one over the probability of the whole.)

**Teacher forcing**: $y_{<t}$ is the given translation, whatever the model would have said. **On its own**:
the model reads $\hat y_{<t}$, its likeliest token at each step (never the end mark), and is asked for the
same $y_t$. The difference is what it costs to go on from one's own words, which training never showed:
exposure bias (Ranzato et al. 2016). It can overstate the harm: after one word more or less, good words stand
one place off and cost much.

**The mean**: `-log_softmax(logits)` at the right token, averaged. Part 4 of LLM Atlas averages over every
place, with no mask; batches of sentences of different length hold padding, which must not count.
"""


def show(page: Page) -> None:
    """The whole part."""
    state = page.state
    st.text_input(
        "Your translation of the sentence above",
        max_chars=limits.SENTENCE.value,
        placeholder="A translation of your own; empty: the model's best one",
        **state.widget("target"),
    )
    text, ids = _target(page)
    source = page.model.tokenizer.source(page.sentence)
    found = page.study(
        "training.exposure", page.sentence, ids, find=lambda engine: expose(engine.model, source, ids)
    )
    if not state["target"].strip():
        _hint(page, text)
    _numbers(found)
    _bars(page, found)
    _check(page, source, ids)
    with st.expander("The maths"):
        st.markdown(MATHS)


def _hint(page: Page, text: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        show_sentence(f"Measured on the model's own best translation: {text}")
        words = text.split()
        if len(words) > 2:
            swapped = " ".join([words[1], words[0], *words[2:]])
            st.button(
                "Swap its first two words",
                help="A translation that the model would not have written, as a start.",
                on_click=setter(page.state, target=swapped),
                key="training.swap",
            )


def _target(page: Page) -> tuple[str, tuple[int, ...]]:
    """The translation to measure: its text, and its ids without the end mark.

    Raises:
        AtlasError: the reader's own cannot be read by this model.
    """
    engine, typed = page.model, page.state["target"]
    best, ids = best_translation(page)
    if not typed.strip():
        return best, without_end(ids)
    text, own, problem = read_sentence(typed, engine.tokenizer, engine.config.max_length)
    if problem is not None and not isinstance(problem, EmptySentence):
        raise OptionsError(f"your translation cannot be read: {problem}")
    return text, without_end(own)


def _numbers(found: Exposure) -> None:
    left, right = st.columns(2)
    for column, name, costs in (
        (left, "Teacher forcing: it reads the translation", found.forced),
        (right, "On its own: it reads what it wrote itself", found.own),
    ):
        with column:
            mean = float(np.mean(costs))
            st.metric(name, f"perplexity {_short(math.exp(mean))}")
            show_facts(
                [
                    f"sum {float(np.sum(costs)):.3f} nats",
                    f"{len(costs)} tokens, end mark included",
                    f"mean {mean:.3f} nats a token",
                    f"probability of the whole = exp(−sum) = {math.exp(-float(np.sum(costs))):.2g}",
                ]
            )


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


def _bars(page: Page, found: Exposure) -> None:
    tokenizer = page.model.tokenizer
    names, written = labels_of(tokenizer, found.target), labels_of(tokenizer, found.written)
    expected = [labels_of(tokenizer, [token])[0] for token in found.expected]
    read_own = [
        "read: " + (" ".join(written[max(0, place - 4) : place]) or "nothing yet")
        for place in range(len(written))
    ]
    figure = token_bars(
        names,
        [
            Bars(
                "after the translation",
                found.forced,
                COLOURS["decoder"],
                [f"the model expected: {name}" for name in expected],
            ),
            Bars("after its own words", found.own, SERIES[1], read_own),
        ],
        unit="nats",
        title="cost of the token (nats)",
        dark=is_dark(),
    )
    chart(
        figure, "training.pair", "Cost of every token under teacher forcing and after the model's own words"
    )
    parted = found.parted
    if parted >= len(found.target) - 1:
        show_facts(["The model wrote the same words by itself, so both columns are equal."])
        return
    rest = slice(parted + 1, None)
    more = float(np.sum(found.own[rest]) - np.sum(found.forced[rest]))
    show_facts(
        [
            f"{parted} tokens the same; then the model wrote “{written[parted]}” for “{names[parted]}”",
            f"from there on its own words change the cost of yours by {more:+.2f} nats: exposure bias, or "
            "merely good words in another place",
        ]
    )


def _check(page: Page, source: list[int], ids: tuple[int, ...]) -> None:
    """The mean cross-entropy of the article's fragment against ours and PyTorch's, and what padding does."""
    state = page.state
    st.subheader("The same loss, three ways", anchor=False)
    most = min(40, page.model.config.max_length - len(ids) - 1)
    if most < 1:
        raise AtlasError("this translation fills every position of the model: there is no room for padding")
    padding = st.slider(
        "Padding behind the translation (tokens)",
        0,
        most,
        help="As in a batch with a longer sentence.",
        **state.widget("pads", to_widget=lambda value: min(value, most)),
    )
    check = page.study(
        "training.check",
        page.sentence,
        ids,
        padding,
        find=lambda engine: check_loss(engine.model, source, ids, padding),
    )
    left, middle, right = st.columns(3)
    with left:
        st.metric("Largest difference of the three", f"{check.difference:.1e} nats")
        show_facts(
            [
                f"ours {check.ours:.6f}",
                f"PyTorch {check.torch:.6f}",
                f"the article's mean {check.article:.6f}",
            ]
        )
    with middle:
        st.metric(f"Ours, with {padding} padded", f"{check.padded_ours:.4f} nats a token")
        if padding:
            show_facts([f"moved by {abs(check.padded_ours - check.ours):.1e}: padding does not count"])
    with right:
        st.metric(f"The article's mean, with {padding} padded", f"{check.padded_article:.4f} nats a place")
        if padding:
            show_facts([f"moved by {check.padded_article - check.article:+.4f}: it has no mask"])
