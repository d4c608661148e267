"""The causal mask: the matrix, the model's own attention, the proof, and a mask made of ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from atlas.analysis.masks import (
    BlindRow,
    Chunk,
    Head,
    Hidden,
    additive_difference,
    additive_mask,
    blind_row,
    change_token,
    chunk_with_ones,
    hidden_weights,
    shift_differences,
)
from atlas.analysis.passes import forced_pass
from atlas.engine import Engine
from atlas.figures import cost_masks as figures
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.ui.attention.choice import show_new_notices
from atlas.ui.chart import chart
from atlas.ui.cost.view import Shown, small
from atlas.ui.markup import notice, show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark


@dataclass(frozen=True)
class MaskStudy:
    """One head behind the mask, and what other masks would have done to it.

    Attributes:
        weights: float32 ``(T, T)``.
        hidden: counts over all heads of all layers.
        zeros: largest difference between the model's head and one behind an added mask of zeros.
        ones: the same behind an added mask of ones.
        shifts: largest difference between weights behind zeros and behind ones, by number format.
        chunk: a mask of ones laid over a chunk after a cache; None for a text of one token.
        blind: a row that sees nothing.
    """

    weights: NDArray[np.float32]
    hidden: Hidden
    zeros: float
    ones: float
    shifts: dict[str, float]
    chunk: Chunk | None
    blind: BlindRow


def study_mask(engine: Engine, shown: Shown, layer: int, head: int) -> MaskStudy:
    """Compute a :class:`MaskStudy`.

    Args:
        layer: of the decoder, from 0; head: of that layer, from 0.

    Raises:
        AtlasError: the model has too few positions, or no such head.
    """
    seen = forced_pass(engine.model, shown.source, shown.target, wanted=("q", "k", "v", "heads", "weights"))
    one = Head.of(seen, layer, head)
    scores = one.scores
    every = [seen[f"decoder.{number}.self.weights"] for number in range(engine.model.config.decoder_layers)]
    return MaskStudy(
        weights=seen[f"decoder.{layer}.self.weights"][head],
        hidden=hidden_weights(every),
        zeros=additive_difference(one),
        ones=additive_difference(one, 1.0),
        shifts=shift_differences(scores),
        chunk=chunk_with_ones(scores, len(scores) // 2) if len(scores) > 1 else None,
        blind=blind_row(one),
    )


def mask_part(page: Page, shown: Shown) -> None:
    """The whole part.

    Raises:
        AtlasError: the model cannot read this.
    """
    config = page.model.config
    if not config.causal:
        notice("This model was trained without a causal mask: what follows shows what is missing.")
    known = page.state.notices
    layers, heads = config.decoder_layers, config.heads
    layer = page.state.restrict(
        "mask_layer", lambda number: number <= layers, 1, f"a layer from 1 to {layers}"
    )
    head = page.state.restrict("mask_head", lambda number: number <= heads, 1, f"a head from 1 to {heads}")
    show_new_notices(page.state, known)
    found = page.study(
        "cost.mask", shown.source, shown.target, layer, head,
        find=lambda engine: study_mask(engine, shown, layer - 1, head - 1),
    )  # fmt: skip
    _matrices(page, shown, found, layer, head)
    st.divider()
    _proof(page, shown)
    st.divider()
    _ones(found, shown)


def _matrices(page: Page, shown: Shown, found: MaskStudy, layer: int, head: int) -> None:
    config, dark = page.model.config, is_dark()
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader("What is added to the scores", anchor=False)
        st.caption("0 where a token may look, −∞ at everything that comes after it.")
        mask = additive_mask(len(shown.labels))
        chart(
            figures.mask_matrix(mask, shown.labels, dark=dark),
            "cost.matrix",
            "The causal mask, 0 or minus infinity",
        )
    with right:
        st.subheader("What this model looks at", anchor=False)
        st.caption("Its own decoder self-attention while it reads the translation above.")
        picture = heatmap(
            HeadMap(
                weights=found.weights,
                queries=shown.labels,
                keys=shown.labels,
                masked=additive_mask(len(shown.labels)) < 0 if config.causal else None,
                kind="decoder",
                rows="query (token read)",
            ),
            dark=dark,
        )
        chart(picture, "cost.weights", f"Decoder self-attention of layer {layer}, head {head}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(
            "Decoder layer", 1, config.decoder_layers, width=130, **page.state.widget("mask_layer")
        )
        st.number_input("Head", 1, config.heads, width=130, **page.state.widget("mask_head"))
        st.metric(
            "Weights above the diagonal that are not exactly 0",
            f"{found.hidden.nonzero:,} of {found.hidden.cells:,}",
            help=f"Counted over all {found.hidden.heads} heads of all decoder layers; the largest of them is "
            f"{found.hidden.largest:g}.",
        )


def _proof(page: Page, shown: Shown) -> None:
    """Replace one token and see which predictions move."""
    st.subheader("The proof: change a word, and nothing before it moves", anchor=False)
    last = len(shown.target)
    place = min(page.state["mask_place"], last)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        place = st.selectbox(
            "Replace the token",
            range(1, last + 1),
            format_func=lambda number: f"{number}: {shown.labels[number]}",
            width=260,
            **page.state.widget("mask_place", to_widget=lambda value: min(value, last)),
        )
        st.text_input("by the first piece of", width=260, **page.state.widget("mask_word"))
    word = str(page.state["mask_word"])
    if not word.strip():
        notice("Write a word to put in its place.")
        return
    ids = page.model.tokenizer.encode(word)
    found = page.study(
        "cost.change", shown.source, shown.target, place, ids[0],
        find=lambda engine: change_token(engine.model, shown.source, shown.target, place, ids[0]),
    )  # fmt: skip
    left, right = st.columns([3, 1], gap="medium", vertical_alignment="center")
    with left:
        chart(
            figures.change_by_position(shown.labels, found.differences, place, dark=is_dark()),
            "cost.change",
            f"Change of the logits at each position when token {place} is replaced",
        )
    with right:
        st.metric("Largest change before it", small(found.before))
        st.metric("Largest change from there on", f"{found.after:.3g}")
        show_facts([f"all {page.model.config.vocabulary:,} logits of each position, two passes"])
    if found.old == found.new:
        notice("That piece stands there already: nothing was changed.")


def _ones(found: MaskStudy, shown: Shown) -> None:
    """A mask cut from a matrix of ones adds 1 to every allowed score."""
    st.subheader("A mask cut from ones", anchor=False)
    st.caption(
        "The fragment in LLM Atlas, part 4 fills a triangle of ones with −∞: allowed scores get +1, not +0."
    )
    count = min(5, len(shown.labels))
    left, middle, right = st.columns([1, 1, 1.5], gap="medium")
    for column, title, allowed in (
        (left, "Zeros, as published", 0.0),
        (middle, "Ones, as in the fragment", 1.0),
    ):
        with column:
            st.markdown(f"**{title}**")
            picture = figures.mask_matrix(
                additive_mask(count, allowed), shown.labels[:count], dark=is_dark(), height=300
            )
            chart(picture, f"cost.ones.{allowed:g}", f"Mask whose allowed cells hold {allowed:g}")
    with right:
        st.markdown("**What the softmax notices**")
        st.table(
            {
                "largest difference": {
                    f"weights, {name}": f"{difference:.1e}" for name, difference in found.shifts.items()
                }
                | {
                    "the model's head, zeros added": f"{found.zeros:.1e}",
                    "the model's head, ones added": f"{found.ones:.1e}",
                }
            }
        )
    _limits(found)


def _limits(found: MaskStudy) -> None:
    """Where the constant does matter, and what our mask does instead."""
    st.markdown(
        "The same +1 in a whole row cancels: $e^{z+1}/\\sum e^{z+1}=e^{z}/\\sum e^{z}$. Rounding is left. It "
        "does matter where the cells of one row get different constants, or where a row sees nothing:"
    )
    columns = st.columns(3, gap="medium")
    if found.chunk is not None:
        own = float(found.chunk.right[-1]), float(found.chunk.wrong[-1])
        columns[0].metric(
            "Chunk after a cache: own weight",
            f"{own[0]:.3f} → {own[1]:.3f}",
            help=f"Weight of the new token on itself. {found.chunk.past} tokens are in the cache and "
            "get +0; the mask of ones covers only the new key, which gets +1: its odds are multiplied by e.",
        )
    columns[1].metric(
        "Row that sees nothing, −∞ added",
        f"{found.blind.additive} of {found.blind.width} NaN",
        help="Every score is −∞, and 0/0 is not a number: it spreads through all layers above.",
    )
    columns[2].metric(
        "The same row in this model",
        small(found.blind.ours),
        help="Its mask is made of booleans; hidden scores are filled, nothing is added, and a row that sees "
        "nothing gives zeros.",
    )
