"""The laboratory of the divisor: random vectors, and the live model with another one."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import streamlit as st

from atlas.analysis.attention_steps import Kind
from atlas.analysis.passes import ForcedPass, forced_pass
from atlas.analysis.scaling import (
    KEYS,
    DivisorCurves,
    OwnVariance,
    RandomScores,
    Scope,
    divisor_curves,
    divisors,
    own_variance,
    random_scores,
    scale_edits,
    scope_scores,
)
from atlas.decoding import SearchOptions
from atlas.engine import Engine
from atlas.errors import AtlasError
from atlas.figures import qkv_lab as figures
from atlas.ui.chart import chart
from atlas.ui.differences import show_difference
from atlas.ui.markup import show_facts, show_sentence
from atlas.ui.page import Page
from atlas.ui.qkv.scene import SCOPES, Scene
from atlas.ui.results import BoundedCache, held_bytes
from atlas.ui.theme import is_dark

SCOPE_NAMES: Mapping[Scope, str] = {"head": "this head", "layer": "this layer", "all": "all attention"}
_DRAWS_KEPT = 2**20


@st.cache_resource(show_spinner=False)
def _draws() -> BoundedCache[RandomScores]:
    return BoundedCache(_DRAWS_KEPT, held_bytes)


def random_lab(page: Page) -> None:
    """Variance of q·k, entropy and Jacobian of its softmax against d_k, for vectors drawn now."""
    state, dark = page.state, is_dark()

    def again() -> None:
        state["draw"] = state["draw"] % 9999 + 1

    st.subheader("Laboratory: random vectors", anchor=False)
    st.caption("Components of q and k are independent with variance 1. Their q·k then has variance d_k.")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.slider(
            f"Random queries for each d_k, {KEYS} keys each",
            50,
            500,
            step=50,
            width=340,
            **state.widget("queries"),
        )
        st.button("Draw again", icon=":material/casino:", on_click=again, key="qkv.again")
    asked = state["queries"], state["draw"]
    drawn = _draws().get(asked, lambda: random_scores(*asked))
    left, right = st.columns([1, 1.5], gap="medium")
    with left:
        chart(
            figures.variance_lines(
                drawn.widths, drawn.variance, drawn.scaled_variance, drawn.error, dark=dark
            ),
            "qkv.variance",
            "Variance of q·k against d_k, plain and divided by the root of d_k",
        )
    with right:
        chart(
            figures.softmax_lines(
                drawn.widths,
                (drawn.entropy, drawn.scaled_entropy),
                (drawn.jacobian, drawn.scaled_jacobian),
                KEYS,
                dark=dark,
            ),
            "qkv.random",
            "Entropy of the weights and size of the softmax's Jacobian against d_k, plain and divided",
        )
    width, variance = int(drawn.widths[-1]), float(drawn.variance[-1])
    show_facts(
        [
            f"at d_k = {width:,}: variance {variance:,.0f} ± {2 * drawn.error[-1] * variance:,.0f}",
            f"divided {drawn.scaled_variance[-1]:.3f}",
            f"Jacobian {drawn.jacobian[-1]:.3f} against {drawn.scaled_jacobian[-1]:.3f}",
            "bars: 2 standard errors",
        ]
    )


def model_lab(page: Page, scene: Scene) -> None:
    """The live model's scores divided by another number: the weights, and the translation."""
    state, dark, steps = page.state, is_dark(), scene.steps
    root, choices = math.sqrt(steps.head_width), divisors(steps.head_width)
    st.subheader("Laboratory: another divisor in the live model", anchor=False)
    st.caption("Move the divisor away from √d_k and watch the weights, and what becomes of the translation.")

    def shown(wanted: float) -> float:
        return min(choices, key=lambda choice: abs(choice - (wanted or root)))

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        scope: Scope = st.segmented_control(
            "Divide otherwise in",
            list(SCOPES),
            format_func=lambda name: SCOPE_NAMES[name],
            required=True,
            **state.widget("scope"),
        )
        st.select_slider(
            f"Divisor of q·k (trained with √{steps.head_width} = {root:.2f})",
            choices,
            format_func=lambda value: f"{value:.2f}",
            width=420,
            **state.widget(
                "divisor", to_widget=shown, from_widget=lambda value: 0.0 if value == root else value
            ),
        )
    divisor = shown(state["divisor"])
    head = scene.head if scope == "head" else 0
    where = (scope, scene.kind, steps.layer, head) if scope != "all" else (scope, "encoder", 0, 0)
    curves = page.study(
        "divisor curves",
        scene.source_ids,
        scene.target_ids,
        *where,
        find=lambda engine: _curves(engine, scene, scope, head),
    )
    chart(
        figures.divisor_panels(
            curves.divisors,
            [
                ("entropy (nats)", curves.entropy),
                ("largest weight", curves.largest),
                ("size of softmax's Jacobian", curves.jacobian),
            ],
            true=root,
            chosen=divisor,
            dark=dark,
        ),
        "qkv.divisor",
        f"Entropy, largest weight and Jacobian of {SCOPE_NAMES[scope]} against the divisor",
    )
    show_facts(
        [
            f"mean over {curves.rows:,} rows of {SCOPE_NAMES[scope]}",
            "the q·k of one ordinary pass, divided otherwise",
            "the translation below is searched for with the changed scores",
        ]
    )
    _translation(page, scene, scope, where, divisor, divisor == root)
    _own_variance(page, scene)


