"""One row of attention, written by hand: its controls and the row as it was and as it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from atlas.analysis.ablation import Kind, RowEdit
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.what_if.address import LETTERS, read_row, write_row

NONE = "none"
_PREFIX = "atlas.what_if.row."


@dataclass(frozen=True)
class Axes:
    """What the rows and columns of each kind are called.

    Attributes:
        queries: by kind, the labels of the rows.
        keys: by kind, the labels of the columns.
        layers: by kind, their number.
        heads: H, heads a layer.
    """

    queries: dict[str, tuple[str, ...]]
    keys: dict[str, tuple[str, ...]]
    layers: dict[str, int]
    heads: int

    def has(self, row: RowEdit | None) -> bool:
        """Whether a row, its head and its keys are there."""
        return row is None or (
            row.layer < self.layers[row.kind]
            and row.head < self.heads
            and row.row < len(self.queries[row.kind])
            and all(key < len(self.keys[row.kind]) for key in row.weights)
        )

    def visible(self, row: RowEdit) -> int:
        """How many keys the query of a row may see."""
        return row.row + 1 if row.kind == "decoder" else len(self.keys[row.kind])


def with_weight(row: RowEdit, key: int, weight: float) -> RowEdit:
    """The row with one more weight fixed; the other fixed ones make room for it in proportion.

    All are whole thousandths, so that the address can hold them.
    """
    others = {place: value for place, value in row.weights.items() if place != key}
    total, room = sum(others.values()), 1.0 - weight
    shrink = room / total if total > room else 1.0
    fixed = {place: value * shrink for place, value in others.items()} | {key: weight}
    return replace(
        row, weights={place: math.floor(value * 1000 + 1e-6) / 1000 for place, value in fixed.items()}
    )


def _tied(name: str, value: Any, change: Callable[[Any], None]) -> dict[str, Any]:
    """Arguments of a widget that shows one part of the row and reports its change."""
    key = _PREFIX + name
    st.session_state[key] = value

    def changed() -> None:
        if st.session_state[key] is not None:
            change(st.session_state[key])

    return {"key": key, "on_change": changed}


def row_controls(page: Page, axes: Axes) -> RowEdit | None:
    """Choose a row and give keys their weight.

    Returns:
        The row that is chosen, also while no weight of it is fixed; None for none.
    """
    state = page.state
    row = read_row(state["row"])

    def store(changed: RowEdit | None) -> None:
        state["row"] = write_row(changed)

    def choose_kind(kind: str) -> None:
        known = {name: name for name in LETTERS}
        store(RowEdit(known[_kind(kind)], 0, 0, 0, {}) if kind != NONE else None)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "A row of",
            [NONE, *LETTERS],
            format_func=lambda kind: kind if kind in LETTERS else "nothing",
            required=True,
            **_tied("kind", row.kind if row else NONE, choose_kind),
        )
        if row is None:
            return None
        st.number_input(
            "Layer of the row",
            1,
            axes.layers[row.kind],
            width=110,
            **_tied("layer", row.layer + 1, lambda n: store(replace(row, layer=n - 1, weights={}))),
        )
        st.number_input(
            "Head of the row",
            1,
            axes.heads,
            width=110,
            **_tied("head", row.head + 1, lambda n: store(replace(row, head=n - 1, weights={}))),
        )
        queries = axes.queries[row.kind]
        st.selectbox(
            "Row (query)" if row.kind == "encoder" else "Row (step that predicts)",
            range(len(queries)),
            format_func=_numbered(queries),
            width=190,
            **_tied("query", row.row, lambda n: store(replace(row, row=n, weights={}))),
        )
    _key_controls(page, axes, row, store)
    return row


def _kind(name: str) -> Kind:
    return next(kind for kind in LETTERS if kind == name)


def _numbered(labels: Sequence[str]) -> Callable[[int], str]:
    return lambda place: f"{place + 1} · {labels[place]}"


def _key_controls(page: Page, axes: Axes, row: RowEdit, store: Callable[[RowEdit | None], None]) -> None:
    state, visible = page.state, axes.visible(row)
    names = axes.keys[row.kind]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        key = st.selectbox(
            "Key",
            range(visible),
            format_func=_numbered(names),
            width=220,
            **state.widget(
                "row_key",
                to_widget=lambda place: min(place, visible) - 1,
                from_widget=lambda place: place + 1,
            ),
        )
        st.slider(
            "Weight on this key",
            0.0,
            1.0,
            step=0.05,
            width=320,
            **_tied("weight", row.weights.get(key, 0.0), lambda weight: store(with_weight(row, key, weight))),
        )
        st.button(
            "All on this key",
            key=_PREFIX + "all",
            on_click=lambda: store(replace(row, weights={key: 1.0})),
        )
        st.button(
            "Give the row back",
            key=_PREFIX + "back",
            disabled=not row.weights,
            on_click=lambda: store(replace(row, weights={})),
        )
    fixed = [f"{names[place]} {weight:g}" for place, weight in sorted(row.weights.items())]
    show_facts(["fixed: " + ", ".join(fixed) if fixed else "no weight fixed yet: the row is the model's own"])
