"""The pictures of a position table, with their controls, in Streamlit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import streamlit as st

from atlas.analysis.positions import (
    distance_profile,
    published_table,
    rotation,
    rotation_residual,
    wavelengths,
)
from atlas.figures import positions as figures
from atlas.ui.chart import chart
from atlas.ui.markup import notice, show_facts
from atlas.ui.models import SharedEngine
from atlas.ui.page import Page
from atlas.ui.theme import is_dark

FIRST_DIMENSIONS = (0, 50, 100)
FIRST_PAIR = 8
MOST_SHOWN = 500


def at_most(limit: int) -> Callable[[int], int]:
    """Keep a widget inside a range that another control sets; the value chosen is not forgotten."""
    return lambda value: min(value, limit)


def shown_table(page: Page, engine: SharedEngine) -> np.ndarray:
    """The table to draw ``(P, D)``: what the model adds to its embeddings, or else the published one."""
    longest = min(MOST_SHOWN, engine.config.max_length)
    length = st.slider(
        "Positions shown", 10, longest, **page.state.widget("length", to_widget=at_most(longest))
    )
    table: np.ndarray | None = engine.positions(length)
    if table is not None:
        return table
    notice(
        "This model has no position encoding: nothing is added to its embeddings. The sinusoidal encoding "
        "of 2017 is drawn for comparison; the lab below shows what this model makes of word order."
    )
    return published_table(length, engine.config.width)


def chosen_dimensions(page: Page, width: int) -> list[int]:
    """The dimensions to draw that this model has."""
    missing = [number for number in page.state["dims"] if number >= width]
    if missing and page.state["dims"] != FIRST_DIMENSIONS:
        page.complain(f"Dimension {missing[0]} is not here: this model has dimensions 0 to {width - 1}.")
    widget = page.state.widget(
        "dims", to_widget=lambda dims: [number for number in dims if number < width], from_widget=tuple
    )
    return list(st.multiselect("Dimensions of the curves", range(width), max_selections=6, **widget))


def table_pictures(page: Page, table: np.ndarray, kind: str, tokens: int) -> None:
    """Curves, the whole table, wavelengths, dot products."""
    dark, width = is_dark(), table.shape[1]
    left, right = st.columns(2)
    with left:
        st.subheader("Curves", anchor=False)
        dimensions = chosen_dimensions(page, width)
        chart(
            figures.curves(table, dimensions, dark=dark),
            "positions.curves",
            "Value of the chosen dimensions by position",
        )
    with right:
        st.subheader("The whole table", anchor=False)
        chart(
            figures.table_heatmap(table, dark=dark), "positions.heatmap", "Every value, position by dimension"
        )
    left, right = st.columns(2)
    with left:
        st.subheader("Wavelengths", anchor=False)
        if kind == "learned":
            st.write("A learned table has no wavelengths: training found each of its numbers, no formula.")
        else:
            waves = wavelengths(width)
            figure = figures.wavelength_curve(waves, length=len(table), tokens=tokens, dark=dark)
            chart(figure, "positions.wavelengths", "Positions until a dimension repeats, by dimension")
            show_facts([f"shortest {waves[0]:.2f} positions", f"longest {waves[-1]:,.0f} positions"])
    with right:
        st.subheader("Dot product against distance", anchor=False)
        profile = distance_profile(table)
        figure = figures.distance_curve(profile.distance, profile.mean, profile.low, profile.high, dark=dark)
        chart(figure, "positions.distance", "Dot product of two position vectors by their distance")
        spread = float((profile.high - profile.low).max())
        show_facts(
            [f"at distance 0: {profile.mean.max():.2f}", f"widest spread at one distance: {spread:.2g}"]
        )


def rotation_pictures(page: Page, table: np.ndarray, kind: str) -> None:
    """The step from one position to another by one matrix, and how well it fits."""
    length, width = table.shape
    state, dark = page.state, is_dark()
    st.subheader("One matrix moves every position", anchor=False)
    if width % 2:
        st.write("Pairs of dimensions need an even width; this learned table has an odd one.")
        return
    pairs = width // 2
    if state["pair"] >= pairs and state["pair"] != FIRST_PAIR:
        page.complain(f"Pair {state['pair']} is not here: this model has pairs 0 to {pairs - 1}.")
    with st.container(horizontal=True):
        shift = st.slider(
            "Shift k (positions)", 1, length - 1, **state.widget("shift", to_widget=at_most(length - 1))
        )
        last = length - 1 - shift
        position = st.number_input("From position", 0, last, **state.widget("pos", to_widget=at_most(last)))
        pair = st.number_input(
            "Pair of dimensions i", 0, pairs - 1, **state.widget("pair", to_widget=at_most(pairs - 1))
        )
    matrix, residual = rotation(shift, width), rotation_residual(table, shift)
    columns = slice(2 * pair, 2 * pair + 2)
    block = matrix[columns, columns]
    turned = block @ table[position, columns]
    left, right = st.columns(2)
    with left:
        plane = figures.rotation_plane(
            table[:, columns], turned, position=position, shift=shift, pair=pair, dark=dark
        )
        chart(
            plane,
            "positions.plane",
            f"Pair {pair} of dimensions as a plane, turned from position {position} by {shift}",
        )
    with right:
        chart(
            figures.rotation_matrix(matrix, dark=dark),
            "positions.matrix",
            f"A corner of the matrix for a shift of {shift}",
        )
    left, right = st.columns(2, vertical_alignment="center")
    with left:
        st.metric(
            f"Residual: largest |M·PE(pos) − PE(pos + {shift})|",
            f"{residual.largest:.2g}",
            help="Over every dimension and every position with a partner. Only rounding, if the matrix fits.",
        )
        show_facts(
            [
                f"{residual.positions} positions × {width} dimensions",
                f"largest number in the table {residual.scale:.2g}",
            ]
        )
    with right:
        rows = r" \\ ".join(f"{row[0]:.4f} & {row[1]:.4f}" for row in block)
        st.latex(rf"M_{{{shift}}}\text{{, pair }}{pair}: \begin{{pmatrix}}{rows}\end{{pmatrix}}")
    if kind == "learned":
        st.write("This is the matrix of the sinusoidal encoding. Nothing makes a learned table follow it.")
