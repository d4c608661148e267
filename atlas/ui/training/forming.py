"""Heads forming: one sentence in the hands of the same model at several moments of its training."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import streamlit as st

from atlas.analysis.histories import HistoryError, at_step, read_history
from atlas.checkpoint import HISTORY
from atlas.decoding import SearchOptions
from atlas.errors import AtlasError
from atlas.figures import training_forming as figures
from atlas.figures.attention import as_map, disagreement, head_grid
from atlas.figures.heatmap import HeadMap, heatmap
from atlas.figures.mosaic import SCALES, HeadGrid, heads_mosaic, mosaic_payload
from atlas.trace import Trace
from atlas.trace.views import view
from atlas.ui.chart import chart
from atlas.ui.components import heads_canvas
from atlas.ui.components.stepper import stepper
from atlas.ui.markup import show_facts
from atlas.ui.models import SharedEngine, cached_answer, cached_trace
from atlas.ui.page import Page
from atlas.ui.takeaway import offer_figure
from atlas.ui.talk.mode import SCALE_NAMES, shown_scale, talking
from atlas.ui.theme import is_dark
from atlas.ui.training.heads import kind_control, settle_head
from atlas.ui.training.player import player
from atlas.ui.training.shared import rows_of_text
from atlas.ui.training.snapshots import Moments, find_moments

MATHS: Final = r"""
At each moment the model reads the sentence and, under teacher forcing, the *final* model's translation of
it, so that rows and columns mean the same at every moment. Its loss is the mean of $-\log P(y_t\mid
y_{<t},x)$ over those tokens.

**Weight not yet in its place**: the total variation distance $\frac12\sum_j|A_{ij}-B_{ij}|$ of each row of
a head from the same row of the final model, averaged over rows: 0% when it attends as it will in the end,
100% when no weight lies where it will.

