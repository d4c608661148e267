"""One head or many: the same operations, timed on this machine."""

from __future__ import annotations

import streamlit as st

from atlas.analysis.head_cost import HEADS, REPEATS, HeadTime, operations, time_heads
from atlas.figures.architecture_charts import head_times
from atlas.ui import keys
from atlas.ui.chart import chart
from atlas.ui.markup import show_facts
from atlas.ui.page import Page
from atlas.ui.tables import show_table
from atlas.ui.theme import is_dark

WIDTHS = ("128", "256", "512")
LENGTHS = ("32", "128", "512")
KEYS = (keys.choice("hwidth", WIDTHS, "512"), keys.choice("hlength", LENGTHS, "128"))
_TIMES = "atlas.architecture.times"


def show(page: Page) -> None:
    """Exact operation counts for 1 to 16 heads of one width, and how long they took here."""
    st.subheader("One head or eight: the same operations", anchor=False)
    st.caption("H heads of width d/H take as many multiply-adds as one of width d. Time them here.")
    state = page.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Width d of the layer", WIDTHS, required=True, **state.widget("hwidth"))
        st.segmented_control("Tokens n", LENGTHS, required=True, **state.widget("hlength"))
        pressed = st.button("Time it", icon=":material/timer:", type="primary", key="architecture.time")
    width, length = int(state["hwidth"]), int(state["hlength"])
    known: dict[tuple[int, int], tuple[HeadTime, ...]] = st.session_state.setdefault(_TIMES, {})
    if pressed:
        with st.spinner("Each number of heads takes its turn..."):
            known[width, length] = page.model.ask(lambda engine: time_heads(length, width))
    times = known.get((width, length))
    left, right = st.columns([1.25, 1], gap="large", vertical_alignment="center")
    with left:
        rows = []
        for place, heads in enumerate(HEADS):
            count = operations(length, width, heads)
            row = [f"{heads} × {width // heads}", f"{count.multiply_adds:,}", f"{count.weights:,}"]
            row.append(f"{count.parameters:,}")
            row += (
                [f"{times[place].milliseconds:.3f}", f"{times[place].softmax:.3f}"] if times else ["–", "–"]
            )
            rows.append(row)
        header = [
            "Heads × width",
            "Multiply-adds",
            "Softmax over",
            "Parameters",
            "Layer (ms)",
            "Softmax (ms)",
        ]
        show_table(header, rows)
    with right:
        if times is None:
            st.info('Press "Time it": about a second, on this machine, now.', icon=":material/timer:")
            return
        figure = head_times(
            [one.heads for one in times],
            [one.milliseconds for one in times],
            [one.low for one in times],
            [one.softmax for one in times],
            dark=is_dark(),
        )
        chart(
            figure,
            "architecture.heads",
            "Milliseconds of one attention layer by number of heads",
        )
    show_facts(seen(times))


def seen(times: tuple[HeadTime, ...]) -> list[str]:
    """What a measurement says, in numbers."""
    first, last = times[0], times[-1]
    eight = next(one for one in times if one.heads == 8)
    grown = last.milliseconds - first.milliseconds
    softmax = last.softmax - first.softmax
    return [
        f"medians of {REPEATS} repeats taken in turns",
        f"8 heads took {eight.milliseconds / first.milliseconds:.2f} times as long as 1",
        f"{last.heads} heads {last.milliseconds / first.milliseconds:.2f} times ({grown:+.3f} ms)",
        f"softmax alone, over {last.operations.weights // first.operations.weights} times as many numbers: "
        f"{softmax:+.3f} ms",
    ]
