"""The same sentence several times with dropout on: what wavers and what does not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np
import streamlit as st

from atlas.analysis.dropout import DropoutRuns, dropout_runs
from atlas.figures import training_dropout as figures
from atlas.figures.attention import head_grid, head_name, row_name
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.figures.mosaic import HeadGrid
from atlas.text.tokenizer import SPECIAL_IDS
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.theme import is_dark
from atlas.ui.training.heads import head_controls, kind_control, settle_head
from atlas.ui.training.shared import best_translation, labels_of, rows_of_text

_SHOWN: Final = 9
"""Different translations that are listed."""

MATHS: Final = r"""
**Dropout** (Srivastava et al. 2014): in training each number of an embedding, and of what a sub-layer
adds, is set to 0 with probability $p$, and the others are divided by $1-p$, so that the expectation stays.
Vaswani et al. (2017, section 5.4) put it there and not on attention weights, and so do the models here:
the weights spread because the vectors that make queries and keys do. When a model translates, dropout is off.

**Spread**: the mean and the standard deviation over passes of each weight, and the probability of each
token of the best translation, read under teacher forcing in every pass. The passes can be read as samples
of models (Gal and Ghahramani 2016). The probability is rounded to $1/256$, as in training.
"""


def show(page: Page) -> None:
    """The whole part."""
    state = page.state
    trained = page.model.config.dropout
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        probability = st.slider(
            "Dropout probability",
            0.0,
            0.9,
            step=0.05,
            help=f"This model was trained with {trained:g}.",
            **state.widget("drop"),
        )
        passes = st.slider("Passes", 2, 60, **state.widget("passes"))
        seed = st.number_input("Seed", 0, 9999, help="Same seed, same passes.", **state.widget("dropseed"))
        kind_control(page)
    _, ids = best_translation(page)
    source = page.model.tokenizer.source(page.sentence)
    kind = state["kind"]
    with st.spinner("Reading the sentence again and again..."):
        runs = page.study(
            "training.dropout",
            page.sentence,
            ids,
            kind,
            probability,
            passes,
            seed,
            find=lambda engine: dropout_runs(
                engine.model, source, ids, kind, probability=probability, passes=passes, seed=seed
            ),
        )
    left, right = st.columns([0.6, 0.4], gap="large")
    with left:
        _tokens(page, runs, ids)
    with right:
        _translations(page, runs, ids)
    _attention(page, runs)
    with st.expander("The maths"):
        st.markdown(MATHS)


def _tokens(page: Page, runs: DropoutRuns, ids: tuple[int, ...]) -> None:
    st.subheader("How sure each token stays", anchor=False)
    chart(
        figures.probability_strips(
            labels_of(page.model.tokenizer, ids), runs.probabilities, runs.still, dark=is_dark()
        ),
        "training.strips",
        "Probability of every token of the best translation in every pass",
    )
    spread = runs.probabilities.std(0)
    show_facts(
        [
            f"mean probability {runs.probabilities.mean():.3f} with dropout, {runs.still.mean():.3f} without",
            f"mean spread ± {spread.mean():.3f}",
            f"widest ± {spread.max():.3f}",
        ]
    )


def _translations(page: Page, runs: DropoutRuns, ids: tuple[int, ...]) -> None:
    """The different sentences that the passes wrote, the commonest first."""
    st.subheader("What it writes (greedy)", anchor=False)
    tokenizer = page.model.tokenizer
    counts = Counter(tokenizer.decode(written) for written in runs.translations)
    rows_of_text([(f"{count} ×", text) for text, count in counts.most_common(_SHOWN)], wrap=True)
    left = len(counts) - _SHOWN
    if left > 0:
        show_facts([f"and {left} {'other' if left == 1 else 'others'}"])
    best = tokenizer.decode([token for token in ids if token not in SPECIAL_IDS])
    show_facts(
        [
            f"{len(counts)} different in {len(runs.translations)} passes",
            f"{counts[best]} are the best translation of beam search without dropout",
        ]
    )


def _attention(page: Page, runs: DropoutRuns) -> None:
    """Mean and standard deviation of one head."""
    trace = page.trace
    kind = page.state["kind"]
    named = head_grid(trace, kind, node=int(trace.hypotheses[0]))
    summed = [runs.weights.mean(2), runs.weights.max(2)]
    tiles = np.concatenate([runs.weights, *(part[:, :, None] for part in summed)], axis=2)
    mean, spread = tiles.mean(0), tiles.std(0)
    grid = HeadGrid(mean[:, :-2], mean[:, -2], mean[:, -1], named.queries, named.keys, kind)
    st.subheader("Where attention spreads", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        head_controls(page, grid)
    layer, column = settle_head(page, grid)
    chosen = int(grid.columns[column]) - 1 if column < grid.heads else grid.columns[column]
    head = HeadMap(
        np.clip(mean[layer, column], 0, 1),
        grid.queries,
        grid.keys,
        kind=kind,
        name=head_name(layer, chosen),  # type: ignore[arg-type]
        rows=row_name(kind, "output"),
    )
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Mean weight over the passes**")
        chart(
            heatmap(replace(head, name=""), dark=is_dark()),
            "training.mean",
            f"Mean attention over the passes, {head.name}",
        )
    with right:
        st.markdown("**Standard deviation over the passes**")
        figure = figures.spread_heatmap(
            spread[layer, column],
            mean[layer, column],
            grid.queries,
            grid.keys,
            rows=head.rows,
            dark=is_dark(),
        )
        chart(figure, "training.spread", f"Standard deviation of attention over the passes, {head.name}")
    heads = spread[:, :-2].mean((-1, -2))
    widest = np.unravel_index(int(heads.argmax()), heads.shape)
    show_facts(
        [
            f"{head.name}: mean spread ± {spread[layer, column].mean():.4f}, "
            f"widest ± {spread[layer, column].max():.3f}",
            f"of all heads of this kind, layer {widest[0] + 1} head {widest[1] + 1} wavers most "
            f"(± {heads.max():.4f})",
        ]
    )