def _translation(
    page: Page, scene: Scene, scope: Scope, where: tuple[object, ...], divisor: float, trained: bool
) -> None:
    original = scene.trace.text(int(scene.trace.hypotheses[0]))
    if trained:
        show_sentence(f"As trained: {original}")
        return
    sentence, options = scene.trace.source, page.options
    try:
        changed = page.study(
            "translation with another divisor",
            sentence,
            options,
            *where,
            divisor,
            find=lambda engine: _divided(engine, scene, options, scope, divisor),
        )
    except AtlasError as error:
        page.complain(error)
        return
    show_difference(
        ("As trained", original),
        (f"q·k divided by {divisor:.2f} in {SCOPE_NAMES[scope]}", changed),
    )
    if changed == original:
        st.caption("The same words: the trained model bears this divisor.")


def _own_variance(page: Page, scene: Scene) -> None:
    """Whether the trained vectors are such as the argument for sqrt(d_k) assumes."""
    kind, dark = scene.kind, is_dark()
    own = page.study(
        "own variance",
        scene.source_ids,
        scene.target_ids,
        kind,
        find=lambda engine: own_variance(_pass(engine, scene), engine.model.config, kind),
    )
    left, right = st.columns([1.5, 1], gap="medium", vertical_alignment="center")
    here = scene.steps.layer, scene.head
    with left:
        chart(
            figures.own_variances(own.dots, own.head_width, chosen=here, dark=dark),
            "qkv.own",
            "Variance of q·k in every head of this kind on this sentence, in multiples of d_k",
        )
    with right:
        for line in variance_lines(own, here):
            show_sentence(line)


def variance_lines(own: OwnVariance, here: tuple[int, int]) -> list[str]:
    """What the trained vectors are like, in words with their numbers."""
    ratio = own.dots / own.head_width
    return [
        f"Trained q and k are not random: in this head q·k has variance {own.dots[here]:.1f}, "
        f"{ratio[here]:.1f} times d_k = {own.head_width}, so {math.sqrt(ratio[here]):.1f} is the standard "
        f"deviation after the division, not 1.",
        f"A component has variance {own.queries[here]:.2f} in q and {own.keys[here]:.2f} in k (mean over "
        "the dimensions); were they independent with mean 0, q·k would have "
        f"{own.head_width * own.queries[here] * own.keys[here]:.1f}.",
        f"Over all heads of this kind: {ratio.min():.1f} to {ratio.max():.1f} times d_k, median "
        f"{float(np.median(ratio)):.1f}.",
    ]


def _pass(engine: Engine, scene: Scene) -> ForcedPass:
    return forced_pass(engine.model, scene.source_ids, scene.target_ids, wanted=("q", "k", "scores"))


def _curves(engine: Engine, scene: Scene, scope: Scope, head: int) -> DivisorCurves:
    kind: Kind = scene.kind
    products = scope_scores(_pass(engine, scene), engine.model.config, scope, kind, scene.steps.layer, head)
    return divisor_curves(products, divisors(engine.model.config.head_width))


def _divided(engine: Engine, scene: Scene, options: SearchOptions, scope: Scope, divisor: float) -> str:
    edits = scale_edits(engine.model.config, scope, scene.kind, scene.steps.layer, scene.head, divisor)
    trace = engine.trace(scene.trace.source, options, record=(), edits=edits)
    return trace.text(int(trace.hypotheses[0])) if len(trace.hypotheses) else ""
