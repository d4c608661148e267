"""Prefill and decode drawn: whose keys and values are computed in each pass, with a cache and without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from atlas.figures import style

LATER, COMPUTED, READ, AGAIN = 0, 1, 2, 3
"""What a cell says of a token in a pass: it comes later; its key and value are computed for the first time;
they are read from the cache; they are computed again."""

_WORDS: Final = {
    COMPUTED: "key and value computed",
    READ: "read from the cache",
    AGAIN: "computed again",
}
_SIGNS: Final = {LATER: "", COMPUTED: "KV", READ: "·", AGAIN: "↻"}


def passes(tokens: int, prompt: int, *, cached: bool) -> NDArray[np.uint8]:
    """What happens to each token in each pass: ``(1 + T - P, T)``, a row a pass, a column a token.

    The first pass reads the prompt, P tokens at once (prefill); every further one reads one token (decode).

    Raises:
        ValueError: a prompt that is empty or longer than the text.
    """
    if not 1 <= prompt <= tokens:
        raise ValueError(f"a prompt has from 1 to {tokens} tokens, not {prompt}")
    place = np.arange(tokens)
    known = np.array([0, *range(prompt, tokens)])[:, None]
    read = np.arange(prompt, tokens + 1)[:, None]
    return np.where(
        place >= read, LATER, np.where(place >= known, COMPUTED, READ if cached else AGAIN)
    ).astype(np.uint8)


def pass_names(tokens: int, prompt: int) -> list[str]:
    """``prefill`` and ``decode 1``, ``decode 2``, ..."""
    return ["prefill", *(f"decode {number}" for number in range(1, tokens - prompt + 1))]


def computed(states: NDArray[np.uint8], step: int) -> int:
    """Tokens whose key and value were computed in passes 0 to ``step``, each time counted."""
    return int(np.isin(states[: step + 1], (COMPUTED, AGAIN)).sum())


def cache_passes(
    states: NDArray[np.uint8], labels: Sequence[str], prompt: int, step: int, *, dark: bool = False
) -> go.Figure:
    """A grid of passes (down) and tokens (across), drawn as far as pass ``step``, which is framed.

    Args:
        states: ``(passes, T)`` from :func:`passes`.
        labels: of the T tokens read, not escaped.
        prompt: P, tokens of the first pass; a line parts them from the rest.
        step: the pass that is shown, from 0.
        dark: for a dark page.

    Raises:
        ValueError: a step that is no pass.
    """
    rows, count = states.shape
    if not 0 <= step < rows:
        raise ValueError(f"pass {step} of {rows}")
    shown = np.where(np.arange(rows)[:, None] <= step, states, LATER).astype(np.uint8)
    full = style.COLOURS["key"]
    colours = [style.fade(style.ink(dark), 0.04), full, style.fade(full, 0.22), style.fade(full, 0.75)]
    scale: list[list[Any]] = []
    for number, colour in enumerate(colours):
        scale += [[number / 4, colour], [(number + 1) / 4, colour]]
    names = pass_names(count, prompt)
    hover = [
        [
            f"{names[row]}: {style.escape(labels[column])}<br>{_WORDS.get(int(state), 'not read yet')}"
            for column, state in enumerate(line)
        ]
        for row, line in enumerate(shown)
    ]
    figure = go.Figure(
        go.Heatmap(
            z=shown,
            zmin=-0.5,
            zmax=3.5,
            colorscale=scale,
            showscale=False,
            text=[[_SIGNS[int(state)] for state in line] for line in shown],
            texttemplate="%{text}",
            textfont={"size": 11},
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
            xgap=2,
            ygap=2,
        )
    )
    ink = style.ink(dark)
    figure.add_shape(
        type="rect", x0=-0.5, x1=count - 0.5, y0=step - 0.5, y1=step + 0.5, line={"color": ink, "width": 2}
    )
    figure.add_shape(
        type="line", x0=prompt - 0.5, x1=prompt - 0.5, y0=-0.5, y1=rows - 0.5,
        line={"color": style.fade(ink, 0.5), "width": 1, "dash": "dot"},
    )  # fmt: skip
    present = [READ] if (states == READ).any() else [AGAIN] if (states == AGAIN).any() else []
    for state in (COMPUTED, *present):
        figure.add_scatter(
            x=[None], y=[None], mode="markers", name=f"{_SIGNS[state]} {_WORDS[state]}",
            marker={"size": 12, "symbol": "square", "color": colours[state]},
        )  # fmt: skip
    figure.update_xaxes(**style.token_axis(labels, side="top", tickangle=-60, automargin=False))
    figure.update_yaxes(**style.token_axis(names, range=[rows - 0.5, -0.5]))
    above = min(8 * max(map(len, labels), default=0) + 16, 200)
    height = min(max(22 * rows, 120), 620) + above + 40
    return style.arrange(
        figure,
        dark=dark,
        height=height,
        margin={"l": 8, "r": 8, "t": above, "b": 36},
        legend={"orientation": "h", "x": 0, "y": 0, "yanchor": "top", "xanchor": "left"},
    )
