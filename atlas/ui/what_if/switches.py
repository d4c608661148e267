"""All heads of the model as switches: layers down, heads across, one grid for each kind.

A component of its own, because a model has up to hundreds of heads: so many Streamlit buttons would take
seconds to run, and could not be walked with the arrow keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from importlib import resources
from typing import Any

import streamlit as st

from atlas.analysis.ablation import HeadChange, Kind
from atlas.figures.heatmap import KINDS
from atlas.figures.style import COLOURS
from atlas.ui.components.told import told

_FILES = resources.files(__package__)
_mount = st.components.v2.component(
    "attention_atlas.head_switches",
    js=_FILES.joinpath("switches.js").read_text(encoding="utf-8"),
    css=_FILES.joinpath("switches.css").read_text(encoding="utf-8"),
)


def describe(change: HeadChange | None) -> str:
    """What is done to a head, in words."""
    if change is None:
        return "as trained"
    if change.factor is None:
        return "uniform"
    return "off" if change.factor == 0 else f"times {change.factor:g}"


def payload(changes: Collection[HeadChange], layers: Mapping[str, int], heads: int) -> dict[str, Any]:
    """What the component draws: for each kind a row of cells a layer.

    A cell is ``[mode, sign, title]`` with mode ``trained``, ``off``, ``uniform``, ``less`` or ``more``.
    """
    known: dict[tuple[str, int, int], HeadChange] = {
        (change.kind, change.layer, change.head): change for change in changes
    }
    grids = []
    for kind, count in layers.items():
        rows = [
            [_cell(known.get((kind, layer, head)), head) for head in range(heads)] for layer in range(count)
        ]
        grids.append({"kind": kind, "label": KINDS[kind], "colour": COLOURS[kind], "rows": rows})
    return {"grids": grids}


def _cell(change: HeadChange | None, head: int) -> list[str]:
    if change is None:
        return ["trained", str(head + 1), describe(change)]
    if change.factor is None:
        return ["uniform", "u", describe(change)]
    if change.factor == 0:
        return ["off", "0", describe(change)]
    return ["less" if change.factor < 1 else "more", f"{change.factor:g}", describe(change)]


def head_switches(
    data: dict[str, Any], *, key: str, on_switch: Callable[[Kind, int, int | None], None]
) -> None:
    """Show the switches.

    Args:
        data: from :func:`payload`.
        key: unique on the page.
        on_switch: called with kind, layer and head (None: the whole layer), counted from 0, before the page
            runs again.
    """

    def switched() -> None:
        switch = told(key, "switch")
        if switch is not None:
            kind, layer, head = switch
            on_switch(kind, int(layer), None if head is None else int(head))

    _mount(key=key, data=data, on_switch_change=switched)
