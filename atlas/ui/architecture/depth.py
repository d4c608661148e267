"""Gradients by layer before the first step of training: post- and pre-norm, with and without residuals."""

from __future__ import annotations

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from atlas.analysis.depth import LENGTH, SENTENCES, VOCABULARY, WIDTHS, Gradients, all_gradients
from atlas.errors import AtlasError
from atlas.figures.architecture_gradients import Curve, depths, gradients
from atlas.ui import keys
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.tables import short, show_table
from atlas.ui.theme import is_dark

DEPTHS = (2, 6, 12, 24, 50, 100)
KEYS = (
    keys.choice("depth", [str(depth) for depth in DEPTHS], "24"),
    keys.choice("narrow", [str(width) for width in WIDTHS], "32"),
    keys.integer("init", 1, 1, 9999),
    keys.flag("sweep"),
)


def _found(page: Page, layers: int) -> tuple[Gradients, ...]:
    """All four kinds of model of this depth, from the cache or computed while a bar shows how far."""
    width, seed = int(page.state["narrow"]), page.state["init"]
    place = st.empty()

    def progress(done: int, of: int) -> None:
        place.progress(done / of, f"{layers} + {layers} layers: {done} of {of} models")

    found = page.study(
        "gradients", layers, width, seed, find=lambda engine: all_gradients(layers, width, seed, progress)
    )
    place.empty()
    return found


def _name(one: Gradients) -> str:
    return f"{one.norm}-norm, {'with' if one.residual else 'without'} residuals"


def show(page: Page) -> None:
    """The chart of all four kinds of model, the ratios, and every depth on request."""
    st.subheader("Deep stacks: where the norm stands decides", anchor=False)
    st.caption(
        "Small random models before their first training step: how large is the gradient of each layer?"
    )
    state = page.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Layers, in the encoder and in the decoder",
            [str(depth) for depth in DEPTHS],
            required=True,
            **state.widget("depth"),
        )
        st.segmented_control(
            "Width d", [str(width) for width in WIDTHS], required=True, **state.widget("narrow")
        )
        st.number_input("Seed", 1, 9999, width=120, **state.widget("init"))
    try:
        found = _found(page, int(state["depth"]))
        figure = gradients(
            [Curve(one.norm, one.residual, one.encoder, one.decoder) for one in found], dark=is_dark()
        )
        chart(
            figure,
            "architecture.gradients",
            "Gradient norm by layer, encoder and decoder, for post- and pre-norm",
        )
        _ratios(found)
        st.toggle("Every depth from 2 to 100 layers (some seconds)", **state.widget("sweep"))
        if state["sweep"]:
            _sweep(page)
    except AtlasError as error:
        page.complain(error)


def _ratios(found: tuple[Gradients, ...]) -> None:
    header = [
        "Model",
        "Encoder: first",
        "last",
        "first / last",
        "Decoder: first",
        "last",
        "first / last",
        "Loss",
    ]
    rows = []
    for one in found:
        row = [_name(one)]
        for norms in (one.encoder, one.decoder):
            row += [short(float(norms[0])), short(float(norms[-1])), ratio(norms)]
        rows.append([*row, f"{one.loss:.3f}"])
    show_table(header, rows)
    show_facts(
        [
            f"cross-entropy of random targets (chance: ln {VOCABULARY} = {np.log(VOCABULARY):.3f} nats)",
            f"{SENTENCES} pairs of {LENGTH} random tokens",
            "0 is exactly zero in float64",
        ]
    )
    st.markdown(verdict(found))


def ratio(norms: NDArray[np.float64]) -> str:
    """First layer against last ``(L,)``, as the sentence below the table has it."""
    return short(float(norms[0] / norms[-1])) if norms[-1] else "last is 0"


def verdict(found: tuple[Gradients, ...]) -> str:
    """What the numbers say about the claim that gradients never vanish through a residual path."""
    kinds = {(one.norm, one.residual): one for one in found}
    post, pre = kinds["post", True], kinds["pre", True]
    post_decoder, pre_decoder = (1 / one.last_to_first("decoder") for one in (post, pre))
    post_encoder, pre_encoder = (1 / one.last_to_first("encoder") for one in (post, pre))
    measured = (
        f"First layer against last, {len(post.decoder)} layers with residual connections: decoder "
        f"**{short(post_decoder)}** in post-norm and **{short(pre_decoder)}** in pre-norm, encoder "
        f"{short(post_encoder)} and {short(pre_encoder)}. "
    )
    if post_decoder > 0.01:
        return measured + "At this depth both kinds reach every layer; choose more layers."
    return measured + (
        "LLM Atlas part 4 holds that gradients never vanish through a residual path. With pre-norm they do "
        "not. With post-norm that path runs through every norm and is no identity (LLMs from Scratch, part "
        "2): the decoder, which meets three norms a layer, passes next to nothing to its first layers (as "
        "Liu et al. 2020 found); the encoder's are reached."
    )


def _sweep(page: Page) -> None:
    """First and last decoder layer against the number of layers."""
    kinds = {depth: {(one.norm, one.residual): one for one in _found(page, depth)} for depth in DEPTHS}
    series = {}
    for norm in ("post", "pre"):
        for which, place in (("last", -1), ("first", 0)):
            values = np.array([kinds[depth][norm, True].decoder[place] for depth in DEPTHS])
            series[f"{norm}-norm, {which} layer"] = (norm, which, values)
    chart(
        depths(DEPTHS, series, dark=is_dark()),
        "architecture.sweep",
        "Gradient norm of the first and the last decoder layer by number of layers",
    )
    fall = {
        norm: series[f"{norm}-norm, last layer"][2][-1] / series[f"{norm}-norm, last layer"][2][0]
        for norm in ("post", "pre")
    }
    show_facts(
        [
            f"last layer, {DEPTHS[0]} to {DEPTHS[-1]} layers: post-norm × {fall['post']:.2f}, pre-norm × "
            f"{fall['pre']:.2f}",
            "theorem 1 of Xiong et al.: independent of L in post-norm; as 1/√L in pre-norm, here "
            f"× {np.sqrt(DEPTHS[0] / DEPTHS[-1]):.2f}",
        ]
    )
