"""Walk through named steps: buttons, a slider, arrow keys anywhere on the page, or a presenter's clicker.

Not Streamlit's own slider and buttons, because a clicker sends PageUp and PageDown, which no button of
Streamlit takes beside an arrow key, and because a step that is held down must move at once and tell Python
when it rests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources

import streamlit as st

from atlas.ui.components.told import told

_FILES = resources.files(__package__)


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


_mount = st.components.v2.component(
    "attention_atlas.stepper",
    html=_read("stepper.html"),
    css=_read("stepper.css"),
    js=_read("walking_keys.js") + _read("stepper.js"),
)


def stepper(labels: Sequence[str], *, step: int, on_step: Callable[[int], None], key: str) -> None:
    """Show where a walk through named steps stands, and let it be moved.

    ArrowLeft, ArrowRight, PageUp and PageDown move it from anywhere on the page, unless someone types or the
    focus is in a widget that uses the key itself. At either end they keep their ordinary meaning.

    Args:
        labels: what each step is called, shown literally; at least one.
        step: where it stands, counted from 0. Keep it in the address.
        on_step: called with the new step, counted from 0, before the page runs again.
        key: unique on the page; a page has one stepper.

    Raises:
        ValueError: no label, or a step that has none.
    """
    if not 0 <= step < len(labels):
        raise ValueError(f"step {step} of {len(labels)} named steps")

    def moved() -> None:
        step = told(key, "step")
        if step is not None:
            on_step(min(max(int(step), 0), len(labels) - 1))

    _mount(key=key, data={"labels": list(labels), "step": step}, on_step_change=moved)
