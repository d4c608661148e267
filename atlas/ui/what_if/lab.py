"""The laboratory: heads switched off, scaled or made uniform, one row written by hand, and what follows."""

from __future__ import annotations

from functools import partial

import streamlit as st

from atlas.analysis.ablation import (
    AblationError,
    HeadChange,
    Kind,
    RowEdit,
    check_heads,
    make_edits,
)
from atlas.analysis.what_if import Consequence, consequence
from atlas.figures import what_if as figures
from atlas.figures.what_if_switches import switches_figure
from atlas.trace import Trace
from atlas.ui.attention.choice import show_new_notices
from atlas.ui.chart import chart
from atlas.ui.differences import show_difference
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.takeaway import offer_figure
from atlas.ui.theme import is_dark
from atlas.ui.what_if.address import BRUSHES, Changes, read_row, tidy, write_changes, write_row
from atlas.ui.what_if.outcome import attention_after, translations, trees
from atlas.ui.what_if.row import Axes, row_controls
from atlas.ui.what_if.subject import Subject, subject_of
from atlas.ui.what_if.switches import describe, head_switches, payload

FIRST_NAMED = 8
MATHS = r"""
**Changes.** Every change is made on the way through the model, never to its weights. A head's output before
$W^O$ is $o_h=\sum_j a_{h,j}\,v_{h,j}$. *Off* and *scaled*: $o_h\to\xi_h\,o_h$, $\xi_h$ from 0 to 2 (the mask
variable of Michel et al. 2019, equation 2). *Uniform*: $a_{h,j}\to 1/n$ over the $n$ keys that the query may
see. With every head of a sub-layer off it adds the bias of $W^O$ alone.

**A row by hand.** Fixed keys $F$ get the weights $w_j$; the other keys keep their proportions,
$a_j\to\big(1-\sum_{i\in F}w_i\big)\,a_j/\sum_{i\notin F}a_i$. A row of the decoder or of cross-attention is
changed at the step that reads its token: in the forced pass, and in the search in every hypothesis of that
length.

**Change of log p.** The translation found as trained, $y$, is read twice (teacher forcing):
$\Delta_t=\log p'(y_t\mid y_{<t},x)-\log p(y_t\mid y_{<t},x)$, in nats.

**Attention moved.** For each query half the absolute change summed over its keys,
$\tfrac12\sum_j|a'_j-a_j|$ (total variation), averaged over the queries of the forced pass. Layers before the
first change show exactly 0.
"""


def laboratory(page: Page) -> None:
    """The controls, and below them what the changed model does."""
    subject = subject_of(page)
    axes = subject.axes(page)
    first = st.container()
    changes = head_controls(page, axes)
    row = row_part(page, axes)
    active = row if row and row.weights else None
    if not changes and active is None:
        with first:
            show_difference(("As trained", subject.text), ("Changed", subject.text))
            show_facts(["Nothing is changed yet. Switch a head, and read here what the model then says."])
    else:
        changed, forced = run(page, subject, changes, active)
        with first:
            translations(subject, changed, forced)
            show_facts([summary(changes, active)])
        outcome(page, subject, axes, (changes, active), changed, forced)
    with st.expander("The maths"):
        st.markdown(MATHS)


def head_controls(page: Page, axes: Axes) -> Changes:
    """The brush and the switches.

    Returns:
        The changes, each of a head that the model has.
    """
    state = page.state
    known = list(state.notices)

    def fits(changes: Changes) -> bool:
        try:
            check_heads(changes, axes.layers, axes.heads)
        except AblationError:
            return False
        return True

    sizes = (
        f"{axes.layers['encoder']} encoder and {axes.layers['decoder']} decoder layers of {axes.heads} heads"
    )
    changes: Changes = state.restrict("heads", fits, (), f"heads of this model, which has {sizes}")
    show_new_notices(state, known)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        brush = st.segmented_control(
            "A click makes a head",
            list(BRUSHES),
            format_func=BRUSHES.__getitem__,
            required=True,
            **state.widget("brush"),
        )
        if brush == "scaled":
            st.slider(
                "Factor",
                0.0,
                2.0,
                step=0.05,
                width=260,
                **state.widget("factor", from_widget=lambda value: round(value, 2)),
            )
        st.button(
            "Reset",
            icon=":material/restart_alt:",
            key="atlas.what_if.reset",
            disabled=not changes and not state["row"],
            on_click=lambda: _reset(page),
        )

    def switch(kind: Kind, layer: int, head: int | None) -> None:
        heads = range(axes.heads) if head is None else [head]
        state["heads"] = painted(state["heads"], kind, layer, heads, _factor(page))

    data = payload(changes, axes.layers, axes.heads)
    head_switches(data, key="atlas.what_if.switches", on_switch=switch)
    offer_figure(
        "What is done to each head",
        "what-if-heads",
        partial(switches_figure, data["grids"], dark=is_dark()),
    )
    st.caption(
        "Click a head, or L1, L2 ... for all heads of a layer; once more gives it back. Tab enters a grid, "
        "arrow keys walk in it, Space switches."
    )
    return changes


