"""Pruning: fewer and fewer heads, in three orders, and what is left of the translation."""

from __future__ import annotations

from typing import Final

import streamlit as st

from atlas.analysis.ablation import HeadChange
from atlas.analysis.heads.pruning import NAME, Pruning, in_scope
from atlas.figures.what_if_prune import PruneCurve, prune_curves
from atlas.measurements import load_measurement
from atlas.ui.chart import chart
from atlas.ui.differences import show_difference
from atlas.ui.markup import notice, show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark
from atlas.ui.what_if.address import tidy
from atlas.ui.what_if.lab import run
from atlas.ui.what_if.outcome import translations
from atlas.ui.what_if.subject import subject_of

SCOPES: Final = {"all": "all heads", "encoder": "encoder", "cross": "cross-attention"}
ORDERS: Final = {"cost": "true cost", "gradient": "gradient importance"}
LOST: Final = 0.5


def pruning(page: Page) -> None:
    """The slider, the translation with those heads off, and the curves over held-out sentences."""
    measurement = load_measurement(page.model.folder, NAME, page.model.hash)
    if measurement is None:
        notice(
            f"pruning of {page.model.name} was not measured yet; measure with: "
            f"atlas heads {page.model.name} --only costs,pruning"
        )
        return
    found, state = Pruning.from_measurement(measurement), page.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scope = st.segmented_control(
            "Heads that may go",
            list(SCOPES),
            format_func=SCOPES.__getitem__,
            required=True,
            **state.widget("prune"),
        )
        order = st.segmented_control(
            "Cheapest first, by",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            required=True,
            **state.widget("order"),
        )
    gone = found.order(scope, order)
    st.slider(
        "Heads that remain",
        0,
        len(gone),
        **state.widget("remain", to_widget=lambda number: min(number, len(gone))),
    )
    remaining = min(state["remain"], len(gone))
    heads = page.study("what_if.prune.heads", scope, find=lambda engine: in_scope(engine.model, scope))
    off = [heads[number] for number in gone[: len(gone) - remaining]]
    subject = subject_of(page)
    if off:
        changes = tidy(HeadChange(*head, 0.0) for head in off)
        translations(subject, *run(page, subject, changes, None))
        names = [f"{kind} {layer + 1}.{head + 1}" for kind, layer, head in off]
        st.caption(f"{len(off)} off, the first to go first: {', '.join(names)}")
    else:
        show_difference(("As trained", subject.text), ("Changed", subject.text))
        st.caption("Every head is on. Move the slider.")
    _curves(found, scope, remaining)


def _curves(found: Pruning, scope: str, remaining: int) -> None:
    st.subheader("BLEU with ever fewer heads", anchor=False)
    st.caption(
        f"{found.sentences} held-out sentences, nothing trained again. Bands: 95% over sentences; of random, "
        "the lowest and highest of three orders. The orders were found on sentences that contain these."
    )
    curves = []
    for order, name in {**ORDERS, "random": "random order"}.items():
        curve = found.curve(scope, order)
        curves.append(
            PruneCurve(name, curve.remaining.astype(float), curve.bleu, curve.bleu_low, curve.bleu_high)
        )
    chart(
        prune_curves(curves, chosen=remaining, dark=is_dark()),
        "what_if.prune",
        "BLEU against the number of heads that remain, for three orders of removal",
    )
    encoder, cross = found.curve("encoder", "cost"), found.curve("cross", "cost")
    show_facts(
        [
            f"here {found.spared('encoder', 'cost', LOST)} of {encoder.remaining[0]:.0f} encoder heads go "
            f"for {LOST} BLEU, nothing trained again; Voita et al. 2019: 38 of 48 for 0.15, training on",
            f"without any encoder head BLEU {encoder.bleu[-1]:.1f}, without any cross-attention "
            f"{cross.bleu[-1]:.1f}; Michel et al. 2019: cross-attention can least be spared",
        ]
    )
