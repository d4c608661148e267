"""Is attention an explanation? Seven readings of one token side by side, and how far they agree."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import streamlit as st

from atlas.analysis.explanation_agreement import Agreement, agreements
from atlas.analysis.explanations import (
    METHODS,
    Explanation,
    average_shares,
    explain,
    middle_layer,
)
from atlas.analysis.rank_correlation import spearman_matrix
from atlas.figures import what_if_explanations as figures
from atlas.trace.words import word_groups
from atlas.ui.attention.choice import show_new_notices
from atlas.ui.chart import chart
from atlas.ui.markup import notice, show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark
from atlas.ui.what_if.outcome import signed
from atlas.ui.what_if.subject import Subject, subject_of

SHORT: Final[dict[str, str]] = {
    "attention": "attention L−1",
    "attention_all": "attention all",
    "norms": "norms L−1",
    "norms_all": "norms all",
    "rollout": "rollout",
    "gradient": "gradient",
    "left_out": "left out",
}
"""Short names of the readings, for the axes of the matrix."""
FEWEST: Final = 3
"""Words that a rank correlation is shown from."""
MATHS = r"""
All read one forced pass over the best translation $y$ of $x$; $T$ target tokens, $S$ source tokens. Numbers
of the pieces of a word are added up, then each row is divided by the sum of its absolute values.

**Attention** $\;\bar a_{t,j}=\tfrac1H\sum_h a^{h}_{t,j}$, cross-attention at the step that predicts $y_t$: of
the last but one decoder layer (where alignments are clearest, Garg et al. 2019), or the mean of all layers.

**Attention × value norms** $\;\lVert\sum_h a^{h}_{t,j}\,f_h(x_j)\rVert,\; f_h(x)=(x W^V_h+b^V_h)\,W^O_h$:
what the layer is given by each token, not only how much it looked there (Kobayashi et al. 2020).

**Rollout** $\;C\,R_L,\quad R_l=(\tfrac12 I+\tfrac12 A_l)\,R_{l-1},\ R_0=I$, with $A_l$ the encoder's
self-attention (mean over heads), one half for the residual connection (Abnar and Zuidema 2020), and $C$ the
cross-attention, mean over layers and heads. The decoder's self-attention is not followed.

**Gradient × input** $\;\sum_d x_{j,d}\;\partial\log p(y_t)/\partial x_{j,d}$ at the encoder's input
(embedding $\sqrt D$ plus position): signed.

**Leaving the word out** $\;\log p(y_t\mid y_{<t},x)-\log p(y_t\mid y_{<t},x_{\setminus w})$ in nats, its
pieces removed and nothing put in their place (Li et al. 2016): signed, and the only reading that runs the
model without the word.

