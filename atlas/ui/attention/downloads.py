"""What can be taken away from the Attention page besides its charts: the run, exact numbers, two pictures."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from atlas.figures.heatmap import KINDS, HeadMap
from atlas.figures.lines import head_lines
from atlas.figures.mosaic import HeadGrid, heads_mosaic
from atlas.trace.views import View
from atlas.ui.attention.choice import Located
from atlas.ui.state import ViewState
from atlas.ui.takeaway import File, offer_figure, offer_trace
from atlas.ui.talk.mode import shown_scale
from atlas.ui.theme import is_dark


def downloads(state: ViewState, located: Located, head: HeadMap, grid: HeadGrid, column: int) -> None:
    """Offer the trace, and the pictures and numbers of the chosen head and of all heads of its kind.

    Args:
        state: of the page.
        located: what is shown, and its trace.
        head: the numbers of the chosen head.
        grid: those of all heads of its kind.
        column: 0-based place of the chosen head in the grid.
    """
    offer_trace(located.trace)
    kind, dark = KINDS[head.kind], is_dark()
    one = f"attention-{head.kind}-layer{state['layer']}-head{state['head']}"
    offer_figure(
        f"Lines of {kind}, {head.name}; weight and score of every cell",
        one,
        partial(head_lines, head, threshold=state["threshold"], dark=dark),
        _numbers(one, lambda: located.view(state)),
    )
    tile = (state["layer"] - 1, column)
    every = f"attention-{head.kind}-all-heads"
    offer_figure(
        f"All heads of {kind}; weight and score of every cell",
        every,
        partial(heads_mosaic, grid, scale=shown_scale(state), chosen=tile, dark=dark),
        _numbers(every, lambda: located.view(state, everything=True)),
    )


def _numbers(stem: str, view: Callable[[], View]) -> list[File]:
    return [
        ("CSV", f"{stem}.csv", "text/csv", lambda: view().to_csv().encode("utf-8", "backslashreplace")),
        (
            "JSON",
            f"{stem}.json",
            "application/json",
            lambda: view().to_json().encode("utf-8", "backslashreplace"),
        ),
    ]
