"""The walk itself: what has been written, the stepper, and the picture of the stage shown."""

from __future__ import annotations

import html

import streamlit as st

from atlas.figures.style import COLOURS
from atlas.ui.components.stepper import stepper
from atlas.ui.forward.choice import append, probability, show_choice, show_cut, show_logits, show_softmax
from atlas.ui.forward.memory import show_memory
from atlas.ui.forward.names import stage_lead, stage_name
from atlas.ui.forward.state import NEWEST, Shown, label
from atlas.ui.forward.stream import follow, show_stream
from atlas.ui.forward.text import show_characters, show_pieces

_PARTS = {
    "Text": "characters",
    "Encoder": "embedding",
    "Decoder": "read",
    "Next token": "logits",
}


def show_written(shown: Shown) -> None:
    """What the decoder has written, what comes next, and the controls that go on or back."""
    state = shown.page.state

    def back() -> None:
        state["path"] = shown.path[:-1]
        state["target_at"] = NEWEST

    def whole() -> None:
        state["path"] = shown.best
        state["target_at"] = NEWEST

    left, right = st.columns([2.3, 1.7], vertical_alignment="center")
    with left:
        _written(shown)
    with right, st.container(horizontal=True, horizontal_alignment="right"):
        st.button(
            "Back", key="forward.back", on_click=back, disabled=not shown.path, help="Take a token away"
        )
        st.button(
            "Next token",
            key="forward.next",
            on_click=append,
            args=(shown,),
            disabled=shown.finished or shown.full,
            help="Append the token taken; the stage stays",
        )
        st.button(
            "Whole translation",
            key="forward.whole",
            on_click=whole,
            disabled=not shown.best or shown.path == shown.best,
            help="Let the decoder read the translation that the search found",
        )


def _written(shown: Shown) -> None:
    newest = len(shown.target) - 1
    green = COLOURS["decoder"]
    boxes = "".join(
        f'<span style="padding:.1em .3em;border-radius:.25rem;background:color-mix(in srgb,{green} '
        f'{30 if place == newest else 12}%,transparent)">{html.escape(token.label)}</span>'
        for place, token in enumerate(shown.target)
    )
    own = shown.next.own[shown.chosen]
    name = label(shown.page.model.tokenizer, shown.chosen)
    upcoming = (
        f'<span style="padding:.1em .3em;border-radius:.25rem;border:1px dashed {green}">'
        f"{html.escape(name)}</span>"
        f'<span style="font-size:.85rem;opacity:.75">probability {probability(own)}</span>'
    )
    st.html(
        '<div style="display:flex;flex-wrap:wrap;gap:.25rem;align-items:center">'
        f'<span style="font-size:.85rem;opacity:.75">The decoder wrote</span>{boxes}'
        f'<span style="font-size:.85rem;opacity:.75">next</span>{upcoming}</div>'
    )


def show_stepper(shown: Shown) -> None:
    """Where the walk stands, shortcuts to its parts, and the token that the pictures follow."""
    stepper(
        [stage_name(stage) for stage in shown.walk], step=shown.index, on_step=shown.go, key="forward.stepper"
    )
    starts = {
        part: next(place for place, stage in enumerate(shown.walk) if stage.kind == kind)
        for part, kind in _PARTS.items()
    }
    here = [part for part, start in starts.items() if start <= shown.index][-1]
    key = "forward.part"
    st.session_state[key] = here

    def jump() -> None:
        part = st.session_state[key]
        if part is not None:
            shown.go(starts[part])

    parts, token = st.columns([2.6, 1], vertical_alignment="bottom")
    with parts:
        st.segmented_control("Go to", list(starts), key=key, on_change=jump, required=True)
    if shown.stage.rows or shown.stage.kind == "logits":
        with token:
            follow(shown, shown.stage.side)


def show_stage(shown: Shown) -> None:
    """One line about the stage shown, and its picture."""
    stage = shown.stage
    st.caption(stage_lead(stage, shown.config))
    if stage.rows:
        show_stream(shown)
        if stage.kind == "ffn":
            show_memory(shown)
        elif stage.kind in ("self", "cross"):
            kind = stage.side if stage.kind == "self" else "cross"
            shown.page.link(
                "attention",
                "See what this layer's heads look at",
                icon=":material/grid_on:",
                kind=kind,
                layer=stage.layer + 1,
            )
        return
    if stage.kind == "characters":
        show_characters(shown)
    elif stage.kind in ("pieces", "ids"):
        show_pieces(shown.source, shown, ids=stage.kind == "ids")
    elif stage.kind == "read":
        show_pieces(shown.target, shown, ids=True, strong=len(shown.target) - 1)
    else:
        {"logits": show_logits, "softmax": show_softmax, "cut": show_cut, "choice": show_choice}[stage.kind](
            shown
        )
