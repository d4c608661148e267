"""The residual stream of one token: the vectors of the stage shown, and its course over the whole pass."""

from __future__ import annotations

import streamlit as st

from atlas.analysis.forward import Overview, Side, measured, overview
from atlas.figures import forward as figures
from atlas.ui.chart import chart
from atlas.ui.forward.names import row_name, short_name, stage_name
from atlas.ui.forward.state import NEWEST, Shown
from atlas.ui.markup import show_facts
from atlas.ui.theme import is_dark

_CLICKS = "atlas.forward.clicks"


def follow(shown: Shown, side: Side) -> None:
    """Which token of a side the pictures are about."""
    tokens = shown.tokens(side)
    name = "source_at" if side == "encoder" else "target_at"

    def show(place: int) -> str:
        return f"{place + 1} · {tokens[place].label}"

    def newest(place: int) -> int:
        return NEWEST if side == "decoder" and place == len(tokens) - 1 else place + 1

    widget = shown.page.state.widget(
        name, to_widget=lambda place: (place or len(tokens)) - 1, from_widget=newest
    )
    st.selectbox(f"Token followed ({side})", range(len(tokens)), format_func=show, **widget)


def show_stream(shown: Shown) -> None:
    """The stage's vectors at the token followed, and what the stage did to the stream."""
    stage = shown.stage
    found = measured(shown.done, stage, shown.positions[stage.side])
    names = [row_name(row.operation, stage, shown.config) for row in stage.rows]
    figure = figures.stage_strips(found.vectors, names, found.norms, found.means, dark=is_dark())
    chart(figure, "forward.stage", f"{stage_name(stage)}: {len(names)} vectors of {found.shape[1]} numbers")
    array, change, direction, size = st.columns([1, 1.1, 1, 1.5])
    array.metric("Array (tokens, D)", f"{found.shape[0]} × {found.shape[1]}")
    change.metric(
        "‖change‖ / ‖stream‖",
        f"{found.ratio:.3f}",
        help="Norm of what is added over the norm of the stream that comes in; where nothing is added, the "
        "norm of the difference between what goes out and what comes in.",
    )
    direction.metric(
        "Cosine, in to out",
        f"{found.cosine:.3f}",
        help="1: the stream keeps its direction; 0: nothing is left of it.",
    )
    size.metric("Norm, in to out", f"{norm_words(found.norms[0])} → {norm_words(found.norms[-1])}")


def norm_words(norm: float) -> str:
    """A norm in at most five signs up to 9,999, so that two of them fit into a metric."""
    return f"{norm:.2f}" if norm < 99.995 else f"{norm:.1f}" if norm < 999.95 else f"{norm:,.0f}"


def show_overview(shown: Shown) -> None:
    """Norm and relative change of the stream over all stages; a click on a point goes to its stage."""
    found: Overview = overview(shown.done, shown.walk, shown.positions)
    walked = [shown.walk[place] for place in found.stage]
    current = found.stage.tolist().index(shown.index) if shown.index in found.stage else None
    clicks = st.session_state.setdefault(_CLICKS, 0)
    key = f"forward.overview.{clicks}"

    def clicked() -> None:
        points = st.session_state[key].selection.points
        if points:
            shown.go(int(found.stage[points[0]["point_index"]]))
        # A new key lets the same point be clicked again.
        st.session_state[_CLICKS] += 1

    st.subheader("The stream over the whole pass", anchor=False)
    source, target = (shown.tokens(side)[shown.positions[side]].label for side in ("encoder", "decoder"))
    show_facts([f"encoder (blue): “{source}”", f"decoder (green): “{target}”", "click a point to go there"])
    figure = figures.overview(
        [short_name(stage) for stage in walked],
        [stage.side for stage in walked],
        found.norm,
        found.ratio,
        current=current,
        dark=is_dark(),
    )
    chart(
        figure,
        key,
        "Norm of the stream and relative change after every stage",
        on_select=clicked,
        selection_mode="points",
    )
