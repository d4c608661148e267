"""The panels of the Attention page: all heads, one head, what chosen words attend to, a comparison, the
maths."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from atlas.errors import AtlasError
from atlas.figures.attended import head_bars, key_bars
from atlas.figures.attention import as_map, disagreement
from atlas.figures.heatmap import KINDS, HeadMap, heatmap
from atlas.figures.lines import lines_payload
from atlas.figures.mosaic import SCALES, HeadGrid, mosaic_payload
from atlas.ui.attention.choice import Located, describe, locate, read_choice, setter
from atlas.ui.attention.controls import choose_head, toggle_word
from atlas.ui.chart import chart
from atlas.ui.components import head_lines_view, heads_canvas
from atlas.ui.markup import show_sentence
from atlas.ui.page import Page
from atlas.ui.state import ViewState
from atlas.ui.talk.mode import shown_scale
from atlas.ui.theme import is_dark


def all_heads(state: ViewState, grid: HeadGrid, column: int) -> None:
    """The canvas of all heads, and what its colours mean."""
    heads_canvas(
        mosaic_payload(grid, scale=shown_scale(state), chosen=(state["layer"] - 1, column)),
        key="attention.mosaic",
        on_choose=lambda layer, place: choose_head(state, grid, layer, place),
    )
    st.caption(
        f"{KINDS[grid.kind].capitalize()}, layers down, heads across. Click a head, or focus the grid and "
        f"use the "
        f"arrow keys. Colour: {SCALES[shown_scale(state)]}."
        + (
            f" So many tokens share squares: {grid.pooling}. Numbers are those of single weights."
            * bool(grid.pooling)
        )
    )


def one_head(
    state: ViewState,
    head: HeadMap,
    *,
    key: str,
    top: float,
    note: str,
    chosen: list[int],
    selectable: bool = True,
) -> None:
    """Lines and heatmap of one head.

    Args:
        state: of the page.
        head: what to draw.
        key: unique on the page.
        top: the weight at the end of the colour scale.
        note: the maths that was used, in words.
        chosen: selected query words, 0-based rows.
        selectable: whether a click on a word of the lines selects it.
    """
    dark = is_dark()
    head_lines_view(
        lines_payload(head, threshold=state["threshold"], chosen=chosen, selectable=selectable),
        key=f"{key}.lines",
        on_choose=lambda row: toggle_word(state, row),
        on_threshold=setter(state, "threshold"),
    )
    sides = f"{len(head.queries)} queries down, {len(head.keys)} keys across"
    alt = f"Heatmap of {KINDS[head.kind]}, {head.name}: {sides}"
    chart(heatmap(replace(head, name=""), top=top, chosen=chosen, dark=dark), f"{key}.heatmap", alt)
    st.caption(f"{note} Colour ends at {top:.2f}. Hover a cell for its numbers.")


def attended(state: ViewState, head: HeadMap, grid: HeadGrid, column: int, chosen: list[int]) -> None:
    """What selected words attend to in this head, in all heads together and in each of them.

    Args:
        state: of the page.
        head: the chosen one.
        grid: all heads of its kind.
        column: 0-based place of the chosen head in the grid.
        chosen: the selected rows, 0-based; with none, it is what all words together attend to.
    """
    rows = chosen or list(range(len(head.queries)))
    if not rows:
        return
    words = ", ".join(head.queries[row] for row in chosen) or "all"
    dark, here = is_dark(), (state["layer"] - 1, column)
    chart(
        key_bars(head, grid, rows, dark=dark),
        "attention.keys",
        f"What these query words attend to, a bar a key: {words}",
    )
    chart(
        head_bars(grid, rows, highlight=here, dark=dark),
        "attention.heads",
        f"The same words in every head, small bars for each key: {words}",
    )
    summed = f"the {len(rows)} chosen" if chosen else f"all {len(rows)}"
    st.caption(
        f"Weights are summed over {summed} queries, so the bars of one head add up to {len(rows)} "
        "(less where a row is empty)."
    )


def comparison(page: Page, now: Located, head: HeadMap, top: float, note: str, chosen: list[int]) -> None:
    """The pinned head and the chosen one, side by side, on one colour scale when the scale is shared."""
    state = page.state
    pin = read_choice(state["pin"])
    try:
        pinned = locate(page, pin).view(state)
    except AtlasError as error:
        page.complain(f"What was pinned cannot be shown: {error}")
        return
    other = as_map(pinned)
    same = other.kind == head.kind and other.queries == head.queries
    end = {"head": None, "shared": max(top, other.peak)}.get(shown_scale(state), top)
    left, right = st.columns(2, gap="medium")
    with left:
        st.subheader(f"Pinned: {other.name}", anchor=False)
        show_sentence(f"{KINDS[other.kind]} · {describe(pin)}")
        one_head(
            state,
            other,
            key="attention.pinned",
            top=end or other.peak,
            note=pinned.note,
            chosen=chosen if same else [],
            selectable=same,
        )
    with right:
        st.subheader(f"Now: {head.name}", anchor=False)
        show_sentence(f"{KINDS[head.kind]} · {describe(now.choice)}")
        one_head(state, head, key="attention.now", top=end or top, note=note, chosen=chosen)
    apart = disagreement(other, head)
    if apart is not None:
        st.caption(
            f"On average the two place {apart:.0%} of a row's weight differently (total variation distance "
            f"of the rows)."
        )


def maths() -> None:
    """The formula behind the page, folded."""
    with st.expander("The maths"):
        st.latex(
            r"A = \operatorname{softmax}\!\left(\frac{Q K^{\top}}{\sqrt{d_k}} + M\right), \qquad "
            r"A_{ij} \ge 0, \quad \sum_j A_{ij} = 1"
        )
        st.markdown(
            "Each head of each layer has its own $Q$, $K$. Row $i$ of $A$ says how query token $i$ divides "
            "its attention "
            "over the key tokens $j$; the score on hover is the number before the softmax. $M$ is 0, or "
            "$-\\infty$ where a "
            "token of the decoder must not look ahead. Weights are shown before dropout. "
            "(Vaswani et al. 2017, *Attention Is All You Need*, equation 1 and section 3.2.)"
        )
        st.markdown(
            "- **Words**: $\\sum_{j \\in w} A_{ij}$ over the keys of a word, then the mean over the queries "
            "of a word; rows "
            "still sum to 1.\n"
            "- **Special tokens hidden**: their rows and columns go, and each row is divided by what "
            "remains; a row with "
            "nothing left is empty.\n"
            "- **mean**: $\\frac1H \\sum_h A^{(h)}$, rows sum to 1. **max**: $\\max_h A^{(h)}_{ij}$, rows do "
            "*not* sum to 1.\n"
            "- **Words to follow**: $\\sum_{i \\in C} A_{ij}$ over the chosen queries $C$, not "
            "renormalised.\n"
            "- **Comparison**: the total variation distance $\\frac12 \\sum_j |A_{ij} - B_{ij}|$, averaged "
            "over the rows."
        )
