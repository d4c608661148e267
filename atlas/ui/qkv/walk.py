"""The walk through one head: a picture a step, its formula with shapes, and how far it is from the model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from atlas.analysis.attention_steps import STEPS, Check, Step
from atlas.figures import qkv as figures
from atlas.figures import qkv_join, qkv_scores
from atlas.figures.strips import strips
from atlas.ui.chart import chart
from atlas.ui.components.stepper import stepper
from atlas.ui.markup import show_facts, show_sentence
from atlas.ui.page import Page
from atlas.ui.qkv.scene import Scene, key_control
from atlas.ui.theme import is_dark

LABELS: dict[Step, str] = {
    "vector": "Vectors",
    "project": "Projections",
    "dot": "Dot products",
    "scale": "Divide by √d_k",
    "mask": "Mask",
    "softmax": "Softmax",
    "mix": "Weighted sum",
    "join": "Join",
}


@dataclass(frozen=True)
class Told:
    """What stands beside a picture: a formula (LaTeX) and lines of plain text."""

    formula: str
    lines: tuple[str, ...]


def walk(page: Page, scene: Scene) -> None:
    """The stepper and the step at which it stands."""

    def go_to(step: int) -> None:
        page.state["stage"] = step + 1

    step = STEPS[page.state["stage"] - 1]
    stepper(list(LABELS.values()), step=page.state["stage"] - 1, on_step=go_to, key="qkv.stepper")
    left, right = st.columns([2.5, 1], gap="medium")
    with left:
        told = _PICTURES[step](page, scene)
    with right:
        st.latex(told.formula)
        for line in told.lines:
            show_sentence(line)
        difference(scene.steps.checks[step])


def difference(check: Check) -> None:
    """In small print: how far the step is from what the model did."""
    show_facts(
        [
            f"Computed again in double precision: largest difference from the model {check.largest:.1e}",
            f"{check.numbers:,} numbers up to {check.scale:.1f}",
        ]
    )


def all_checks(scene: Scene) -> None:
    """The largest difference of every step, folded."""
    with st.expander("Every step, checked against the model"):
        rows = [
            f"| {place + 1} | {LABELS[step]} | {check.numbers:,} | {check.scale:.2f} | {check.largest:.1e} |"
            for place, step in enumerate(STEPS)
            for check in [scene.steps.checks[step]]
        ]
        head = "| | Step | Numbers compared | Largest number | Largest difference |\n|--:|:--|--:|--:|--:|\n"
        st.markdown(head + "\n".join(rows))
        st.caption(
            "All heads and words of this sub-layer. The projections start from the recorded input, all later "
            "steps from the recorded q, k and v, in float64; the model works in float32."
        )


def _vector(page: Page, scene: Scene) -> Told:
    steps, dark = scene.steps, is_dark()
    width = steps.read.shape[1]
    title = f"x of “{scene.word}”: what queries are made of"
    rows = [qkv_join.Row(steps.read[scene.query], title, "query")]
    if steps.pre:
        before = qkv_join.Row(steps.stream[scene.query], f"the residual stream at “{scene.word}”")
        rows = [before, rows[0]._replace(title=f"{title} (normalised)")]
    chart(
        qkv_join.vector_rows(rows, "dimension of the stream", dark=dark),
        "qkv.vector",
        f"The {width} numbers that stand for {scene.word} as the sub-layer reads them",
    )
    chart(
        strips(steps.source, scene.keys, dark=dark),
        "qkv.source",
        f"The {width} numbers of every word that can be looked at: {', '.join(scene.keys)}",
    )
    cross = scene.kind == "cross"
    lines = [
        f"Queries: {steps.read.shape[0]} words of {width} numbers.",
        f"Keys and values: {steps.source.shape[0]} words of {width} numbers, "
        + ("the encoder's output." if cross else "the same words."),
        "This model normalises first (pre-norm)."
        if steps.pre
        else "This model normalises after adding (post-norm): the stream is read as it is.",
    ]
    read = r"\mathrm{LayerNorm}(r)" if steps.pre else "r"
    return Told(rf"x={read}\in\mathbb{{R}}^{{{width}}}", tuple(lines))


def _project(page: Page, scene: Scene) -> Told:
    steps, head = scene.steps, scene.head
    figure = figures.projections(
        steps.q[head, scene.query], steps.k[head], steps.v[head], scene.keys, scene.word, dark=is_dark()
    )
    chart(
        figure, "qkv.project", f"The query of {scene.word}, and the key and value of {', '.join(scene.keys)}"
    )
    width, narrow = steps.read.shape[1], steps.head_width
    source = "m" if scene.kind == "cross" else "x"
    formula = (
        r"\begin{aligned}q&=x\,W^Q+b^Q\\"
        rf"k_j&={source}_j\,W^K+b^K\\v_j&={source}_j\,W^V+b^V\end{{aligned}}"
    )
    return Told(
        formula,
        (
            f"(1 × {width}) (the {width} × {narrow} of this head) = 1 × {narrow}.",
            "q asks, k answers, v is what is handed over."
            + (" m is the encoder's output: k and v belong to the source." if scene.kind == "cross" else ""),
        ),
    )


def _dot(page: Page, scene: Scene) -> Told:
    steps, head, query = scene.steps, scene.head, scene.query
    key = key_control(page, scene)
    parts = steps.q[head, query].astype(np.float64) * steps.k[head]
    figure = figures.products(parts, steps.dots[head, query], scene.keys, chosen=key, dark=is_dark())
    chart(figure, "qkv.dot", f"q times k, dimension by dimension, for each key of {scene.word}, and the sums")
    one = steps.products(head, query, key)
    chart(
        figures.dimension_bars(one, f"{scene.word} · {scene.keys[key]}", dark=is_dark()),
        "qkv.dimensions",
        f"The {steps.head_width} products that make the score of {scene.word} and {scene.keys[key]}",
    )
    order = np.argsort(-np.abs(one))[:3]
    share = ", ".join(f"{place} ({one[place]:+.2f})" for place in order)
    return Told(
        rf"q\cdot k_j=\sum_{{i=0}}^{{{steps.head_width - 1}}}q_i\,k_{{j,i}}",
        (
            f"(1 × {steps.head_width}) ({steps.head_width} × {len(scene.keys)}) = 1 × {len(scene.keys)}: "
            "a number for each key.",
            f"“{scene.word}” · “{scene.keys[key]}” = {steps.dots[head, query, key]:.3f}; "
            f"its largest parts: dimensions {share}.",
        ),
    )


def _scale(page: Page, scene: Scene) -> Told:
    steps, head, query = scene.steps, scene.head, scene.query
    dots, scaled = steps.dots[head, query], steps.scaled[head, query]
    chart(
        qkv_scores.scaling_bars(dots, scaled, scene.keys, dark=is_dark()),
        "qkv.scale",
        f"Scores of {scene.word} before and after the division by the root of {steps.head_width}",
    )
    root = math.sqrt(steps.head_width)
    return Told(
        rf"s_j=\frac{{q\cdot k_j}}{{\sqrt{{d_k}}}}=\frac{{q\cdot k_j}}{{\sqrt{{{steps.head_width}}}}}"
        rf"=\frac{{q\cdot k_j}}{{{root:.3f}}}",
        (
            f"Variance over the {len(dots)} keys: {dots.var():.1f} before, {scaled.var():.2f} after.",
            "Why this number, and what another one does: the laboratory below.",
        ),
    )


def _mask(page: Page, scene: Scene) -> Told:
    steps = scene.steps
    hidden = int((~steps.visible).sum())
    chart(
        qkv_scores.mask_matrix(
            steps.masked[scene.head], scene.queries, scene.keys, scene.query, dark=is_dark()
        ),
        "qkv.mask",
        f"All scores of the head, {len(scene.queries)} queries by {len(scene.keys)} keys, {hidden} hidden",
    )
    if not hidden:
        nothing = r"M_{ij}=0\quad\text{for all } i,j"
        why = (
            "Nothing is hidden: the whole source may be looked at."
            if scene.kind != "decoder"
            else "Nothing is hidden: this model was trained without a causal mask, or there is one token."
        )
        return Told(nothing, (why, "In a batch the mask also hides the padding of shorter sentences."))
    return Told(
        r"\begin{aligned}\tilde s_{ij}&=s_{ij}+M_{ij}\\"
        r"M_{ij}&=\begin{cases}0&j\le i\\-\infty&j>i\end{cases}\end{aligned}",
        (
            f"{hidden} of {steps.visible.size} scores are −∞: a token must not see what comes after it.",
            "All rows are computed at once, as in training; the search reads one row after the other.",
        ),
    )


def _softmax(page: Page, scene: Scene) -> Told:
    steps, head, query = scene.steps, scene.head, scene.query
    weights = steps.weights[head, query]
    chart(
        qkv_scores.softmax_bars(steps.masked[head, query], weights, scene.keys, dark=is_dark()),
        "qkv.softmax",
        f"Scores of {scene.word} and the weights that the softmax makes of them",
    )
    key = scene.likeliest
    return Told(
        r"p_j=\frac{e^{s_j}}{\sum_{n} e^{s_n}}",
        (
            f"“{scene.word}” looks at “{scene.keys[key]}” most: {weights[key]:.3f} of its weight.",
            f"The weights sum to {weights.sum():.6f}. A score of −∞ gives e^−∞ = 0 exactly.",
        ),
    )


def _mix(page: Page, scene: Scene) -> Told:
    steps, head, query = scene.steps, scene.head, scene.query
    chart(
        qkv_scores.mixing(
            steps.weights[head, query], steps.contributions(head, query), scene.keys, dark=is_dark()
        ),
        "qkv.mix",
        f"The values of all words times their weights, and their sum, for {scene.word}",
    )
    return Told(
        r"o=\sum_j p_j\,v_j",
        (
            f"(1 × {len(scene.keys)}) ({len(scene.keys)} × {steps.head_width}) = 1 × {steps.head_width}.",
            "Rows of small weight fade: what is left is what the head hands on.",
        ),
    )


def _join(page: Page, scene: Scene) -> Told:
    steps, query = scene.steps, scene.query
    change, before = steps.change[query], steps.stream[query].astype(np.float64)
    width = len(change)
    after_title = "the residual stream after" if steps.pre else "their sum, which is then normalised"
    rows = [
        qkv_join.Row(change, f"times W^O ({width} × {width}): what the sub-layer adds at “{scene.word}”"),
        qkv_join.Row(before, "the residual stream before"),
        qkv_join.Row(before + change, after_title),
    ]
    chart(
        qkv_join.joined(steps.concat[query], scene.head, steps.heads, rows, dark=is_dark()),
        "qkv.join",
        f"The outputs of {steps.heads} heads side by side, through the output matrix, onto the stream",
    )
    norms = np.linalg.norm(steps.parts(query), axis=1)
    chart(
        qkv_join.head_parts(norms, scene.head, dark=is_dark()),
        "qkv.parts",
        "The length of what each head adds",
    )
    page.link("architecture", "Many heads cost what one does", icon=":material/balance:")
    after = r"r'&=r+y" if steps.pre else r"r'&=\mathrm{LayerNorm}(r+y)"
    lengths = np.linalg.norm(change), np.linalg.norm(before)
    return Told(
        rf"\begin{{aligned}}y&=[\,o_1;\dots;o_{{{steps.heads}}}\,]\,W^O+b^O\\{after}\end{{aligned}}",
        (
            f"The change is {lengths[0]:.2f} long, the stream before it {lengths[1]:.2f}.",
            "Each head writes through its own rows of W^O, so the change is a sum of one part a head.",
        ),
    )


_PICTURES: dict[Step, Callable[[Page, Scene], Told]] = {
    "vector": _vector,
    "project": _project,
    "dot": _dot,
    "scale": _scale,
    "mask": _mask,
    "softmax": _softmax,
    "mix": _mix,
    "join": _join,
}
