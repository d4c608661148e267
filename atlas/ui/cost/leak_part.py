"""The model that was trained without the mask, beside the one that was trained with it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from atlas.analysis.leak import NAME, LeakStudy
from atlas.bundles import find_bundles
from atlas.figures import cost_leak as figures
from atlas.measurements import load_measurement
from atlas.ui.chart import chart
from atlas.ui.differences import show_difference
from atlas.ui.markup import notice, show_facts, show_sentence
from atlas.ui.models import SharedEngine
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

COMMAND = "atlas measure leak WITHOUT_MASK_BUNDLE --baseline multi30k-en-fr"
NOTHING = 0.5
"""Nats a token below which a loss counts as fallen to nothing (a perplexity of 1.65)."""
_TRAIN = "atlas train multi30k-no-mask"
WORTHLESS_BLEU = 2.0
"""BLEU below which hardly a word pair agrees with a reference."""


def find_study(engine: SharedEngine, bundles: dict[str, Path]) -> LeakStudy | None:
    """The study kept with the model that is shown, or else with any other bundle here.

    Raises:
        AtlasError: it is damaged, or of other weights.
    """
    stored = load_measurement(engine.folder, NAME, engine.hash)
    for folder in bundles.values():
        if stored is None:
            stored = load_measurement(folder, NAME)
    return None if stored is None else LeakStudy.read(stored)


def leak_part(page: Page) -> None:
    """The whole part.

    Raises:
        AtlasError: the measurement is damaged, or of other weights.
    """
    study = find_study(page.model, find_bundles())
    if study is None:
        notice("No bundle here carries the measurement of a model trained without the mask. It is made by:")
        st.code(f"{_TRAIN}\n{COMMAND}", language="bash")
        return
    _curves(study)
    st.divider()
    _samples(page, study)


def _curves(study: LeakStudy) -> None:
    without, baseline = study.without, study.baseline
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("It learns fast, as it seems", anchor=False)
        st.caption("The same recipe twice, with and without the causal mask.")
        histories = {"without": without.history, "baseline": baseline.history}
        chart(figures.loss_curves(histories, dark=is_dark()), "cost.losses", "Loss of both models by updates")
        show_facts([f"{without.name} and {baseline.name}, dotted: held-out pairs"])
    with right:
        st.subheader("It learns to copy", anchor=False)
        st.caption("Next tokens predicted right on held-out pairs, and random pieces in their place.")
        labels = ("answer visible", "answer hidden", "drawn at random")
        values = {
            which: [side.next.right_visible, side.next.right_hidden, side.next.copied]
            for which, side in (("without", without), ("baseline", baseline))
        }
        chart(
            figures.shares(labels, values, dark=is_dark()),
            "cost.shares",
            "Tokens predicted right by both models",
        )
        show_facts(
            [
                f"{without.next.pairs:,} pairs of {study.corpus}, {without.next.tokens:,} tokens",
                f"loss without the mask: {without.next.loss_visible:.3f} nats a token with the answer "
                f"visible, {without.next.loss_hidden:.3f} hidden",
            ]
        )
    st.write(verdict(study))


def verdict(study: LeakStudy) -> str:
    """Whether the claim holds on these two models, in words with the numbers.

    It does if the loss without a mask is lower after as many updates, and yet hardly a word pair of the
    translations agrees with a reference.
    """
    end, other = study.without.last, study.baseline.last
    same = study.baseline.at(end["step"])
    facts = (
        f"Without the mask: {end['development_loss']:.3f} nats a token after {end['step']:,.0f} updates, "
        f"BLEU {end['bleu']:.2f}. With it: {same['development_loss']:.3f} after {same['step']:,.0f} (BLEU "
        f"{same['bleu']:.2f}) and {other['development_loss']:.3f} after {other['step']:,.0f} (BLEU "
        f"{other['bleu']:.2f})."
    )
    if end["development_loss"] >= same["development_loss"]:
        return f"{facts} The loss is not the lower one: the claim does not hold here."
    if end["bleu"] >= WORTHLESS_BLEU:
        return f"{facts} The translations are not worthless: the claim does not hold here."
    said = f"{facts} The lower loss is worth nothing: with the answer hidden the model cannot write."
    if end["development_loss"] >= NOTHING:
        said += " It has not fallen to nothing in so few updates."
    return said


def _samples(page: Page, study: LeakStudy) -> None:
    st.subheader("What both write when nobody shows them the answer", anchor=False)
    search = st.segmented_control(
        "Search",
        ["greedy", "beam"],
        required=True,
        format_func={"greedy": "greedy", "beam": "beam 5"}.__getitem__,
        **page.state.widget("leak_search"),
    )
    without: tuple[str, ...] = getattr(study.without, search)
    baseline: tuple[str, ...] = getattr(study.baseline, search)
    left, right = st.columns(2, gap="medium")
    for place, sentence in enumerate(study.sentences):
        with left if place % 2 == 0 else right, st.container(border=True):
            show_sentence(sentence)
            show_difference(
                (f"Without the mask, {study.without.steps:,} updates", without[place]),
                (f"With the mask, {study.baseline.steps:,} updates", baseline[place]),
                mark=False,
            )