**Rank correlation** Spearman's $\rho$ over the words by absolute share, ties with their mean rank; the end
mark is left out of ranks and tops, because what is laid on it is laid on no word. Compare Jain and Wallace
(2019) with Wiegreffe and Pinter (2019).
"""


def explanation(page: Page) -> None:
    """The token, seven readings of it, their correlations, and the same over all tokens."""
    subject = subject_of(page)
    token = chosen_token(page, subject)
    groups = word_groups(subject.trace.source_tokens, subject.trace.source)
    words = tuple(group.members for group in groups)
    labels = [group.label for group in groups]
    real = [place for place, group in enumerate(groups) if not group.special]
    with st.spinner("Asking the model about every word…"):
        found: Explanation = page.study(
            "what_if.explain",
            subject.source,
            subject.target,
            words,
            find=lambda engine: explain(engine.model, subject.source, subject.target, words),
        )
    names = list(METHODS.values())
    now = found.shares[:, token]
    tops = [real[int(np.abs(row[real]).argmax())] for row in now] if real else []
    chart(
        figures.readings(now, labels, names, tops=tops, dark=is_dark()),
        "what_if.readings",
        f"Share of each source word in token {token + 1} of the translation, by seven readings",
    )
    facts = ["blue: for the token, orange: against it", "framed: the top word"]
    if tops:
        lost = signed(-found.scores[-1, token, tops[-1]])
        facts.append(f"leaving out “{labels[tops[-1]]}” changes log p by {lost} nats")
    show_facts([*facts, f"log p of the token {signed(found.logprobs[token])}"])
    layer = middle_layer(page.model.config.decoder_layers) + 1
    if len(real) < FEWEST:
        notice(f"Ranks need at least {FEWEST} words; this sentence has {len(real)}.")
    else:
        shares = found.shares[:, :, real]
        agreed = agreements(shares, token)
        against = bool(now[list(METHODS).index("gradient"), tops[-2]] < 0)
        st.subheader("Do they agree?", anchor=False)
        said = verdict(tops, labels, agreed, against=against)
        st.html(f'<div class="atlas-verdict" style="overflow-wrap:anywhere">{html.escape(said)}</div>')
        comparison(page, subject, shares, token, agreed)
    over_all_tokens(found, labels, names)
    st.caption(f"The last but one decoder layer of this model is layer {layer}.")
    with st.expander("The maths"):
        st.markdown(MATHS)


def chosen_token(page: Page, subject: Subject) -> int:
    """The target token to be explained, counted from 0."""
    state, count = page.state, len(subject.target)
    known = list(state.notices)
    state.restrict("word", lambda place: place <= count, 1, f"a token from 1 to {count}")
    show_new_notices(state, known)
    st.pills(
        "Token of the translation to explain",
        range(count),
        # Numbered, because two options that read the same are one to Streamlit.
        format_func=lambda place: f"{place + 1} {_literal(subject.labels[place])}",
        required=True,
        **state.widget("word", to_widget=lambda place: place - 1, from_widget=lambda place: place + 1),
    )
    return int(state["word"]) - 1


def _literal(label: str) -> str:
    """A label of a pill, which is Markdown: every sign of it escaped."""
    return "".join(sign if sign.isalnum() or sign.isspace() else f"\\{sign}" for sign in label)


def verdict(tops: Sequence[int], labels: Sequence[str], agreed: Sequence[Agreement], *, against: bool) -> str:
    """Plain sentences about where the readings part, made of their numbers.

    Args:
        tops: the place of the top word of each reading, in the order of the readings.
        labels: of all words.
        agreed: every reading but the last against leaving words out.
        against: whether the gradient counts its top word against the token.
    """
    truth, readings = tops[-1], list(zip(METHODS, tops[:-1], strict=False))
    others = [f"{METHODS[name]} (“{labels[top]}”)" for name, top in readings if top != truth]
    if others:
        same = len(readings) - len(others)
        said = (
            f"They disagree. Leaving words out puts “{labels[truth]}” first, and so do {same} of the other "
        )
        said += f"{len(readings)} readings; not {', '.join(others)}."
    else:
        said = f"All {len(tops)} readings put “{labels[truth]}” first."
    if against:
        said += " The gradient counts its top word against the token."
    known = [item for item in agreed if np.isfinite(item.now)]
    if known:
        best, worst = max(known, key=lambda item: item.now), min(known, key=lambda item: item.now)
        said += (
            f" Closest to leaving out in rank: {METHODS[best.method]} (ρ = {_rho(best.now)}); furthest: "
            f"{METHODS[worst.method]} (ρ = {_rho(worst.now)})."
        )
    return said


def comparison(
    page: Page, subject: Subject, shares: np.ndarray[Any, Any], token: int, agreed: tuple[Agreement, ...]
) -> None:
    """The matrix of rank correlations, and each reading against leaving out, now and over all tokens."""
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Rank correlations, this token", anchor=False)
        matrix = spearman_matrix(np.abs(shares[:, token]))
        chart(
            figures.correlations(matrix, list(SHORT.values()), dark=is_dark()),
            "what_if.correlations",
            "Spearman's rank correlation of each pair of readings over the words",
        )
    with right:
        st.subheader("Against leaving each word out", anchor=False)
        lines = [
            "| reading | ρ, this token | ρ, mean | same top word |",
            "|:--|--:|--:|--:|",
            *(
                f"| {METHODS[item.method]} | {_rho(item.now)} | {_rho(item.mean)} "
                f"| {item.same_top} of {item.tokens} |"
                for item in agreed
            ),
        ]
        st.markdown("\n".join(lines))
        st.caption(
            f"Spearman's ρ over {shares.shape[-1]} words, 1 the same order, 0 none; "
            f"the last two columns are over {agreed[0].tokens} tokens. Predicted here: "
            + _literal(subject.labels[token])
        )


def _rho(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}".replace("-", "−")


def over_all_tokens(found: Explanation, labels: list[str], names: list[str]) -> None:
    """The readings averaged over the tokens of the translation."""
    st.subheader("Averaged over the tokens of the translation", anchor=False)
    averaged = average_shares(found.shares)
    chart(
        figures.readings(averaged, labels, names, dark=is_dark()),
        "what_if.averaged",
        "Mean absolute share of each source word over all tokens, by seven readings",
    )
    st.caption(
        "Mean of absolute shares: how much each word counts for the whole translation, for or against."
    )