def _reset(page: Page) -> None:
    page.state["heads"] = ()
    page.state["row"] = ""


def _factor(page: Page) -> float | None:
    """What the brush makes of a head: a factor, or None for uniform."""
    brush = page.state["brush"]
    if brush == "uniform":
        return None
    return {"off": 0.0, "trained": 1.0}.get(brush, float(page.state["factor"]))


def painted(
    changes: Changes, kind: Kind, layer: int, heads: range | list[int], factor: float | None
) -> Changes:
    """Some heads of a layer given one change, or given back if all of them have it already.

    Args:
        changes: before.
        kind: of attention.
        layer: counted from 0.
        heads: counted from 0.
        factor: as in :class:`~atlas.analysis.ablation.HeadChange`; 1 gives them back.
    """
    wanted = [HeadChange(kind, layer, head, factor) for head in heads]
    others = [
        change
        for change in changes
        if (change.kind, change.layer) != (kind, layer) or change.head not in heads
    ]
    return tidy(others if all(change in changes for change in wanted) else [*others, *wanted])


def row_part(page: Page, axes: Axes) -> RowEdit | None:
    """One row by hand, folded until it is used."""
    state = page.state
    known = list(state.notices)
    expected = "a row, head and keys of this sentence and model"
    state.restrict("row", lambda raw: axes.has(read_row(raw)), "", expected)
    show_new_notices(state, known)
    with st.expander("Write one row of attention by hand", expanded=bool(state["row"])):
        return row_controls(page, axes)


def run(page: Page, subject: Subject, changes: Changes, row: RowEdit | None) -> tuple[Trace, Consequence]:
    """The search of the changed model, and what it makes of the translation found as trained."""
    asked = (write_changes(changes), write_row(row))
    changed: Trace = page.study(
        "what_if.search",
        page.sentence,
        page.options,
        *asked,
        find=lambda engine: engine.trace(page.sentence, page.options, edits=make_edits(changes, row)),
    )
    forced: Consequence = page.study(
        "what_if.forced",
        subject.source,
        subject.target,
        *asked,
        find=lambda engine: consequence(
            engine.model, subject.source, subject.target, make_edits(changes, row)
        ),
    )
    return changed, forced


def outcome(
    page: Page,
    subject: Subject,
    axes: Axes,
    change: tuple[Changes, RowEdit | None],
    changed: Trace,
    forced: Consequence,
) -> None:
    """What the changed model does, in pictures."""
    st.subheader("How likely the original still is, token by token", anchor=False)
    figure = figures.logprob_change(subject.labels, forced.before, forced.after, dark=is_dark())
    chart(
        figure, "what_if.logprob", "Change of the log-probability of each token of the original translation"
    )
    st.subheader("Where attention moved", anchor=False)
    places: list[tuple[str, int, int]] = [(head.kind, head.layer, head.head) for head in change[0]]
    if change[1]:
        places.append((change[1].kind, change[1].layer, change[1].head))
    figure = figures.moved_maps(forced.moved, changed=places, dark=is_dark())
    chart(figure, "what_if.moved", "Share of each head's attention that moved, layer by head")
    st.caption("Share of its weight that a head moved to other keys, mean over queries; framed: changed.")
    trees(page, subject, changed)
    attention_after(page, axes, forced)


def summary(changes: Changes, row: RowEdit | None) -> str:
    """What is changed, in one line of plain text."""
    named = [f"{change.kind} {change.layer + 1}.{change.head + 1} {describe(change)}" for change in changes]
    more = len(named) - FIRST_NAMED
    named = named[:FIRST_NAMED] + ([f"and {more} more"] if more > 0 else [])
    if row:
        named.append(f"row {row.row + 1} of {row.kind} {row.layer + 1}.{row.head + 1} by hand")
    return "Changed: " + ", ".join(named)
