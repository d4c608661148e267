"""Is every position's vector its own? The closest two encodings as length and width change, in Streamlit."""

from __future__ import annotations

import numpy as np
import streamlit as st

from atlas.analysis.distinct import Closest, closest_rows, shift_distances, smallest_by_width
from atlas.analysis.positions import published_table
from atlas.figures import distinct as figures
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.models import SharedEngine
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

LENGTHS = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@st.cache_resource(show_spinner="Comparing every two positions...", max_entries=64)
def _formula(length: int, width: int) -> Closest:
    return closest_rows(published_table(length, width))


@st.cache_resource(show_spinner=False, max_entries=64)
def _halved(length: int, width: int) -> tuple[float, int, int]:
    """The same after rounding to float16."""
    return closest_rows(published_table(length, width).astype(np.float16)).among(length)


@st.cache_resource(show_spinner=False, max_entries=64)
def _widths(length: int) -> tuple[np.ndarray, np.ndarray]:
    return smallest_by_width(length, WIDTHS)


def distinct_section(page: Page, engine: SharedEngine) -> None:
    """The closest two positions of the published formula and of the model's own table."""
    state, dark = page.state, is_dark()
    st.subheader("Every position distinct", anchor=False)
    st.caption(
        "Said in LLMs from Scratch, part 2: every position gets its own combination of values. "
        "Below, every two of them are compared."
    )
    with st.container(horizontal=True):
        state.restrict("upto", LENGTHS.__contains__, 1000, "one of " + ", ".join(map(str, LENGTHS)))
        state.restrict("cells", WIDTHS.__contains__, 128, "a power of two from 2 to 1024")
        length = st.select_slider("Positions compared", LENGTHS, **state.widget("upto"))
        width = st.select_slider("Width D of the formula", WIDTHS, **state.widget("cells"))
    closest = _formula(length, width)
    smallest, first, second = closest.among(length)
    shifts = shift_distances(length, width)
    rounded, one, other = _halved(length, width)
    columns = st.columns(3)
    columns[0].metric(
        "Smallest distance, published formula",
        f"{smallest:.4g}",
        help="Euclidean, between any two of the positions compared. 0 would mean two positions look alike.",
    )
    columns[1].metric(
        "The same, rounded to half precision",
        f"{rounded:.4g}",
        help="Each value rounded to float16, as weights are stored and as accelerators compute.",
    )
    columns[2].metric(
        "Largest distance between two positions",
        f"{shifts.max():.4g}",
        help="For comparison. No two can be further apart than 2·√(D/2).",
    )
    pairs = length * (length - 1) // 2
    show_facts(
        [
            f"{pairs:,} pairs",
            f"closest: positions {first:,} and {second:,}",
            f"next-door neighbours {shifts[0]:.4g} apart",
            f"largest difference from the closed form {abs(smallest - shifts.min()):.1g}",
        ]
    )
    st.write(_verdict(rounded, one, other, second - first))
    left, right = st.columns(2)
    with left:
        curves = [(f"published formula, D = {width}", closest.distance, closest.first, closest.second)]
        own = _own(page, engine)
        if own is not None:
            name = f"this model's {engine.config.positions} table, D = {engine.config.width}"
            curves.append((name, own.distance, own.first, own.second))
        figure = figures.distance_by_length(curves, length=length, dark=dark)
        chart(
            figure, "positions.distinct", "Smallest distance between two positions by the number of positions"
        )
        if own is not None:
            rows = len(own.distance) + 1
            distance, a, b = own.among(rows)
            show_facts(
                [
                    f"this model: {rows:,} positions",
                    f"smallest distance {distance:.4g}",
                    f"between {a} and {b}",
                ]
            )
    with right:
        values, apart = _widths(length)
        figure = figures.distance_by_width(
            WIDTHS, values, apart, length=length, width=engine.config.width, dark=dark
        )
        chart(figure, "positions.widths", f"Smallest distance among {length} positions by width")
        show_facts(
            [f"at D = {one} the closest are {k:,} apart" for one, k in zip(WIDTHS, apart[:3], strict=False)]
        )


def _verdict(rounded: float, one: int, other: int, apart: int) -> str:
    """One line on what was found, in our own words."""
    where = "neighbours" if apart == 1 else f"{apart:,} positions apart"
    if rounded:
        return f"It holds: no two of these positions share their values. The closest two are {where}."
    return (
        f"It holds for exact numbers (the closest two are {where}), but in half precision positions "
        f"{one:,} and {other:,} have the same values: a narrow encoding runs out of combinations."
    )


def _own(page: Page, engine: SharedEngine) -> Closest | None:
    """The model's own table, every row of it; None if it has none."""
    table = engine.positions(min(engine.config.max_length, LENGTHS[-1]))
    if table is None or len(table) < 2:
        return None
    return page.study("closest positions", find=lambda _: closest_rows(table))