The held-out loss is from the run's own `history.csv`; the first snapshots come before its first evaluation.
"""


@dataclass(frozen=True)
class Moment:
    """One moment: its trace of the final model's translation, and what it writes itself.

    Attributes:
        trace: forced.
        loss: nats a token of the forced translation.
        text: the moment's own translation, by the search that the bar describes.
    """

    trace: Trace
    loss: float
    text: str


def show(page: Page) -> None:
    """The whole part."""
    if not page.sentence.strip():
        page.stop("Write a sentence above to see how the model learned to read it.")
    moments = find_moments(page)
    if moments.path != page.model.folder:
        show_facts(
            [f"Snapshots of {moments.name}: the model in the bar, {page.model.name}, carries none of its own"]
        )
    with st.spinner("Asking every moment of the training..."):
        seen = _moments(page, moments)
    place = _stepper(page, moments)
    kind, final = page.state["kind"], len(seen) - 1
    grids = [head_grid(moment.trace, kind) for moment in seen]
    layer, column = settle_head(page, grids[place])
    maps = [_head(moment.trace, page, grid) for moment, grid in zip(seen, grids, strict=True)]
    _words(moments, seen, place)
    left, right = st.columns([0.56, 0.44], gap="medium")
    with left:
        _mosaic(page, grids[place], layer, column)
    with right:
        head = maps[place]
        st.subheader(head.name, anchor=False)
        top = grids[place].top(shown_scale(page.state), layer, column)
        chart(
            heatmap(replace(head, name=""), top=top, dark=is_dark()),
            "training.head",
            f"{head.name} at update {moments.steps[place]}",
        )
    _curves(page, moments, seen, grids, maps, place)
    apart = disagreement(maps[place], maps[final])
    show_facts(
        [
            f"{maps[place].name}: {apart or 0:.1%} of its weight is not yet where the final model puts it",
            f"this sentence costs {seen[place].loss:.3f} nats a token here, {seen[final].loss:.3f} at last",
        ]
    )
    with st.expander("The maths"):
        st.markdown(MATHS)


def _moments(page: Page, moments: Moments) -> list[Moment]:
    """Every moment of the sentence: from the cache, or asked one after the other.

    Raises:
        AtlasError: the bundle is damaged, or the sentence cannot be read.
    """
    last = moments.engine(len(moments.steps) - 1)
    target = _translation(page, last)
    if not target.strip():
        raise AtlasError(
            "the final model writes nothing for this sentence, so no moment can be forced to read it"
        )
    seen = []
    for place in range(len(moments.steps)):
        engine = moments.engine(place)
        trace = cached_trace(engine, page.sentence, page.options, target=target).trace
        loss = -float(np.mean(trace.path().logprobs))
        seen.append(Moment(trace, loss, _translation(page, engine)))
    return seen


def _translation(page: Page, engine: SharedEngine) -> str:
    options: SearchOptions = page.options
    sentence = page.sentence
    found = cached_answer(
        engine, ("training.translation", sentence, options), lambda one: one.translate([sentence], options)[0]
    )
    if not found.hypotheses:
        raise AtlasError(found.note or "no translation was found")
    return str(found.text)


def _stepper(page: Page, moments: Moments) -> int:
    """Which moment is shown; 0 in the address stands for the final weights."""
    state, steps = page.state, moments.steps
    known = set(state.notices)
    state.restrict(
        "update",
        lambda step: step == 0 or step in steps,
        0,
        "one of the updates " + ", ".join(map(str, steps)) + ", or 0 for the final weights",
    )
    for message in state.notices:
        if message not in known:
            page.complain(message)
    place = steps.index(state["update"]) if state["update"] else len(steps) - 1

    def moved(to: int) -> None:
        state["update"] = 0 if to == len(steps) - 1 else steps[to]

    labels = [*(f"update {step:,}" for step in steps[:-1]), f"final: update {steps[-1]:,}"]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        kind_control(page)
        st.segmented_control(
            "Colour scale",
            list(SCALES),
            format_func=SCALE_NAMES.__getitem__,
            disabled=talking(),
            required=True,
            help="Per head: each picture reaches full ink at its own largest weight. Shared: one for all. "
            "0 to 1: one for all sentences.",
            **state.widget("scale", to_widget=lambda _: shown_scale(state)),
        )
        player(place, len(steps) - 1, moved)
    stepper(labels, step=place, on_step=moved, key="training.stepper")
    return place


def _head(trace: Trace, page: Page, grid: HeadGrid) -> HeadMap:
    head = page.state["head"]
    chosen = int(head) - 1 if head.isdecimal() else head
    return as_map(view(trace, page.state["kind"], layer=page.state["layer"] - 1, head=chosen, rows="output"))


def _words(moments: Moments, seen: list[Moment], place: int) -> None:
    """What the model wrote at every moment, the one shown set off."""
    rows = [
        (f"update {step:,} · {moment.loss:.2f} nats", moment.text)
        for step, moment in zip(moments.steps, seen, strict=True)
    ]
    rows_of_text(rows, chosen=place)


def _mosaic(page: Page, grid: HeadGrid, layer: int, column: int) -> None:
    state = page.state

    def choose(to_layer: int, to_column: int) -> None:
        state["layer"], state["head"] = to_layer + 1, grid.columns[to_column]

    heads_canvas(
        mosaic_payload(grid, scale=shown_scale(state), chosen=(layer, column)),
        key="training.mosaic",
        on_choose=choose,
    )
    offer_figure(
        "All heads at this moment of the training",
        "training-all-heads",
        partial(heads_mosaic, grid, scale=shown_scale(state), chosen=(layer, column), dark=is_dark()),
    )
    st.caption(
        "Layers down, heads across: click one, or use the arrow keys in the grid. "
        f"Colour: {SCALES[shown_scale(state)]}."
    )


def _curves(
    page: Page,
    moments: Moments,
    seen: list[Moment],
    grids: list[HeadGrid],
    maps: list[HeadMap],
    place: int,
) -> None:
    """The loss, and how far attention is from what it will be, at every moment."""
    dark = is_dark()
    history = None
    try:
        run = read_history(moments.name, (moments.path / HISTORY).read_text(encoding="utf-8"))
        history = run.pairs("step", "development_loss")
        measured = at_step(run, moments.steps[place], "development_loss")
    except HistoryError as error:
        page.complain(error)
        measured = None
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("The loss falls", anchor=False)
        chart(
            figures.losses_by_update(
                moments.steps, np.array([moment.loss for moment in seen]), history, chosen=place, dark=dark
            ),
            "training.forming.loss",
            "Loss of this sentence and of held-out sentences by update",
        )
        if measured is not None:
            show_facts([f"held-out sentences at this update: {measured:.3f} nats a token"])
    with right:
        st.subheader("Heads find their place", anchor=False)
        apart = np.array([_distances(grid, grids[-1]) for grid in grids]).mean(-1).T
        head = np.array([disagreement(one, maps[-1]) or 0.0 for one in maps])
        chart(
            figures.distances_by_update(
                moments.steps, apart, (maps[place].name, head), chosen=place, dark=dark
            ),
            "training.forming.distance",
            "Share of attention weight that is not yet where the final model puts it, by update",
        )


def _distances(now: HeadGrid, final: HeadGrid) -> np.ndarray:
    """Total variation distance of every head from the final model's, ``(L, H)``."""
    apart = 0.5 * np.abs(now.weights.astype(float) - final.weights).sum(-1)
    return np.asarray(apart.mean(-1))
